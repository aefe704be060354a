"""The HTTP side: credentials, permissions, pages, ETags, limits, faults, comments, contents."""

from __future__ import annotations

import asyncio
import base64

import jwt
import pytest

from bot.sim import ManualClock, SimGitHub
from tests.sim.conftest import REPO, Client


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        ({"exp": 0}, "numeric value in the future"),
        ({"exp": 2**33}, "too far in the future"),
        ({"iat": 2**33}, "in the past"),
        ({"iss": "999"}, "Issuer"),
    ],
)
async def test_a_wrong_app_jwt_is_refused(api: Client, claims: dict[str, int], text: str) -> None:
    reply = await api("GET", f"{REPO}/installation", token=api.jwt(**claims))
    assert reply.status == 401
    assert text in reply.data["message"]


async def test_a_jwt_by_another_key_is_refused(api: Client) -> None:
    forged = jwt.encode({"iat": 0, "exp": 2**31, "iss": "1234"}, "x" * 32, algorithm="HS256")
    assert (await api("GET", f"{REPO}/installation", token=forged)).status == 401


async def test_the_app_sees_its_installation_and_no_repository(api: Client) -> None:
    one = (await api("GET", f"{REPO}/installation", token=api.jwt())).data
    assert (one["app_slug"], one["id"]) == ("ascend-ci", *api.github.state.installations)
    assert (await api("GET", REPO, token=api.jwt())).status == 403


async def test_tokens_end_after_an_hour(api: Client, clock: ManualClock) -> None:
    await clock.advance(3590)
    assert (await api("GET", REPO)).status == 200
    await clock.advance(20)
    assert (await api("GET", REPO)).status == 401
    await api.sign_in()
    assert (await api("GET", REPO)).status == 200
    api.github.expire_tokens()
    assert (await api("GET", REPO)).status == 401


async def test_tokens_are_longer_than_forty_characters(api: Client) -> None:
    assert api.token.startswith("ghs_1234_")
    assert len(api.token) > 100


async def test_a_narrowed_token_may_do_no_more(api: Client) -> None:
    await api.sign_in(permissions={"checks": "read"})
    reply = await api("POST", f"{REPO}/check-runs", {"name": "a", "head_sha": "b"})
    assert reply.status == 403
    assert reply.headers["X-Accepted-GitHub-Permissions"] == "checks=write"
    assert (await api("GET", f"{REPO}/pulls")).status == 403


async def test_a_token_for_one_repository_does_not_reach_another(
    github: SimGitHub, api: Client
) -> None:
    other = github.create_repo("octo/other", {"a": "1"})
    await api.sign_in(repository_ids=[other.id])
    assert (await api("GET", "/repos/octo/other")).status == 200
    assert (await api("GET", REPO)).status == 404


async def test_more_permissions_than_the_app_has_are_refused(api: Client) -> None:
    number = next(iter(api.github.state.installations))
    path = f"/app/installations/{number}/access_tokens"
    reply = await api("POST", path, {"permissions": {"secrets": "write"}}, token=api.jwt())
    assert reply.status == 422


async def test_a_304_costs_no_quota(api: Client) -> None:
    first = await api("GET", REPO)
    left = int(first.headers["x-ratelimit-remaining"])
    again = await api("GET", REPO, If_None_Match=first.headers["ETag"])
    assert (again.status, again.data) == (304, b"")
    assert int(again.headers["x-ratelimit-remaining"]) == left
    assert [call.status for call in api.github.calls] == [200, 304]
    assert len(api.github.calls.counted()) == 1
    api.github.people.open_pull("wes", {"a.py": "1"})
    assert (await api("GET", REPO, If_None_Match=first.headers["ETag"])).status == 200


async def test_the_hours_quota_runs_out_and_comes_back(
    github: SimGitHub, api: Client, clock: ManualClock
) -> None:
    github.limit.per_hour = 3
    for _ in range(3):
        assert (await api("GET", REPO)).status == 200
    reply = await api("GET", REPO)
    assert (reply.status, reply.headers["x-ratelimit-remaining"]) == (403, "0")
    await clock.advance(3601)
    await api.sign_in()
    assert (await api("GET", REPO)).headers["x-ratelimit-limit"] == "3"


@pytest.mark.parametrize(
    ("kind", "status", "header"),
    [
        ("rate_limit", 403, "x-ratelimit-reset"),
        ("429", 429, "retry-after"),
        ("secondary", 403, "retry-after"),
        ("502", 502, "x-ratelimit-limit"),
        ("401", 401, "x-ratelimit-limit"),
    ],
)
async def test_a_fault_strikes_the_calls_it_names(
    github: SimGitHub, api: Client, kind: str, status: int, header: str
) -> None:
    fault = github.fault(kind, "GET", "/repos/*/project", skip=1, retry_after_s=7)
    assert (await api("GET", REPO)).status == 200
    assert (await api("GET", f"{REPO}/pulls")).status == 200
    reply = await api("GET", REPO)
    assert reply.status == status
    assert header in reply.headers
    assert fault.hits == 1
    assert (await api("GET", REPO)).status == 200


async def test_a_secondary_limit_leaves_the_primary_one_alone(
    github: SimGitHub, api: Client
) -> None:
    github.fault("secondary", retry_after_s=7)
    reply = await api("GET", REPO)
    assert (reply.headers["retry-after"], reply.headers["x-ratelimit-remaining"] != "0") == (
        "7",
        True,
    )


