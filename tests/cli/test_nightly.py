"""`ascend-ci nightly`: lists times and nights, and asks the service to start one."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from bot.core.model.runs import Outcome, State
from bot.core.planning.plan import Plan
from bot.core.planning.schedule import Firing, FiringState, Schedule, ScheduleChange, firing_source
from bot.store import Store
from bot.store.audit import AuditQuery
from tests.databases import SqliteTemplate
from tests.store.building import NOW, REPO, SHA, claimant, run

AT = NOW.replace(hour=17, minute=0, second=0, microsecond=0)
ROW = Schedule(REPO.id, "a2", "0 17 * * *", AT)
OTHER = Repo(RepoId(8), "other", "fork", "main", installation_id=80)
Seed = Callable[[Store], Awaitable[None]]


@pytest.fixture
def url(sqlite_template: SqliteTemplate, tmp_path: Path) -> str:
    found = sqlite_template.fresh(tmp_path)
    on(found, seed)
    return found


def on(url: str, work: Seed) -> None:
    """Do something to the database."""

    async def opened() -> None:
        store = await Store.open(url)
        await work(store)
        await store.close()

    asyncio.run(opened())


async def seed(store: Store) -> None:
    """Write two times, and a night of the first one."""
    for repo in (REPO, OTHER):
        await store.commit(Plan(repo=repo), NOW, done=None)
    await store.schedules.save(ScheduleChange(put=(ROW, replace(ROW, name="a3"))))
    ended = run("one", state=State.DONE, outcome=Outcome.FAILURE)
    runnable = run("two")
    source = firing_source("a2", AT)
    changes = Plan(new_runs=tuple((one, (claimant(one, source),)) for one in (ended, runnable)))
    firing = Firing(REPO.id, "a2", AT, FiringState.STARTED, SHA, "2 suites started")
    await store.schedules.fire(ROW, AT + timedelta(days=1), firing, changes, AT)


def nightly(url: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["nightly", *words], env={"DATABASE_URL": url, "USER": "ann"})


def test_the_list_tells_the_next_time_and_how_each_suite_ended(url: str) -> None:
    answer = nightly(url, "list", "--json")
    assert answer.exit_code == 0, answer.output
    first, second = json.loads(answer.stdout)["nightly"]
    assert first == {
        "repo": "owner/name",
        "name": "a2",
        "cron": "0 17 * * *",
        "next": "2026-03-05T17:00:00Z",
        "nights": [
            {
                "at": "2026-03-04T17:00:00Z",
                "state": "started",
                "sha": SHA,
                "note": "2 suites started",
                "suites": {"one": "failure", "two": "queued"},
            }
        ],
    }
    assert (second["name"], second["nights"]) == ("a3", [])
    table = nightly(url, "list").stdout
    assert "one failure, two queued" in table
    assert len(table.splitlines()) == 3


def test_the_list_can_be_of_one_repository(url: str) -> None:
    assert len(nightly(url, "list", "--repo", "Owner/Name").stdout.splitlines()) == 3
    assert json.loads(nightly(url, "list", "--repo", "other/fork", "--json").stdout) == {
        "nightly": []
    }


def test_a_run_is_asked_for_in_somebodys_name_and_leaves_the_time_alone(url: str) -> None:
    answer = nightly(url, "run", "a3")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout == "The service starts a3 of owner/name.\n"

    async def check(store: Store) -> None:
        ((repo, firing),) = (await store.schedules.due(AT - timedelta(days=9))).asked
        assert (repo, firing.name, firing.note) == (REPO, "a3", "asked for by ann (command line)")
        assert [item.schedule.next for item in await store.schedules.listing(each=1)][1] == AT
        (found,) = await store.audit.search(AuditQuery(who="ann (command line)", since=NOW))
        entry = found.entry
        assert (entry.what, entry.rule, entry.allowed) == ("nightly a3", "operator", True)

    on(url, check)
    (asked,) = json.loads(nightly(url, "list", "--json").stdout)["nightly"][1]["nights"]
    assert asked["state"] == "asked"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "a4"], "known: a2, a3"),
        (["run", "a2", "--repo", "other/fork"], "known: none"),
        (["run"], "Missing argument 'NAME'"),
        (["run", "a2", "--by", " "], "must not be empty"),
    ],
)
def test_a_night_that_nobody_knows_is_wrong_use(url: str, words: list[str], says: str) -> None:
    answer = nightly(url, *words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert says in answer.stderr


def test_a_name_of_two_repositories_needs_one_named(url: str) -> None:
    async def second(store: Store) -> None:
        await store.schedules.save(ScheduleChange(put=(replace(ROW, repo_id=OTHER.id),)))

    on(url, second)
    answer = nightly(url, "run", "a2")
    assert answer.exit_code == 2
    assert "a schedule of other/fork, owner/name: say which by --repo" in answer.stderr
    named = nightly(url, "run", "a2", "--repo", "other/fork", "--json")
    assert json.loads(named.stdout)["repo"] == "other/fork"


def test_a_database_that_is_not_there_is_said(tmp_path: Path) -> None:
    answer = nightly(f"sqlite:///{tmp_path}/none.db", "list")
    assert (answer.exit_code, answer.stdout) == (3, "")
