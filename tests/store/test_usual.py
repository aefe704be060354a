"""A suite that ended is shown beside its last good runs that were for no pull request."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.core.digest.result import Progress
from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run
from bot.core.model.usual import GoodRun, Usual
from bot.core.model.views import SuiteView
from bot.core.runs.hidden import HIDES
from bot.store import Store
from bot.store.runs import SaveRun
from tests.store.building import NOW, after, done, put, run, snapshot

REWARD = Progress(15, 15, 41.0, {"critic/rewards/mean": 0.93})
_SHAS = (Sha(f"{number:040d}") for number in range(1, 1000))


async def ended(
    store: Store, outcome: Outcome = Outcome.SUCCESS, at: float = -3600, **more: Any
) -> Run:
    """Store a run that took ten minutes and ended then; ``progress``: of its RayJob."""
    progress = more.pop("progress", None)
    why = more.pop("why", None)
    made = run(sha=next(_SHAS), **more)
    await put(store, made, source="nightly:a2@1")
    (claimed,) = await store.runs.claim("runner", NOW, lease_s=30, limit=1)
    jobs = (RayJob("rj-1", made.id, "log", confirmed=True, progress=progress),) if progress else ()
    over = done(claimed.run, outcome=outcome)
    over = replace(over, why=why or over.why)
    over = replace(over, started_at=after(at - 600), ended_at=after(at))
    assert await store.runs.save(claimed.lease, SaveRun(over, None, rayjobs=jobs), NOW)
    return over


async def usual(store: Store, of: Run) -> Usual:
    """Return what the check run of a run shows as usual."""
    found = await store.checks.claim("me", after(9), lease_s=30, limit=99)
    views = [due.view for due in found if isinstance(due.view, SuiteView)]
    (view,) = [view for view in views if view.run.id == of.id]
    return view.usual


async def test_the_last_five_good_runs_tell_what_is_usual(store: Store) -> None:
    for hour in range(7):
        await ended(store, at=-3600 * (hour + 1), progress=REWARD if hour == 0 else None)
    made = await ended(store, at=0, number=5)
    took = timedelta(minutes=10)
    assert await usual(store, made) == Usual("main", (GoodRun(took, REWARD), *[GoodRun(took)] * 4))


async def test_runs_of_pull_requests_failures_and_other_work_are_not_usual(store: Store) -> None:
    await ended(store, number=7)
    await ended(store, Outcome.FAILURE)
    await ended(store, suite="other")
    await ended(store, snapshot=snapshot("ppo", inputs={"script": "other.sh"}))
    await ended(store, at=-40 * 86_400)
    for key in HIDES:
        await ended(store, why=Message(key, cause="x", step=7, total=15))
    made = await ended(store, at=0, number=5)
    assert await usual(store, made) == Usual("main")


async def test_a_run_that_goes_or_was_cancelled_is_shown_without_what_is_usual(
    store: Store,
) -> None:
    await ended(store)
    cancelled = await ended(store, Outcome.CANCELLED, at=0, number=5)
    assert await usual(store, cancelled) == Usual()
