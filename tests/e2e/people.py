"""How people talk to the bot in the tests, and what must hold after an attack."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.core.report.comment import COMMENT_MARKER
from bot.sim import NewPull
from bot.sim.deliveries import Delivery
from bot.sim.model import Pull
from tests.e2e.world import World

LONG_AGO = 120  # seconds: a head that stands so long has been seen by who comments


async def stranger(world: World, path: str = "verl/a.py", text: str = "1") -> Pull:
    """Open a stranger's pull request from a fork and let it stand."""
    pull = world.github.people.open_pull("stranger", {path: text}, NewPull(fork=True))
    await stands(world)
    return pull


async def stands(world: World, seconds: float = LONG_AGO) -> None:
    """Let what was done be seen by the bot, then by people for so long."""
    await world.settle()
    await world.pass_time(seconds)


async def say(world: World, pull: Pull, who: str, text: str) -> str:
    """Comment; return the bot's reply, "" for none."""
    (reply,) = await all_say(world, [(pull, who, text)])
    return reply


async def all_say(world: World, said: Sequence[tuple[Pull, str, str]]) -> list[str]:
    """Let each person comment on a pull request of its own, at once; return the bot's replies."""
    before = [len(_said(world, pull)) for pull, _, _ in said]
    for pull, who, text in said:
        world.github.people.comment(pull, who, text)
    await world.settle()
    await world.pass_time(10)
    found = []
    for (pull, _, _), count in zip(said, before, strict=True):
        replies = _said(world, pull)[count + 1 :]
        assert len(replies) <= 1
        found += replies or [""]
    return found


def _said(world: World, pull: Pull) -> list[str]:
    """Return the comments of people, and the replies."""
    return [text for text in world.github.comments(pull) if COMMENT_MARKER not in text]


async def press(world: World, sha: str, who: str, button: str = "approve") -> str:
    """Press a button of a commit's gate; return what the gate says then."""
    world.github.people.press(world.gate(sha).id, button, who)
    await world.settle()
    await world.pass_time(10)
    return world.gate(sha).summary or ""


def started(world: World) -> list[str]:
    """Return the commits of the workflow runs that there are."""
    return [run.inputs["sha"] for run in world.github.runs()]


async def unharmed(world: World) -> None:
    """Check that no delivery is stuck: a refused attack is handled like all else."""
    health = await world.bot.parts.store.health.counts(world.clock.now())
    assert (health.deliveries_parked, health.deliveries_waiting) == (0, 0)


async def waits(world: World, pull: Pull) -> None:
    """Check that the head still waits for an approval, and that its gate says so."""
    await unharmed(world)
    gate = world.gate(pull.head_sha)
    assert (gate.status, gate.conclusion) == ("completed", "action_required")
    assert "Waiting for a maintainer" in (gate.title or "")
    assert [action["identifier"] for action in gate.actions] == ["approve"]
    assert pull.head_sha not in started(world)


def paste(verb: str, sha: str) -> str:
    """Return the line that a refusal gives to paste."""
    return f"`/ascend-e2e {verb} --sha {sha[:12]}`"


def last_sent(world: World, event: str, by: str) -> Delivery:
    """Return the newest delivery of an event that a person caused."""
    sent = [one for one in world.github.deliveries.sent if one.event == event]
    return [one for one in sent if one.payload()["sender"]["login"] == by][-1]


def replay(world: World, delivery: Delivery, guid: str, body: Any = None) -> None:
    """Send a delivery again, under another GUID and perhaps with another body."""
    number = world.github.state.new_id()
    again = replace(delivery, id=number, guid=guid, body=body or delivery.body)
    world.github.deliveries.emit(again)
