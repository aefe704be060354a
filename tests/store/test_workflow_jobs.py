"""A job's state only moves on, in whichever order webhooks tell it; a row is one job and label."""

from datetime import datetime
from itertools import permutations

import pytest
from sqlalchemy import select

from bot.core.model.run_events import RunEvent, Source, WorkflowRunEnded
from bot.core.planning.plan import Plan
from bot.core.runs.offline import JobSeen, JobState
from bot.store import Store
from bot.store.database import all_rows
from bot.store.runs import SaveRun
from bot.store.tables import workflow_jobs
from tests.store.building import NOW, REPO, after, run, snapshot

LABELS = ("linux-aarch64-a2b3-8", "npu")
TIMES = {JobState.QUEUED: NOW, JobState.IN_PROGRESS: after(10), JobState.COMPLETED: after(20)}


async def rows(store: Store, job_id: int) -> list[tuple[str, str, datetime]]:
    table = workflow_jobs.c
    query = select(table.label, table.state, table.at).where(table.job_id == job_id)
    found = await store._db.read(lambda conn: all_rows(conn, query.order_by(table.label)))
    return [(label, state, at) for label, state, at in found]


@pytest.mark.both_databases
async def test_the_latest_state_stays_whatever_order_the_states_come_in(store: Store) -> None:
    wrong = []
    for job_id, order in enumerate(permutations(TIMES), 1):
        latest = JobState.QUEUED
        for state in order:
            latest = max(latest, state)
            seen = JobSeen(job_id, REPO.id, 1, LABELS, state, TIMES[state])
            await store.workflow_jobs.put(seen, NOW)
            name = latest.name.lower()
            if await rows(store, job_id) != [(label, name, TIMES[latest]) for label in LABELS]:
                wrong.append((order, state, await rows(store, job_id)))
    assert wrong == []


@pytest.mark.parametrize(("jobs", "state"), [((), "completed"), (("unit",), "in_progress")])
async def test_the_end_of_a_suites_own_jobs_is_not_that_of_the_others(
    store: Store, jobs: tuple[str, ...], state: str
) -> None:
    ended = run(snapshot=snapshot("ppo", jobs=jobs), actions_run_id=1)
    await store.commit(Plan(new_runs=((ended, ()),)), NOW, done=None)
    await store.workflow_jobs.put(JobSeen(9, REPO.id, 1, ("npu",), JobState.IN_PROGRESS, NOW), NOW)
    (claimed,) = await store.runs.claim("me", NOW, lease_s=30, limit=1)
    told = RunEvent(ended.id, Source.RUNNER, NOW, WorkflowRunEnded(1, "success"))
    assert await store.runs.save(claimed.lease, SaveRun(claimed.run, None, (told,)), NOW)
    assert [row[1] for row in await rows(store, 9)] == [state]
