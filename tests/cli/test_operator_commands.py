"""The operators' commands on a database that holds runs: what they print, write and exit with."""

import io
import json
import os
import pwd
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.cli.operators.printing import short
from bot.core.model.ids import RunId
from bot.core.model.pulls import Pull
from bot.core.model.repos import StoredPolicy
from bot.core.model.runs import Run, State
from bot.core.model.snapshot import SnapshotPool
from bot.core.planning.plan import Plan
from bot.store import Store
from tests.accounts import account
from tests.databases import PostgresServer, run_apart
from tests.store.building import LABEL, NOW, REPO, SHA, put, run, snapshot

LIVE, OVER, OTHER = RunId("01AAAA1"), RunId("01AAAA2"), RunId("01BBBB1")
POLICY = """
version: 1
runners: {npu-8: {npus: 8, slots: 2}, cluster: {npus: 8}}
pools: {shared: {npus: 8}}
suites: {unit: {workflow: u.yml, runners: [npu-8]}}
"""


class Desk:
    """A database and the command line on it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, *words: str, user: str | None = "kim", **more: str) -> Result:
        """Run a command; logs and errors stand apart from what it prints."""
        variables: Mapping[str, str | None] = {"DATABASE_URL": self.url, "USER": user, **more}
        return CliRunner().invoke(main, words, env=variables)

    def json(self, *words: str) -> Any:
        result = self.run(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def within(self, work: Callable[[Store], Awaitable[None]]) -> None:
        """Do something in the database, as the service does."""

        async def opened() -> None:
            store = await Store.open(self.url)
            await work(store)
            await store.close()

        run_apart(opened())


async def fill(store: Store) -> None:
    """Store three runs, a pull request and a policy."""
    pull = Pull(REPO.id, 1, SHA, REPO.id, "main", account("ann"))
    policy = StoredPolicy(REPO.id, "main", "b", POLICY, NOW)
    assert await store.commit(Plan(repo=REPO, pull=pull, policy=policy), NOW, done=None)
    done: dict[str, Any] = {"state": State.DONE, "outcome": "failure", "ended_at": NOW}
    pooled = snapshot("multi", pool=SnapshotPool("cluster", 32))
    made: tuple[Run, ...] = (
        run("unit", id=LIVE, number=1, label="npu-taken", why="a reason\x1b[31m in red"),
        run("multi", id=OVER, number=1, snapshot=pooled, **done),
    )
    await put(store, *made)
    await put(store, run("else", id=OTHER, number=2, sha="b" * 40), source="pr:2")


@pytest.fixture
def desk(database_url: str) -> Desk:
    opened = Desk(database_url)
    opened.within(fill)
    return opened


def test_runs_are_listed_by_what_is_asked(desk: Desk) -> None:
    def ids(*words: str) -> list[str]:
        return [item["id"] for item in desk.json("runs", *words)["runs"]]

    assert ids() == [OTHER, OVER, LIVE]
    assert ids("--limit", "1") == [OTHER]
    assert ids("--limit", "1", "--before", OTHER) == [OVER]
    assert ids("--before", OVER.lower()) == [LIVE]
    assert ids("--pr", "1") == [OVER, LIVE]
    assert ids("--state", "done") == [OVER]
    assert ids("--repo", "Owner/Name", "--pr", "2") == [OTHER]
    assert ids("--repo", "owner/else") == []
    assert ids("--label", "nothing") == []
    assert ids("--label", "NPU-TAKEN") == [LIVE]


def test_a_table_is_one_line_a_run_and_nothing_in_it_acts(desk: Desk) -> None:
    result = desk.run("runs", "--pr", "1")
    head, over, live = result.stdout.splitlines()
    assert head.split()[:4] == ["run", "repository", "pr", "suite"]
    assert over.split()[:6] == [OVER, "owner/name", "#1", "multi", "1", "failure"]
    assert "a reason in red" in live
    assert "\x1b" not in result.stdout


def test_one_run_is_shown_with_its_links(desk: Desk) -> None:
    told = desk.json("show", LIVE)
    assert (told["id"], told["wants"][0]["source"]) == (LIVE, "pr:1")
    home = "https://github.com/owner/name"
    assert told["links"] == {"commit": f"{home}/commit/{SHA}", "pull": f"{home}/pull/1"}
    text = desk.run("show", "01aaaa1").stdout
    for part in (LIVE, "unit, attempt 1", "#1", "queued", "pr:1", f"{home}/pull/1"):
        assert part in text


class Terminal(io.StringIO):
    """A screen that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stdout", "shown"), [(Terminal(), "01ABCD"), (io.StringIO(), "01ABCDEF")])
def test_an_id_is_cut_where_somebody_looks_alone(stdout: io.StringIO, shown: str) -> None:
    with redirect_stdout(stdout):
        assert short("01ABCDEF", 6) == shown


