"""Values that the store's tests put in, with what does not matter filled in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from bot.core.model.deliveries import Delivery
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.repos import Repo
from bot.core.model.runs import Claimant, Run, State
from bot.core.model.snapshot import Label, Snapshot
from bot.core.planning.plan import Plan
from bot.core.policy.models import Limits, Log, Suite
from bot.store import Store
from tests.core.building import with_changes

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
REPO = Repo(RepoId(7), "owner", "name", "main", installation_id=70)
SHA = Sha("a" * 40)
LABEL = Label("linux-aarch64-a3-16", npus=16, slots=1)

_numbers = count(1)


def after(seconds: float) -> datetime:
    """Return the time so much later."""
    return NOW + timedelta(seconds=seconds)


def snapshot(suite: str, **more: Any) -> Snapshot:
    """Make a suite's snapshot."""
    made = Snapshot(
        name=suite,
        suite=Suite(title=suite.title(), workflow="e2e.yml", runners=(LABEL.name,)),
        ref="main",
        labels=(LABEL,),
        policy_ref="main",
        policy_sha="p" * 40,
        limits=Limits(),
        log=Log(),
    )
    return with_changes(made, **more)


def run(suite: str = "ppo", **more: Any) -> Run:
    """Make a run with an id of its own, ordered by making."""
    fields: dict[str, Any] = {
        "id": RunId(f"RUN{next(_numbers):06}"),
        "repo_id": REPO.id,
        "sha": SHA,
        "suite": suite,
        "attempt": 1,
        "snapshot": snapshot(suite),
        "created_at": NOW,
    }
    return Run(**{**fields, **more})


def claimant(of: Run, source: str = "pr:1", **more: Any) -> Claimant:
    """Make a claimant of a run."""
    return Claimant(of.id, source, **more)


def delivery(guid: str, **more: Any) -> Delivery:
    """Make a delivery."""
    fields: dict[str, Any] = {
        "guid": guid,
        "event": "pull_request",
        "action": "opened",
        "repo_id": REPO.id,
        "subject": f"{REPO.id}:1",
        "received_at": NOW,
        "body": b'{"action": "opened"}',
    }
    return Delivery(**{**fields, **more})


async def put(store: Store, *made: Run, source: str = "pr:1", at: datetime = NOW) -> None:
    """Store runs with one claimant each, as the inbox does."""
    new_runs = tuple((item, (claimant(item, source),)) for item in made)
    assert await store.commit(Plan(repo=REPO, new_runs=new_runs), at, done=None)


def done(item: Run, **more: Any) -> Run:
    """Return the run as ended."""
    return replace(item, state=State.DONE, ended_at=NOW, **more)
