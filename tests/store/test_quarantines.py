"""What the rows tell of quarantines: how often a suite passed, and which gates to look at anew."""

import pytest

from bot.core.messages import quote
from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.runs import Outcome
from bot.core.model.selections import (
    Cost,
    SelectionDetails,
    StoredSelection,
    SuiteSelection,
)
from bot.core.model.usual import PastEnd
from bot.core.model.views import GateDue, SuiteView
from bot.core.planning.plan import Plan
from bot.core.policy.quarantine import Quarantine
from bot.core.policy.selection import Choice
from bot.store import Store
from tests.accounts import account
from tests.store.building import NOW, REPO, after, snapshot
from tests.store.test_usual import ended

ENTRY = Quarantine(suite="ppo", until="2026-03-09", owner="amy", reason="flaky", issue=12)
HELD = snapshot("ppo", quarantine=(ENTRY,))


@pytest.mark.both_databases
async def test_a_suite_in_quarantine_is_shown_beside_its_last_ends(store: Store) -> None:
    await ended(store, Outcome.SUCCESS, at=-40 * 86_400)
    await ended(store, Outcome.FAILURE, at=-7200, failed_tests=("a.py::t",))
    await ended(store, Outcome.CANCELLED, at=-3600)
    await ended(store, Outcome.TIMED_OUT, at=-60, suite="other", snapshot=snapshot("other"))
    plain = await ended(store, at=-30)
    made = await ended(store, at=0, snapshot=HELD)
    await ended(store, at=10)
    found = await store.checks.claim("me", after(9), lease_s=30, limit=99)
    views = {due.view.run.id: due.view.past for due in found if isinstance(due.view, SuiteView)}
    good = PastEnd(Outcome.SUCCESS)
    assert views[made.id] == (good, good, PastEnd(Outcome.FAILURE, ("a.py::t",)))
    assert views[plain.id] == ()


@pytest.mark.both_databases
async def test_a_day_s_end_looks_anew_at_the_gates_of_open_heads_with_a_quarantine(
    store: Store,
) -> None:
    await store.commit(Plan(repo=REPO), NOW, done=None)
    for number, (entries, is_open) in enumerate((((ENTRY,), True), ((), True), ((ENTRY,), False))):
        sha = Sha(f"{number:040d}")
        pull = Pull(REPO.id, number, sha, REPO.id, "main", account("ann"), open=is_open)
        chosen = SuiteSelection(Choice("ppo", True, quote("x")), Cost(), quarantine=entries)
        row = StoredSelection(REPO.id, sha, number, "p", SelectionDetails(suites=(chosen,)))
        gates = (GateDue(REPO.id, sha, number),)
        await store.commit(Plan(pull=pull, selection=row, gates=gates), NOW, done=None)
    for due in await store.checks.claim("me", NOW, lease_s=30, limit=9):
        await store.checks.shown(
            due.lease, github_id=5, version=due.want_version, ended=True, now=NOW
        )
    await store.checks.quarantines_ended(after(60))
    (again,) = await store.checks.claim("me", after(60), lease_s=30, limit=9)
    assert again.sha == Sha("0" * 40)
