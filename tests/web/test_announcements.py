"""What strangers post to where RayJobs are announced."""

from structlog.testing import capture_logs

from tests.web.server import WebServer


async def test_refused_announcements_do_not_fill_the_log(server: WebServer) -> None:
    """Anybody can post one, as often as they like."""
    url = f"http://127.0.0.1:{server.port}/api/v1/runs/01NOBODY/rayjobs"
    with capture_logs() as said:
        for _ in range(20):
            headers = {"Authorization": "Bearer rubbish"}
            async with server.http.post(url, json={"job_id": "rj-1"}, headers=headers) as answer:
                assert answer.status == 403
    refused = [line for line in said if line["event"] == "an announcement was refused"]
    assert [(line["dispatch"], line["why"]) for line in refused] == [
        ("01NOBODY", "the token is no JSON web token")
    ]