def test_a_narrow_terminal_folds_neither_an_id_nor_a_state(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", desk.url)
    monkeypatch.setenv("COLUMNS", "60")
    with redirect_stdout(Terminal()) as screen:
        main(["runs"], standalone_mode=False)
    words = screen.getvalue().split()
    assert {LIVE, OVER, "queued", "failure"} <= set(words)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("01AAAA", "01AAAA begins several ids: 01AAAA2, 01AAAA1"),
        ("09XX", "there is no run 09XX"),
        ("01", "too short"),
        ("%%%%", "there is no run"),
    ],
)
def test_a_run_that_is_not_named_well_is_no(desk: Desk, word: str, said: str) -> None:
    for words in (("show", word), ("retry", word), ("cancel", word, "--reason", "x")):
        result = desk.run(*words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert said in result.stderr


def test_each_run_that_can_be_cancelled_is_and_the_others_are_told(desk: Desk) -> None:
    result = desk.run("cancel", LIVE, OVER, OTHER, "--reason", "node is down", "--by", "lee\x1b[2K")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{LIVE} (unit) is asked to stop.",
        f"{OTHER} (else) is asked to stop.",
    ]
    assert f"{OVER} (multi) is done: failure" in result.stderr
    stop_request = desk.json("show", LIVE)["wish"]
    assert (stop_request["kind"], stop_request["by"]) == ("cancel", "lee (command line)")
    assert stop_request["reason"] == "cancelled by lee (command line): node is down"
    [last, first] = desk.json("audit", "--who", "lee (command line)")["audit"]
    assert (first["what"], first["rule"]) == (f"cancel unit ({LIVE}): node is down", "operator")
    assert (first["pr"], first["repo"], last["pr"]) == (1, "owner/name", 2)


def test_a_done_run_is_retried_for_whom_it_ran(desk: Desk) -> None:
    result = desk.run("retry", OVER)
    assert result.exit_code == 0, result.stderr
    new = result.stdout.split()[0]
    assert result.stdout == f"{new} is attempt 2 of multi, for pr:1.\n"
    told = desk.json("show", new)
    assert (told["state"], told["attempt"], told["origin"]) == (
        "queued",
        2,
        "kim (command line), operator",
    )
    assert told["wants"] == [{"source": "pr:1", "auto": False, "by": "kim (command line)"}]
    assert desk.run("retry", LIVE).exit_code == 1


@pytest.mark.both_databases
def test_a_pause_is_listed_and_resumed(desk: Desk) -> None:
    result = desk.run("pause", "npu-8", "--reason", "upgrade", "--until", "2099-01-01")
    assert result.exit_code == 0, result.stderr
    said = "label:npu-8 is paused by kim (command line) until 2099-01-01 00:00 UTC: upgrade"
    assert result.stdout == f"{said}. Running jobs go on; nothing new starts.\n"
    assert desk.run("pause", "pool:shared", "--reason", "x").exit_code == 0
    [one, two] = desk.json("pause", "--list")["pauses"]
    assert (one["resource"], one["by"], one["reason"]) == (
        "label:npu-8",
        "kim (command line)",
        "upgrade",
    )
    assert (one["until"], two["until"]) == ("2099-01-01T00:00:00+00:00", None)
    assert "label:npu-8" in desk.run("pause", "--list", user=None).stdout
    result = desk.run("resume", "npu-8")
    assert result.exit_code == 0
    assert "pool:shared is paused by kim (command line): x" in result.stderr
    assert desk.run("resume", "npu-8").exit_code == 1
    assert [item["what"] for item in desk.json("audit", "--since", "1h")["audit"]] == [
        "resume label:npu-8",
        "pause pool:shared: x",
        "pause label:npu-8 until 2099-01-01T00:00Z: upgrade",
    ]


def test_what_was_done_is_told_as_json_alone(desk: Desk) -> None:
    pause = desk.json("pause", "NPU-8", "--reason", "upgrade")
    assert (pause["resource"], pause["by"], pause["until"]) == (
        "label:npu-8",
        "kim (command line)",
        None,
    )
    desk.json("pause", "pool:shared", "--reason", "x")
    told = desk.json("resume", "npu-8")
    assert told["resumed"]["resource"] == "label:npu-8"
    assert [item["resource"] for item in told["pauses"]] == ["pool:shared"]
    made = desk.json("retry", OVER)
    assert (made["suite"], made["attempt"], made["wanted_by"]) == ("multi", 2, ["pr:1"])
    result = desk.run("cancel", LIVE, "09XX", "--reason", "x", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "cancelled": [{"id": LIVE, "suite": "unit"}],
        "refused": ["there is no run 09XX, or no longer"],
    }
    text = desk.run("show", made["id"]).stdout.splitlines()
    assert sum(line.split("  ")[0] == "commit" for line in text) == 1


