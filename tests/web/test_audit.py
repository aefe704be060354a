"""The audit over HTTP: filtered like on the command line, guarded like everything that is read."""

from pathlib import Path

import pytest

from bot.core.planning.plan import AuditEntry, Plan
from tests.databases import SqliteTemplate
from tests.store.building import REPO, SHA
from tests.web.server import WebServer, open_server


async def fill(server: WebServer) -> None:
    now = server.clock.now()
    entries = (
        AuditEntry(now, "kim", "start unit", False, "trust", REPO.id, 1, SHA, "guid-1"),
        AuditEntry(now, "lee", "pause all: x", True, "operator"),
    )
    assert await server.parts.store.commit(Plan(repo=REPO, audit=entries), now, done=None)


async def test_decisions_are_listed_whole_and_by_every_filter(server: WebServer) -> None:
    await fill(server)
    answer = await server.get("/api/v1/audit?pr=1&repo=owner/name&who=KIM&since=2h&limit=1")
    assert answer.status == 200
    assert answer.data["audit"] == [
        {
            "at": server.clock.now().isoformat(),
            "who": "kim",
            "what": "start unit",
            "allowed": False,
            "rule": "trust",
            "repo": "owner/name",
            "repo_id": REPO.id,
            "pr": 1,
            "sha": SHA,
            "delivery": "guid-1",
        }
    ]
    answer = await server.get("/api/v1/audit")
    assert [item["who"] for item in answer.data["audit"]] == ["lee", "kim"]
    for nobody in ("pr=2", "repo=owner/else", "who=mia", "since=2099-01-01T00:00+08:00"):
        assert (await server.get(f"/api/v1/audit?{nobody}")).data == {"audit": []}


@pytest.mark.parametrize(
    "query", ["pr=x", "repo=name", "since=soon", "limit=0", "by=kim", "who=%00"]
)
async def test_what_is_not_understood_is_refused_by_name(server: WebServer, query: str) -> None:
    answer = await server.get(f"/api/v1/audit?{query}")
    assert answer.status == 400
    assert answer.data["error"].startswith(query.partition("=")[0] + ":")


async def test_nobody_reads_the_audit_or_the_metrics_without_their_tokens(
    tmp_path: Path, sqlite_template: SqliteTemplate
) -> None:
    url = sqlite_template.fresh(tmp_path)
    tokens = {"dashboard_token": "open", "metrics_token": "count"}
    async with open_server(tmp_path, url, dashboard="token", **tokens) as server:
        assert (await server.get("/api/v1/audit")).status == 401
        answer = await server.get("/api/v1/audit", Authorization="Bearer open")
        assert answer.data == {"audit": []}
        for token, status in (("", 401), ("Bearer open", 401), ("Bearer count", 200)):
            address = f"http://127.0.0.1:{server.port}/metrics"
            async with server.http.get(address, headers={"Authorization": token}) as response:
                assert response.status == status, token
