"""Pull requests, their files, and files at a branch."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from bot.adapters.github import GitHubClient
from bot.core.policy.selection import ChangedFile
from bot.ports.errors import Permanent, Transient
from bot.ports.github import FileText
from tests.accounts import account
from tests.adapters.github.support import REPO, HandClock, R, Reply, Scripted, Seen, pull_json

FILES = f"{R}/pulls/5/files"


def file_json(name: str, **more: Any) -> dict[str, Any]:
    return {"filename": name, "status": "modified"} | more


def pages_of(github: Scripted, total: int) -> Any:
    """Answer pages of 100 as GitHub links them."""

    def page(seen: Seen) -> Reply:
        number = int(seen.query.get("page", "1"))
        size = int(seen.query["per_page"])
        names = range((number - 1) * size, min(number * size, total))
        more = number * size < total
        url = f"{github.url}{FILES}?per_page={size}&page={number + 1}"
        headers = {"link": f'<{url}>; rel="next"'} if more else {}
        return Reply(body=[file_json(f"f{name}") for name in names], headers=headers)

    return page


async def test_a_pull_request_is_read(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", f"{R}/pulls/5", Reply(body=pull_json()))
    pull = await client.pull(REPO, 5)
    assert (pull.head_sha, pull.base_ref, pull.author) == ("a" * 40, "main", account("ann"))
    assert (pull.repo_id, pull.changed_files, pull.from_fork) == (7, 2, False)


async def test_open_pulls_lack_the_number_of_files(client: GitHubClient, github: Scripted) -> None:
    data = pull_json()
    del data["changed_files"]
    github.on("GET", f"{R}/pulls", Reply(body=[data]))
    assert (await client.open_pulls(REPO))[0].changed_files == 0
    assert github.requests()[0].query == {"state": "open", "per_page": "100"}


async def test_files_come_in_pages_of_a_hundred(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", FILES, pages_of(github, 250))
    found = await client.pull_files(REPO, 5, 250)
    assert [item.path for item in found.files] == [f"f{number}" for number in range(250)]
    assert not found.truncated
    assert len(github.requests()) == 3


async def test_a_rename_keeps_both_names(client: GitHubClient, github: Scripted) -> None:
    renamed = file_json("new", status="renamed", previous_filename="old")
    github.on("GET", FILES, Reply(body=[renamed]))
    found = await client.pull_files(REPO, 5, 1)
    assert found.files == (ChangedFile("new", status="renamed", previous_path="old"),)


async def test_more_than_3000_files_are_not_listed(client: GitHubClient, github: Scripted) -> None:
    found = await client.pull_files(REPO, 5, 3001)
    assert found.truncated
    assert found.files == ()
    assert github.seen == []


async def test_exactly_3000_files_are_all_of_them(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", FILES, pages_of(github, 3000))
    found = await client.pull_files(REPO, 5, 3000)
    assert len(found.files) == 3000
    assert not found.truncated


async def test_a_pull_request_that_grew_beyond_3000_is_truncated(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", FILES, pages_of(github, 3200))
    assert (await client.pull_files(REPO, 5, 10)).truncated


async def test_a_listing_shorter_than_said_is_fine(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", FILES, Reply(body=[file_json("a")]))
    found = await client.pull_files(REPO, 5, 2)
    assert (len(found.files), found.truncated) == (1, False)


@pytest.mark.parametrize(("count", "truncated"), [(0, False), (299, False), (300, True)])
async def test_a_comparison_ends_at_300_files(
    client: GitHubClient, github: Scripted, count: int, truncated: bool
) -> None:
    files = [file_json(f"f{number}") for number in range(count)]
    github.on("GET", f"{R}/compare/v0.1%2Fx...{'c' * 40}", Reply(body={"files": files}))
    found = await client.compare_files(REPO, "v0.1/x", "c" * 40)
    assert (len(found.files), found.truncated) == (count, truncated)


def contents(text: bytes, **changes: Any) -> dict[str, Any]:
    return {
        "type": "file",
        "encoding": "base64",
        "content": base64.encodebytes(text).decode(),
        "sha": "5" * 40,
    } | changes


async def test_a_file_comes_with_its_blob(client: GitHubClient, github: Scripted) -> None:
    path = f"{R}/contents/.github/ascend-ci.yml"
    github.on("GET", path, Reply(body=contents(b"version: 1\n\xff")))
    found = await client.file(REPO, ".github/ascend-ci.yml", "release/1.0")
    assert found == FileText(b"version: 1\n\xff", "5" * 40)
    assert github.requests()[0].query == {"ref": "release/1.0"}


async def test_a_path_is_quoted_but_for_its_slashes(client: GitHubClient, github: Scripted) -> None:
    github.on("GET", f"{R}/contents/a%3Fb/c%23%20%25d", Reply(body=contents(b"x")))
    assert await client.file(REPO, "a?b/c# %d", "main") is not None
    assert github.requests()[0].query == {"ref": "main"}


@pytest.mark.parametrize("path", ["../../../user", "a//b", "./a", ""])
async def test_a_path_that_leads_elsewhere_is_no_file(
    client: GitHubClient, github: Scripted, path: str
) -> None:
    assert await client.file(REPO, path, "main") is None
    assert github.seen == []


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(404, {"message": "Not Found"}), id="missing"),
        pytest.param(Reply(body=[{"type": "file"}]), id="a directory"),
        pytest.param(Reply(body={"type": "submodule"}), id="a submodule"),
    ],
)
async def test_what_is_no_file_is_none(
    client: GitHubClient, github: Scripted, reply: Reply
) -> None:
    github.on("GET", f"{R}/contents/p.yml", reply)
    assert await client.file(REPO, "p.yml", "main") is None


async def test_a_file_that_may_not_be_read_is_refused(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/contents/p.yml", Reply(403, {"message": "no"}))
    with pytest.raises(Permanent):
        await client.file(REPO, "p.yml", "main")


async def test_of_a_file_that_a_stranger_made_huge_only_the_beginning_is_read(
    client: GitHubClient, github: Scripted
) -> None:
    large = contents(b"", encoding="none", content="")
    github.on("GET", f"{R}/contents/p.yml", Reply(body=large))
    raw = Reply(raw=b"a" * 5_000_000, headers={"content-type": "application/octet-stream"})
    github.on("GET", f"{R}/git/blobs/{'5' * 40}", raw)
    found = await client.file(REPO, "p.yml", "main")
    assert found is not None
    assert (len(found.text), found.blob_sha) == (1024 * 1024, "5" * 40)


async def test_a_file_over_a_megabyte_is_read_as_a_blob(
    client: GitHubClient, github: Scripted
) -> None:
    large = contents(b"", encoding="none", content="")
    github.on("GET", f"{R}/contents/p.yml", Reply(body=large))
    github.on("GET", f"{R}/git/blobs/{'5' * 40}", Reply(raw=b"big"))
    assert await client.file(REPO, "p.yml", "main") == FileText(b"big", "5" * 40)


async def test_the_head_of_a_branch_and_its_tree_are_read(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/branches/release%2F1", Reply(body={"commit": {"sha": "b" * 40}}))
    github.on("GET", f"{R}/git/commits/{'b' * 40}", Reply(body={"tree": {"sha": "c" * 40}}))
    head = await client.tip(REPO, "release/1")
    assert head == "b" * 40
    assert await client.tree(REPO, head) == "c" * 40


async def test_whether_a_branch_is_protected_is_asked_once_in_five_minutes(
    client: GitHubClient, github: Scripted, clock: HandClock
) -> None:
    url = f"{R}/branches/release%2F1"
    github.on("GET", url, Reply(body={"protected": True}), Reply(body={"protected": False}))
    github.on("GET", f"{R}/branches/gone", Reply(404, {"message": "Branch not found"}))
    github.on("GET", f"{R}/branches/odd", Reply(body={"commit": {}}))
    assert await client.is_protected(REPO, "release/1")
    clock.advance(299)
    assert await client.is_protected(REPO, "release/1")
    clock.advance(1)
    assert not await client.is_protected(REPO, "release/1")
    assert not await client.is_protected(REPO, "gone")
    with pytest.raises(Transient):
        await client.is_protected(REPO, "odd")


async def test_a_branch_that_is_not_there_has_no_head(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", f"{R}/branches/gone", Reply(404, {"message": "Branch not found"}))
    github.on("GET", f"{R}/git/commits/{'b' * 40}", Reply(403, {"message": "no"}))
    assert await client.tip(REPO, "gone") is None
    with pytest.raises(Permanent):
        await client.tree(REPO, "b" * 40)