def test_a_second_pause_says_which_one_it_replaces(desk: Desk) -> None:
    desk.run("pause", "--all", "--reason", "one")
    result = desk.run("pause", "--all", "--reason", "two", "--by", "lee")
    assert result.stdout.startswith("everything is paused by lee (command line): two.")
    assert result.stderr == "Before that, everything was paused by kim (command line): one.\n"
    assert desk.run("resume", "--all").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "--state", "lost"), "lost"),
        (("runs", "--repo", "name"), "OWNER/NAME"),
        (("runs", "--limit", "0"), "--limit"),
        (("runs", "--before", "%"), "the id of a run"),
        (("cancel", LIVE), "--reason"),
        (("cancel", "--reason", "x"), "RUN"),
        (("cancel", LIVE, "--reason", " "), "must not be empty"),
        (("pause", "--reason", "x"), "name one label or pool"),
        (("pause", "npu-8", "--all", "--reason", "x"), "name one label or pool"),
        (("pause", "npu-8"), "--reason is needed: people who wait read why"),
        (("pause", "npu-8", "--reason", "x", "--until", "soon"), "'soon' is not a time"),
        (("pause", "npu-8", "--reason", "x", "--until", "2020-01-01T10:00Z"), "is in the past"),
        (("pause", "npu-9", "--reason", "x"), "label:npu-8"),
        (("pause", "cluster", "--reason", "x"), "name label:cluster or pool:cluster"),
        (("resume",), "name one label or pool"),
        (("resume", "npu-9"), "label:npu-8"),
        (("audit", "--since", "soon"), "'soon' is not a time"),
    ],
)
def test_wrong_use_is_2_and_writes_nothing(desk: Desk, words: tuple[str, ...], said: str) -> None:
    result = desk.run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert desk.json("audit")["audit"] == []


def test_labels_and_pools_of_late_runs_are_known_by_their_bare_name(desk: Desk) -> None:
    assert desk.run("pause", "shared", "--reason", "x").stdout.startswith("pool:shared is")
    assert desk.run("pause", LABEL.name, "--reason", "x").stdout.startswith(f"label:{LABEL.name}")
    result = desk.run("pause", "label:new", "--reason", "x")
    assert result.exit_code == 0
    assert "No known policy or run has label:new." in result.stderr


def test_the_servers_own_policy_is_known_as_well(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "policy.yml"
    file.write_text(POLICY.replace("npu-8", "npu-16"))
    result = desk.run("pause", "npu-16", "--reason", "x", POLICY_FILE=str(file))
    assert result.stdout.startswith("label:npu-16 is paused"), result.stderr


def test_who_has_no_user_variable_writes_as_the_systems_user(desk: Desk) -> None:
    said = desk.run("pause", "npu-8", "--reason", "x", user=None).stdout
    assert f"by {pwd.getpwuid(os.geteuid()).pw_name} (command line)" in said


@pytest.mark.parametrize(
    "words",
    [
        ("retry", LIVE),
        ("cancel", LIVE, "--reason", "x"),
        ("resume", "npu-8"),
        ("pause", "npu-8", "--reason", "x"),
    ],
)
def test_nobody_writes_without_a_name(
    desk: Desk, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # as in a container
    result = desk.run(*words, user=None)
    assert result.exit_code == 2
    assert "--by" in result.stderr
    assert not {"--reason", "empty"} & set(result.stderr.split())


@pytest.fixture
def unreachable(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return databases that can't be used, by what is wrong with them."""
    broken = tmp_path / "broken.db"
    broken.write_text("this is no database at all" * 99)
    empty = tmp_path / "empty.db"
    empty.touch()
    yield {
        "there is no database": f"sqlite:///{tmp_path / 'none.db'}",
        "can't be reached": "postgresql+asyncpg://me:secret@127.0.0.1:9/x",
        "file is not a database": f"sqlite:///{broken}",
        "ascend-ci migrate": f"sqlite:///{empty}",
    }
    assert not (tmp_path / "none.db").exists()


def test_a_database_that_cannot_be_used_is_3_in_one_line(unreachable: dict[str, str]) -> None:
    for said, url in unreachable.items():
        for words in (("runs",), ("pause", "--all", "--reason", "x")):
            result = Desk(url).run(*words)
            assert (result.exit_code, result.stdout) == (3, ""), said
            assert said in result.stderr
            assert result.stderr.count("\n") == 1
            assert "secret" not in result.stderr


@pytest.mark.postgres
def test_a_postgres_without_that_database_is_3(postgres_server: PostgresServer) -> None:
    result = Desk(postgres_server.url("nobody")).run("runs")
    assert result.exit_code == 3
    assert "can't be reached" in result.stderr


def test_an_address_that_is_none_is_2_and_does_not_leak() -> None:
    for url in ("me:secret@host/x", "nothing://me:secret@host/x"):
        result = Desk(url).run("runs")
        assert result.exit_code == 2
        assert "DATABASE_URL" in result.stderr
        assert "secret" not in result.stderr
