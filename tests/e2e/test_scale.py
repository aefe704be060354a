"""A run costs as much beside many as beside few: rows of many runs are copies of a few."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.store.report_tables import checks
from tests.bench.copies import copy_rows
from tests.databases import SqliteTemplate
from tests.e2e.world import POLICY, World, open_world
from tests.steps import Work, counting

FEW, COPIES = 5, 200
SLOTS = POLICY.replace("slots: 2", "slots: 100000")


@pytest.fixture
async def site(
    tmp_path: Path, sqlite_template: SqliteTemplate
) -> AsyncIterator[tuple[World, Work]]:
    """Open a world whose database counts its work."""
    with counting() as work:
        async with open_world(tmp_path, sqlite_template.fresh(tmp_path)) as world:
            yield world, work


async def started(world: World, work: Work) -> tuple[int, int]:
    """Open a pull request whose run starts; return the steps and the calls for it."""
    steps, calls, runs = work.steps, len(world.github.calls), len(world.github.runs())
    world.open_pull(path=f"verl/{runs}.py")
    await world.settle()
    world.github.actions.start(world.github.runs()[-1])
    await world.settle()
    assert len(world.github.runs()) == runs + 1
    return work.steps - steps, len(world.github.calls) - calls


async def test_a_start_reads_beside_a_thousand_runs_only_the_sums_of_them(
    site: tuple[World, Work],
) -> None:
    world, work = site
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": SLOTS})
    await world.settle()
    for _ in range(FEW):
        await started(world, work)
    beside_few = await started(world, work)
    store = world.bot.parts.store
    await store._db.write(lambda conn: copy_rows(conn, COPIES, waiting=False))
    await store._db.write(lambda conn: conn.execute(update(checks).values(due=None)))
    beside_many = await started(world, work)
    assert beside_many[1] == beside_few[1]
    assert beside_many[0] - beside_few[0] < 70 * FEW * COPIES
