"""Deliveries: what GitHub tried to send, one value a GUID."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.github import GitHubClient
from bot.ports.errors import Transient
from tests.adapters.github.support import NOW, Reply, Scripted, Seen

LIST = "/app/hook/deliveries"


def attempt(number: int, guid: str, status: str, minutes_ago: int) -> dict[str, Any]:
    at = NOW - timedelta(minutes=minutes_ago)
    return {
        "id": number,
        "guid": guid,
        "delivered_at": at.isoformat().replace("+00:00", "Z"),
        "status": status,
        "status_code": 200 if status == "OK" else 0,
        "event": "push",
        "redelivery": False,
    }


async def test_a_delivery_is_fine_when_any_attempt_was(
    client: GitHubClient, github: Scripted
) -> None:
    listed = [
        attempt(5, "a", "OK", 1),
        attempt(4, "b", "timed out", 2),
        attempt(3, "a", "Internal Server Error", 3),
        attempt(2, "b", "failed to connect to host", 4),
    ]
    github.on("GET", LIST, Reply(body=listed))
    first, second = await client.deliveries(NOW - timedelta(hours=1))
    assert (first.guid, first.ok, first.id) == ("a", True, 5)
    assert (second.guid, second.ok, second.id, second.event) == ("b", False, 4, "push")
    assert second.delivered_at == NOW - timedelta(minutes=4)
    assert (second.tries, second.tried_at) == (2, NOW - timedelta(minutes=2))
    assert github.seen[0].headers["authorization"].startswith("Bearer ey")


async def test_pages_are_read_back_to_the_time_and_no_further(
    client: GitHubClient, github: Scripted
) -> None:
    def page(seen: Seen) -> Reply:
        number = int(seen.query.get("cursor", "0"))
        link = {"link": f'<{github.url}{LIST}?per_page=100&cursor={number + 1}>; rel="next"'}
        items = [attempt(100 - number, f"g{number}", "OK", number * 10)]
        return Reply(body=items, headers=link)

    github.on("GET", LIST, page)
    found = await client.deliveries(NOW - timedelta(minutes=25))
    assert [item.guid for item in found] == ["g0", "g1", "g2"]
    assert len(github.seen) == 4


async def test_a_delivery_that_can_not_be_read_is_transient(
    client: GitHubClient, github: Scripted
) -> None:
    github.on("GET", LIST, Reply(body=[{"id": 1}]))
    with pytest.raises(Transient):
        await client.deliveries(NOW)


async def test_a_redelivery_is_asked_for_by_attempt(client: GitHubClient, github: Scripted) -> None:
    github.on("POST", f"{LIST}/4/attempts", Reply(502), Reply(202, {}))
    await client.redeliver(4)
    assert len(github.seen) == 2
