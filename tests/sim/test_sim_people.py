"""Deeds of people: each changes the state and sends the webhooks GitHub would send."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sim import CannotError, ManualClock, NewPull, SimGitHub
from tests.sim.conftest import REPO, Client, Inbox


async def test_opening_a_pull_request_commits_for_real(github: SimGitHub, api: Client) -> None:
    changes = {
        "docs/new name.md": "one\ntwo\nthree\nfour\n",
        "docs/old name.md": None,
        "n.py": "1\n",
    }
    pull = github.people.open_pull("wes", changes, NewPull(title="Move it"))
    files = (await api("GET", f"{REPO}/pulls/{pull.number}/files")).data
    shown = {one["filename"]: (one["status"], one.get("previous_filename")) for one in files}
    assert shown == {
        "docs/new name.md": ("renamed", "docs/old name.md"),
        "n.py": ("added", None),
    }
    data = (await api("GET", f"{REPO}/pulls/{pull.number}")).data
    assert (data["changed_files"], data["title"], data["head"]["sha"]) == (
        2,
        "Move it",
        pull.head_sha,
    )
    assert "merge_commit_sha" not in data
    assert pull.repo.git.tip(f"refs/pull/{pull.number}/head") == pull.head_sha


async def test_pushes_carry_before_and_after(github: SimGitHub, inbox: Inbox) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    first = pull.head_sha
    second = github.people.push(pull, {"a.py": "2"}, by="mia")
    await github.deliveries.idle()
    data = inbox.last("pull_request.synchronize")
    assert (data["before"], data["after"], data["sender"]["login"]) == (first, second, "mia")
    github.people.force_push(pull, first)
    await github.deliveries.idle()
    data = inbox.last("pull_request.synchronize")
    assert (data["before"], data["after"]) == (second, first)
    pushes = [body for event, _, body in inbox.got if event == "push"]
    assert pushes[-1]["forced"] is True


async def test_a_push_to_a_fork_is_no_event_of_the_base_repository(
    github: SimGitHub, inbox: Inbox
) -> None:
    inbox.got.clear()
    pull = github.people.open_pull("bob", {"a.py": "1"}, NewPull(fork=True))
    github.people.push(pull, {"a.py": "2"})
    await github.deliveries.idle()
    assert {"push", "check_suite.requested"} & set(inbox.names()) == set()
    assert inbox.last("pull_request.opened")["pull_request"]["head"]["repo"]["fork"] is True


async def test_a_forks_commit_is_read_by_sha_from_the_base_repository(
    github: SimGitHub, api: Client
) -> None:
    pull = github.people.open_pull("bob", {"a.py": "fork's\n"}, NewPull(fork=True))
    reply = await api("GET", f"{REPO}/contents/a.py?ref={pull.head_sha}")
    assert reply.status == 200


async def test_a_deleted_fork_leaves_head_repo_null(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    pull = github.people.open_pull("bob", {"a.py": "1"}, NewPull(fork=True))
    github.people.delete_fork(pull)
    data = (await api("GET", f"{REPO}/pulls/{pull.number}")).data
    assert (data["head"]["repo"], data["head"]["user"]) == (None, None)
    github.people.close(pull, "mia")
    await github.deliveries.idle()
    assert inbox.last("pull_request.closed")["pull_request"]["head"]["repo"] is None
    with pytest.raises(CannotError, match="gone"):
        github.people.push(pull, {"a.py": "2"})


async def test_the_life_of_a_pull_request_is_told(github: SimGitHub, inbox: Inbox) -> None:
    people = github.people
    people.push_branch("mia", {"r.txt": "1"}, "v0.1")
    pull = people.open_pull("wes", {"a.py": "1"}, NewPull(draft=True))
    await github.deliveries.idle()
    inbox.got.clear()
    people.ready(pull)
    people.draft(pull)
    people.ready(pull)
    people.retarget(pull, "v0.1", "mia")
    people.edit_title(pull, "Better")
    people.label(pull, "npu", "mia")
    people.unlabel(pull, "npu", "mia")
    people.close(pull)
    people.reopen(pull)
    people.merge(pull, "mia")
    await github.deliveries.idle()
    names = [name.removeprefix("pull_request.") for name in inbox.names() if "pull_req" in name]
    assert names == [
        "ready_for_review",
        "converted_to_draft",
        "ready_for_review",
        "edited",
        "edited",
        "labeled",
        "unlabeled",
        "closed",
        "reopened",
        "closed",
    ]
    edits = [body["changes"] for _, action, body in inbox.got if action == "edited"]
    assert edits[0]["base"]["ref"] == {"from": "main"}
    assert edits[1] == {"title": {"from": "Change"}}
    assert inbox.last("pull_request.closed")["pull_request"]["merged"] is True
    with pytest.raises(CannotError):
        people.reopen(pull)


async def test_a_retarget_changes_the_files_without_a_push(github: SimGitHub, api: Client) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    github.people.push_branch("mia", {"other.py": "1"})
    first = github.people.open_pull("wes", {"b.py": "1"}, NewPull(branch="topic"))
    stacked = github.people.open_pull("wes", {"c.py": "1"}, NewPull(base="topic"))
    head = stacked.head_sha
    github.people.retarget(stacked, "main")
    files = (await api("GET", f"{REPO}/pulls/{stacked.number}/files")).data
    assert [one["filename"] for one in files] == ["b.py", "c.py"]
    assert (stacked.head_sha, first.number, pull.number) == (head, 2, 1)


async def test_comment_events_have_no_sha_and_edits_say_what_was(
    github: SimGitHub, inbox: Inbox
) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    comment = github.people.comment(pull, "mia", "/ascend-e2e")
    await github.deliveries.idle()
    data = inbox.last("issue_comment.created")
    assert data["issue"]["number"] == pull.number
    assert "pull_request" in data["issue"]
    assert pull.head_sha not in str(data["issue"])
    github.people.edit_comment(comment, "never mind", "mia")
    github.people.delete_comment(comment, "mia")
    await github.deliveries.idle()
    assert inbox.last("issue_comment.edited")["changes"] == {"body": {"from": "/ascend-e2e"}}
    assert inbox.last("issue_comment.deleted")["comment"]["body"] == "never mind"


async def test_a_merge_group_is_asked_for_and_destroyed(github: SimGitHub, inbox: Inbox) -> None:
    pull = github.people.open_pull("wes", {"a.py": "1"})
    group = github.people.merge_group(pull, "mia")
    github.people.destroy_group(group, "mia", "invalidated")
    await github.deliveries.idle()
    data = inbox.last("merge_group.checks_requested")
    wanted = f"refs/heads/gh-readonly-queue/main/pr-{pull.number}-{pull.head_sha}"
    assert data["merge_group"]["head_ref"] == wanted
    assert inbox.last("merge_group.destroyed")["reason"] == "invalidated"


async def test_without_the_permission_an_event_never_comes(github: SimGitHub, inbox: Inbox) -> None:
    del github.state.the_app().permissions["merge_queues"]
    pull = github.people.open_pull("wes", {"a.py": "1"})
    github.people.merge_group(pull, "mia")
    await github.deliveries.idle()
    assert "merge_group.checks_requested" not in inbox.names()


async def test_renaming_and_suspending_are_told(
    github: SimGitHub, inbox: Inbox, api: Client
) -> None:
    installation = next(iter(github.state.installations.values()))
    github.rename_repo("renamed", "mia")
    github.suspend(installation)
    github.people.open_pull("wes", {"a.py": "1"})
    await github.deliveries.idle()
    names = inbox.names()
    assert inbox.last("repository.renamed")["changes"]["repository"]["name"]["from"] == "project"
    assert names[-1] == "installation.suspend"
    assert (await api("GET", "/repos/octo/renamed")).status == 403
    github.suspend(installation, suspended=False)
    assert (await api("GET", "/repos/octo/renamed")).status == 200


@pytest.mark.parametrize(
    ("login", "permission", "role", "push"),
    [
        ("mia", "write", "maintain", True),
        ("wes", "write", "write", True),
        ("tia", "read", "triage", False),
        ("bob", "read", "read", False),
        ("octo", "admin", "admin", True),
    ],
)
async def test_maintain_shows_as_write_and_triage_as_read(
    github: SimGitHub, api: Client, login: str, permission: str, role: str, push: bool
) -> None:
    data = (await api("GET", f"{REPO}/collaborators/{login}/permission")).data
    assert (data["permission"], data["role_name"]) == (permission, role)
    assert data["user"]["permissions"]["push"] is push
    assert data["user"]["permissions"]["triage"] is (role != "read")


async def test_custom_roles_show_their_name_and_unknown_users_are_404(
    github: SimGitHub, api: Client
) -> None:
    github.grant("cee", "write", role="npu-operator")
    data = (await api("GET", f"{REPO}/collaborators/cee/permission")).data
    assert (data["permission"], data["role_name"]) == ("write", "npu-operator")
    assert (await api("GET", f"{REPO}/collaborators/nobody/permission")).status == 404


async def test_members_of_teams_are_active_or_pending(github: SimGitHub, api: Client) -> None:
    github.team("octo", "npu", {"mia": "active", "wes": "pending"})
    path = "/orgs/octo/teams/npu/memberships"
    assert (await api("GET", f"{path}/mia")).data["state"] == "active"
    assert (await api("GET", f"{path}/wes")).data["state"] == "pending"
    assert (await api("GET", f"{path}/bob")).status == 404


async def test_ids_are_the_same_in_every_run_of_the_same_steps() -> None:
    async def steps() -> list[Any]:
        async with SimGitHub(ManualClock()) as sim:
            sim.create_app()
            sim.create_repo("octo/project", {"a": "1"})
            sim.install("octo")
            pull = sim.people.open_pull("octo", {"a.py": "1"})
            sim.deliveries.hold()
            return [pull.id, pull.head_sha, [one.guid for one in sim.deliveries.pending]]

    assert await steps() == await steps()