async def test_a_hanging_call_is_never_answered(github: SimGitHub, api: Client) -> None:
    fault = github.fault("hang", path=REPO)
    hanging = asyncio.create_task(api("GET", REPO))
    while not fault.hits:  # noqa: ASYNC110 - a fault is a plain record
        await asyncio.sleep(0)
    assert (await api("GET", REPO)).status == 200
    assert not hanging.done()
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)


async def test_an_unknown_fault_is_refused(github: SimGitHub) -> None:
    with pytest.raises(ValueError, match="unknown fault"):
        github.fault("earthquake")


async def test_an_unknown_api_version_or_path_is_refused(api: Client) -> None:
    assert (await api("GET", "/repos/octo/project/teapots")).status == 404
    api.version = "2030-01-01"
    assert (await api("GET", REPO)).status == 400


async def test_lists_come_in_pages_with_links(github: SimGitHub, api: Client) -> None:
    for number in range(5):
        github.people.open_pull("wes", {f"f{number}.py": "1"})
    seen, path = [], f"{REPO}/pulls?per_page=2&state=all"
    while path:
        reply = await api("GET", path)
        seen += [pull["number"] for pull in reply.data]
        links = reply.headers.get("Link", "")
        after = [part for part in links.split(", ") if 'rel="next"' in part]
        path = after[0].split(">")[0][1:].removeprefix(github.url) if after else ""
    assert seen == [5, 4, 3, 2, 1]


async def test_file_lists_stop_at_three_thousand(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("wes", {f"d/{number}.txt": "x" for number in range(3001)})
    assert (await api("GET", f"{REPO}/pulls/{pull.number}")).data["changed_files"] == 3001
    last = await api("GET", f"{REPO}/pulls/{pull.number}/files?per_page=100&page=30")
    beyond = await api("GET", f"{REPO}/pulls/{pull.number}/files?per_page=100&page=31")
    assert (len(last.data), beyond.data) == (100, [])


async def test_contents_are_encoded_at_any_ref(github: SimGitHub, api: Client) -> None:
    data = (await api("GET", f"{REPO}/contents/README.md")).data
    assert (data["encoding"], base64.b64decode(data["content"])) == ("base64", b"hello\n")
    assert (await api("GET", f"{REPO}/contents/nope.md")).status == 404
    assert (await api("GET", f"{REPO}/contents/README.md?ref=nope")).status == 404
    folder = (await api("GET", f"{REPO}/contents/.github/workflows")).data
    assert [entry["name"] for entry in folder] == ["e2e.yml", "push.yml"]
    tip = github.state.repo().git.tip("refs/heads/main")
    assert (await api("GET", f"{REPO}/contents/docs/old%20name.md?ref={tip}")).status == 200


async def test_commits_branches_and_comparison(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull(
        "wes",
        {"a.py": "1"},
    )
    main = (await api("GET", f"{REPO}/branches/main")).data["commit"]["sha"]
    data = (await api("GET", f"{REPO}/compare/{main}...{pull.head_sha}")).data
    assert (data["status"], [one["filename"] for one in data["files"]]) == ("ahead", ["a.py"])
    assert (await api("GET", f"{REPO}/git/commits/{main}")).data["sha"] == main
    assert (await api("GET", f"{REPO}/git/commits/{'0' * 40}")).status == 404
    assert (await api("GET", f"{REPO}/branches/nope")).status == 404
    assert not (await api("GET", f"{REPO}/branches/main")).data["protected"]
    github.people.protect("m*")
    assert (await api("GET", f"{REPO}/branches/main")).data["protected"]


async def test_comments_are_written_edited_and_limited(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    path = f"{REPO}/issues/{pull.number}/comments"
    made = await api("POST", path, {"body": "first"})
    assert (made.status, made.data["user"]["type"]) == (201, "Bot")
    assert made.data["performed_via_github_app"]["slug"] == "ascend-ci"
    one = f"{REPO}/issues/comments/{made.data['id']}"
    assert (await api("PATCH", one, {"body": "second"})).data["body"] == "second"
    assert [found["body"] for found in (await api("GET", path)).data] == ["second"]
    too_long = await api("POST", path, {"body": "x" * 65_537})
    assert (too_long.status, "too long" in str(too_long.data)) == (422, True)
    assert (await api("POST", path, {"body": " "})).status == 422
    github.people.delete_comment(github.state.comments[made.data["id"]], "mia")
    assert (await api("PATCH", one, {"body": "third"})).status == 404


async def test_a_reaction_is_made_once(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    comment = github.people.comment(pull, "mia", "/ascend-e2e")
    path = f"{REPO}/issues/comments/{comment.id}/reactions"
    first = await api("POST", path, {"content": "eyes"})
    assert (first.status, (await api("POST", path, {"content": "eyes"})).status) == (201, 200)
    assert (await api("POST", path, {"content": "shrug"})).status == 422
    assert [one.id for one in comment.reactions] == [first.data["id"]]


async def test_comments_need_both_permissions(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    await api.sign_in(permissions={"issues": "write", "pull_requests": "read"})
    reply = await api("POST", f"{REPO}/issues/{pull.number}/comments", {"body": "hi"})
    assert reply.status == 403


async def test_budgets_show_the_calls_that_broke_them(api: Client) -> None:
    await api("GET", REPO)
    await api("GET", f"{REPO}/pulls")
    api.github.calls.assert_at_most(2)
    with pytest.raises(AssertionError, match=r"GET /repos/\{owner\}/\{repo\}/pulls"):
        api.github.calls.assert_at_most(1)


async def test_broken_json_is_a_400(api: Client) -> None:
    headers = {"Authorization": f"bearer {api.token}"}
    url = f"{api.github.url}{REPO}/check-runs"
    async with api.session.post(url, data=b"{", headers=headers) as answer:
        assert answer.status == 400
