"""A run that failed is shown beside the last one of the same work that passed."""

import pytest

from bot.core.digest.result import Digest
from bot.core.messages import Message
from bot.core.model.run_events import LogRead, RunEvent, Source
from bot.core.model.runs import Outcome, Run
from bot.core.model.usual import LastGreen
from bot.core.model.views import SuiteView
from bot.core.planning.plan import Plan
from bot.store import Store
from tests.store.building import NOW, after
from tests.store.test_usual import ended


async def tells(store: Store, run: Run, **environment: str) -> Run:
    log = LogRead(1, digest=Digest(environment=environment))
    read = RunEvent(run.id, Source.RUNNER, NOW, log)
    await store.commit(Plan(run_events=(read,)), NOW, done=None)
    return run


@pytest.mark.both_databases
async def test_a_failure_has_the_last_green_run_whose_log_tells_its_versions(store: Store) -> None:
    await tells(store, await ended(store, at=-40 * 86_400), ray="1")
    silent = await ended(store, Outcome.FAILURE, at=-9000)
    await tells(store, await ended(store, at=-7200), ray="2")
    green = await tells(store, await ended(store, at=-3600), ray="3")
    await tells(store, await ended(store, at=-60, suite="other"), ray="4")
    await tells(store, await ended(store, at=-45, why=Message("died", cause="x")), ray="6")
    red = await ended(store, Outcome.FAILURE, at=-30)
    await tells(store, await ended(store, at=-5), ray="5")
    found = await store.checks.claim("me", after(9), lease_s=30, limit=99)
    views = {due.view.run.id: due.view.green for due in found if isinstance(due.view, SuiteView)}
    assert views[red.id] == LastGreen(green.sha, after(-3600), {"ray": "3"})
    assert (views[silent.id], views[green.id]) == (None, None)
