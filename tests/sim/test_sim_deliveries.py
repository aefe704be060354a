"""Webhooks on the way: signed, late, doubled, out of order, lost, listed, sent again."""

from __future__ import annotations

import pytest

from bot.sim import SimGitHub
from bot.sim.deliveries import sign
from tests.sim.conftest import Client, Inbox


def test_the_signature_is_githubs() -> None:
    wanted = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert sign("It's a Secret to Everybody", b"Hello, World!") == f"sha256={wanted}"


async def test_held_deliveries_wait_and_can_be_mixed(github: SimGitHub, inbox: Inbox) -> None:
    await github.deliveries.idle()
    inbox.got.clear()
    github.deliveries.hold()
    pull = github.people.open_pull("wes", {"a.py": "1"})
    github.people.comment(pull, "mia", "hi")
    await github.deliveries.idle()
    assert inbox.got == []
    order = [one.guid for one in github.deliveries.pending]
    github.deliveries.shuffle(1)
    assert [one.guid for one in github.deliveries.pending] != order
    github.deliveries.release()
    await github.deliveries.idle()
    assert sorted(inbox.guids[-4:]) == sorted(order)


async def test_flush_sends_while_held(github: SimGitHub, inbox: Inbox) -> None:
    await github.deliveries.idle()
    inbox.got.clear()
    github.deliveries.hold()
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.flush()
    assert inbox.names() == ["push", "check_suite.requested"]


async def test_doubled_deliveries_share_their_guid(github: SimGitHub, inbox: Inbox) -> None:
    await github.deliveries.idle()
    inbox.guids.clear()
    github.deliveries.duplicate()
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.idle()
    assert (len(inbox.guids), len(set(inbox.guids))) == (3, 2)


async def test_a_lost_delivery_is_listed_and_redelivered_under_its_guid(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    github.deliveries.drop()
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.idle()
    assert "push" not in inbox.names()
    listed = (await api("GET", "/app/hook/deliveries", token=api.jwt())).data
    lost = [one for one in listed if one["status"] != "OK"]
    assert [(one["event"], one["status_code"]) for one in lost] == [("push", 0)]
    path = f"/app/hook/deliveries/{lost[0]['id']}"
    assert (await api("POST", f"{path}/attempts", token=api.jwt())).status == 202
    await github.deliveries.idle()
    assert inbox.names()[-1] == "push"
    assert inbox.guids[-1] == lost[0]["guid"]
    again = (await api("GET", "/app/hook/deliveries", token=api.jwt())).data[0]
    assert (again["redelivery"], again["status"]) == (True, "OK")


async def test_events_can_be_lost_by_kind(github: SimGitHub, inbox: Inbox) -> None:
    github.deliveries.drop_if(lambda delivery: delivery.event == "push")
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.idle()
    assert "push" not in inbox.names()
    github.deliveries.drop_if(None)
    github.people.push_branch("mia", {"a": "3"})
    await github.deliveries.idle()
    assert "push" in inbox.names()


async def test_github_never_tries_again_by_itself(
    github: SimGitHub, api: Client, inbox: Inbox
) -> None:
    await github.deliveries.idle()
    inbox.got.clear()
    inbox.answer = 503
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.idle()
    inbox.answer = 202
    assert len(inbox.got) == 2
    listed = (await api("GET", "/app/hook/deliveries?per_page=2", token=api.jwt())).data
    assert [one["status_code"] for one in listed] == [503, 503]


async def test_deliveries_are_paged_by_cursor(github: SimGitHub, api: Client) -> None:
    for number in range(3):
        github.people.push_branch("mia", {"a": str(number)})
    await github.deliveries.idle()
    seen: list[int] = []
    path = "/app/hook/deliveries?per_page=3"
    while path:
        reply = await api("GET", path, token=api.jwt())
        seen += [one["id"] for one in reply.data]
        link = reply.headers.get("Link", "")
        path = link.split(">")[0][1:].removeprefix(github.url) if link else ""
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 7


async def test_unknown_deliveries_are_404(api: Client) -> None:
    assert (await api("POST", "/app/hook/deliveries/1/attempts", token=api.jwt())).status == 404


async def test_a_dead_webhook_is_recorded(github: SimGitHub) -> None:
    await github.deliveries.idle()
    github.state.the_app().webhook_url = "http://127.0.0.1:1/webhook"
    github.people.push_branch("mia", {"a": "2"})
    await github.deliveries.idle()
    newest = github.deliveries.listed()[0]
    assert (newest.status_code, newest.status) == (0, "failed to connect to host")


@pytest.mark.parametrize("version", ["2026-03-10", "2022-11-28"])
async def test_both_versions_are_served(api: Client, version: str) -> None:
    api.version = version
    assert (await api("GET", "/app/hook/deliveries", token=api.jwt())).status == 200
