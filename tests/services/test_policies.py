"""Which policy counts: the default branch's, a listed base's own, the server's, or none."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.plan import Plan
from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Language, Policy
from bot.core.policy.selection import POLICY_TWIN, ChangedFile
from bot.ports.errors import Transient
from bot.ports.github import ChangedFiles, FileText, GitHub
from bot.ports.sandbox import StoppedBy
from bot.services.policies import CHEAP_BYTES, Broken, PolicyChecker, PolicyReader
from bot.sim import ManualClock
from bot.store import Store
from tests.databases import SqliteTemplate
from tests.services.scripted_sandbox import ScriptedSandbox

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
REPO = Repo(RepoId(7), "octo", "project", "main", 3)
PATHS = "paths: [src/**, lib/**]"
HEAD = "version: 1\nrunners: {npu: {npus: 8}}\n"


class Files:
    """The calls of GitHub that policies need, with state."""

    def __init__(self, files: dict[str, str], protected: bool | Transient = True) -> None:
        self.files = files
        self.protected = protected
        self.misnamed = ""  # the id of a file whose name is not read
        self.asked: list[str] = []
        self.asking = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def file(self, _repo: Repo, path: str, ref: str) -> FileText | None:
        if path == POLICY_TWIN:
            return FileText(b"", self.misnamed) if self.misnamed else None
        self.asked.append(ref)
        self.asking.set()
        text = self.files.get(ref)
        await self.answers.wait()
        return FileText(text.encode(), f"sha-of-{ref}") if text is not None else None

    async def is_protected(self, _repo: Repo, _branch: str) -> bool:
        if isinstance(self.protected, Transient):
            raise self.protected
        return self.protected


@pytest.fixture
async def store(sqlite_template: SqliteTemplate, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(sqlite_template.fresh(tmp_path))
    yield opened
    await opened.close()


def policies(store: Store, files: Files, default: bytes | None = None) -> PolicyReader:
    return PolicyReader(
        store,
        cast("GitHub", files),
        ManualClock(NOW),
        checker=PolicyChecker(ScriptedSandbox()),
        default=default,
    )


async def test_a_base_that_nobody_lists_uses_the_default_branchs_policy(store: Store) -> None:
    files = Files({"main": HEAD, "weak": f"{HEAD}trust: {{auto: pull}}\n"})
    found = await policies(store, files).of(REPO, "weak")
    assert isinstance(found, PolicyAt)
    assert (found.ref, found.sha, found.policy.trust.auto) == ("main", "sha-of-main", "write")
    assert files.asked == ["main"]


async def test_a_listed_base_brings_its_own_while_it_is_protected(store: Store) -> None:
    files = Files({"main": f'{HEAD}branches: ["v0.*"]\n', "v0.7": f"{HEAD}drafts: true\n"})
    found = await policies(store, files).of(REPO, "v0.7")
    assert isinstance(found, PolicyAt)
    assert (found.ref, found.policy.drafts, found.release) == ("v0.7", True, True)
    assert found.unprotected == ""
    files.protected = False
    found = await policies(store, files).of(REPO, "v0.7")
    assert isinstance(found, PolicyAt)
    assert (found.ref, found.policy.drafts, found.release) == ("main", False, False)
    assert found.unprotected == "v0.7"
    files.protected = Transient("502")
    with pytest.raises(Transient):  # no answer is neither yes nor no
        await policies(store, files).of(REPO, "v0.7")


async def test_a_broken_policy_lists_every_error(store: Store) -> None:
    files = Files({"main": f"{HEAD}moode: on\nlimit: {{}}\n"})
    found = await policies(store, files).of(REPO, "main")
    assert isinstance(found, Broken)
    assert len(found.errors) == 2


async def test_a_broken_policy_is_told_in_the_language_of_the_last_good_one(
    store: Store,
) -> None:
    files = Files({"main": f"{HEAD}report: {{language: zh}}\n"})
    reader = policies(store, files)
    assert await reader.language(REPO) is Language.EN
    await reader.of(REPO, "main")
    assert await reader.language(REPO) is Language.ZH
    files.files["main"] = f"{HEAD}moode: on\n"
    await reader.pushed(REPO, "main")
    found = await reader.of(REPO, "main")
    assert isinstance(found, Broken)
    assert found.language is Language.ZH


@pytest.mark.parametrize("default", [None, HEAD.encode()])
async def test_a_file_of_the_wrong_name_is_named_whether_or_not_the_server_has_a_policy(
    store: Store, default: bytes | None
) -> None:
    files = Files({})
    files.misnamed = "sha-of-yaml"
    found = await policies(store, files, default).of(REPO, "main")
    assert isinstance(found, Broken)
    assert [str(error) for error in found.errors] == [
        (
            "`main` has `.github/ascend-ci.yaml`, but the bot reads only `.github/ascend-ci.yml`: "
            "a maintainer has to rename it"
        )
    ]


async def test_without_a_file_the_servers_own_counts_or_none(store: Store) -> None:
    assert await policies(store, Files({})).of(REPO, "main") is None
    found = await policies(store, Files({}), HEAD.encode()).of(REPO, "main")
    assert isinstance(found, PolicyAt)
    assert found.sha == "server"


async def test_a_warm_policy_costs_no_call_until_a_push_or_ten_minutes(store: Store) -> None:
    files = Files({"main": HEAD})
    clock = ManualClock(NOW)
    read = PolicyReader(
        store, cast("GitHub", files), clock, checker=PolicyChecker(ScriptedSandbox()), default=None
    )
    await read.of(REPO, "main")
    await read.of(REPO, "main")
    assert files.asked == ["main"]
    await store.commit(Plan(forget_policy=(REPO.id, "main")), NOW, done=None)
    await read.of(REPO, "main")
    assert files.asked == ["main"] * 2
    await clock.advance(timedelta(minutes=10).total_seconds())
    await read.of(REPO, "main")
    assert files.asked == ["main"] * 3


async def test_a_push_and_its_pull_request_read_an_unknown_policy_once(store: Store) -> None:
    files = Files({"main": HEAD})
    both = policies(store, files)
    await asyncio.gather(both.of(REPO, "main"), both.of(REPO, "main"))
    assert files.asked == ["main"]


async def test_a_read_that_a_push_overtakes_is_not_kept(store: Store) -> None:
    files = Files({"main": HEAD})
    files.answers.clear()
    read = policies(store, files)
    old = asyncio.create_task(read.of(REPO, "main"))
    await files.asking.wait()
    files.files["main"] = f"{HEAD}mode: dry_run\n"
    pushed = asyncio.create_task(read.pushed(REPO, "main"))
    await asyncio.sleep(0)
    files.answers.set()
    await asyncio.gather(old, pushed)
    found = await read.of(REPO, "main")
    assert isinstance(found, PolicyAt)
    assert found.policy.mode.value == "dry_run"


async def test_a_stored_row_is_read_without_a_call(store: Store) -> None:
    files = Files({"main": HEAD})
    known = policies(store, files)
    found = await known.of(REPO, "main")
    row = await store.policies.get(REPO.id, "main")
    assert row is not None
    assert isinstance(found, PolicyAt)
    # A row does not know for which base branch it is read.
    assert await known.read(row) == replace(found, base="")
    assert files.asked == ["main"]


LONG = HEAD + "#" * CHEAP_BYTES


async def test_a_short_plain_policy_is_checked_at_once_and_a_dear_one_in_the_sandbox() -> None:
    sandbox = ScriptedSandbox()
    checker = PolicyChecker(sandbox)
    assert await checker.policy(HEAD.encode(), "push") is not None
    assert sandbox.calls == []
    hidden = '"log": {"signa\\x74ures": []}\n'
    for more in ("log: {signatures: []}\n", hidden, "drafts: &a true\n", "#" * CHEAP_BYTES):
        assert await checker.policy(f"{HEAD}{more}".encode(), "push") is not None, more
    assert sandbox.calls == [("push", "check_policy")] * 4


async def test_a_policy_that_two_events_bring_is_checked_once() -> None:
    sandbox = ScriptedSandbox()
    checker = PolicyChecker(sandbox)
    await asyncio.gather(*(checker.check(LONG.encode(), f"pull {n}") for n in range(2)))
    await checker.compare(HEAD.encode(), LONG.encode(), NOW.date(), "pull 1")
    await checker.compare(HEAD.encode(), LONG.encode(), NOW.date(), "pull 1")
    assert [name for _, name in sandbox.calls] == ["check_policy", "compare"]


@pytest.mark.parametrize(
    ("why", "words"),
    [(StoppedBy.TIME, "more processor time than a policy may"), (StoppedBy.MEMORY, "more memory")],
)
async def test_a_policy_that_costs_too_much_is_an_error_and_not_tried_again(
    store: Store, why: StoppedBy, words: str
) -> None:
    sandbox = ScriptedSandbox(why, why)
    checker = PolicyChecker(sandbox)
    read = PolicyReader(
        store,
        cast("GitHub", Files({"main": LONG})),
        ManualClock(NOW),
        checker=checker,
        default=None,
    )
    for _ in range(2):
        found = await read.of(REPO, "main")
        assert isinstance(found, Broken)
        assert words in found.errors[0]
    compared = await checker.compare(None, LONG.encode(), NOW.date(), "pull 1")
    assert words in compared.errors[0].message
    assert len(sandbox.calls) == 2


async def test_a_check_whose_process_died_is_unknown_and_tried_with_the_next_event() -> None:
    checker = PolicyChecker(ScriptedSandbox(StoppedBy.DIED))
    (error,) = cast("PolicyErrors", (await checker.check(LONG.encode(), "push")).result).errors
    assert "the next event tries again" in error.message
    assert await checker.policy(LONG.encode(), "push") is not None


async def test_many_files_are_compared_in_the_sandbox_and_else_all_paths_count() -> None:
    policy = load_policy(f"{HEAD}suites: {{unit: {{workflow: u.yml, runners: [npu], {PATHS}}}}}\n")
    assert isinstance(policy, Policy)
    sandbox = ScriptedSandbox(0.0, StoppedBy.MEMORY)
    checker = PolicyChecker(sandbox)
    few, many = (
        ChangedFiles(tuple(ChangedFile(f".github/{'x' * 3000}/{n}") for n in range(most)))
        for most in (10, 3000)
    )
    assert not (await checker.select(policy, few, "pull 1")).selected
    assert not sandbox.calls
    compared = await checker.select(policy, many, "pull 1")
    assert (compared.selected, len(compared.protected)) == ((), 3000)
    stopped = await checker.select(policy, many, "pull 1")
    assert (stopped.selected, len(stopped.protected)) == (("unit",), 3000)
    assert "processor time or memory" in stopped.choices[0].reason
    assert [owner for owner, _ in sandbox.calls] == ["pull 1", "pull 1"]
