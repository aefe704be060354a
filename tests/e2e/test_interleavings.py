"""Random interleavings of people, pushes, ends and bad webhooks: what must hold in every one."""

import asyncio
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.sim import NewPull
from bot.sim.model import Pull, Run
from tests.databases import SqliteTemplate
from tests.e2e.world import World, open_world

MAX_PULLS = 3
MAY_APPROVE = {"maintainer", "writer"}
WHO = st.sampled_from(["maintainer", "writer", "triager", "stranger"])
WORDS = st.sampled_from(
    ["", " unit", " nightly-grpo", " rerun", " rerun unit", " cancel", " cancel unit", " approve"]
)
WHICH = st.integers(0, 9)
GIVES_RESULT = {"success": "success", "failure": "failure", "cancelled": "failure"}


class Interleavings(RuleBasedStateMachine):
    """Steps that a day on GitHub is made of; the last one heals all and looks at the end."""

    template: ClassVar[SqliteTemplate]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.world: World = self.runner.run(self._open())
        self.pulls: list[Pull] = []
        self.allowed: set[str] = set()  # commits that may run, by who brought or approved them
        self.files = 0

    async def _open(self) -> World:
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        url = self.template.fresh(folder)
        return await self.stack.enter_async_context(open_world(folder, url))

    def _do(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def _pull(self, which: int) -> Pull:
        return self.pulls[which % len(self.pulls)]

    def _brought(self, pull: Pull, by: str) -> None:
        if by != "stranger" and not pull.is_fork:
            self.allowed.add(pull.head_sha)

    def _open_runs(self) -> list[Run]:
        return [run for run in self.world.github.runs() if run.status != "completed"]

    @precondition(lambda self: len(self.pulls) < MAX_PULLS)
    @rule(trusted=st.booleans())
    def open_pull(self, *, trusted: bool) -> None:
        """Open a pull request, of a writer or of a stranger's fork."""
        self.files += 1
        files = {f"verl/{self.files}.py": str(self.files)}
        people = self.world.github.people
        if trusted:
            pull = people.open_pull("writer", files)
        else:
            pull = people.open_pull("stranger", files, NewPull(fork=True))
        self.pulls.append(pull)
        self._brought(pull, "writer" if trusted else "stranger")

    @precondition(lambda self: self.pulls)
    @rule(which=WHICH)
    def push(self, which: int) -> None:
        """Push to an open pull request."""
        pull = self._pull(which)
        if pull.state != "open":
            return
        self.files += 1
        author = "stranger" if pull.is_fork else "writer"
        self.world.github.people.push(pull, {"verl/more.py": str(self.files)})
        self._brought(pull, author)

    @precondition(lambda self: self.pulls)
    @rule(which=WHICH)
    def close_or_reopen(self, which: int) -> None:
        """Close an open pull request; reopen a closed one."""
        pull = self._pull(which)
        people = self.world.github.people
        (people.close if pull.state == "open" else people.reopen)(pull)

    @precondition(lambda self: self.pulls)
    @rule(which=WHICH, who=WHO, words=WORDS)
    def comment(self, which: int, who: str, words: str) -> None:
        """Give a command; who may approve a stranger's commit does so for its head of now."""
        pull = self._pull(which)
        if who in MAY_APPROVE:
            self.allowed.add(pull.head_sha)
        self.world.github.people.comment(pull, who, f"/ascend-e2e{words}")

    @precondition(lambda self: self.pulls)
    @rule(which=WHICH, who=WHO, button=st.sampled_from(["approve", "rerun_failed"]))
    def press(self, which: int, who: str, button: str) -> None:
        """Press a button of the newest gate of a head, where it has that button."""
        pull = self._pull(which)
        gate = self.world.github.check("ascend-ci", pull.head_sha)
        actions = [action["identifier"] for action in gate.actions] if gate else []
        if gate is None or gate.status != "completed" or button not in actions:
            return
        if who in MAY_APPROVE:
            self.allowed.add(gate.head_sha)
        self.world.github.people.press(gate.id, button, who)

    @precondition(lambda self: self._open_runs())
    @rule(which=WHICH, conclusion=st.sampled_from(["success", "failure"]))
    def end(self, which: int, conclusion: str) -> None:
        """Let a workflow run end."""
        runs = self._open_runs()
        self._finish(runs[which % len(runs)], conclusion)

    def _finish(self, run: Run, conclusion: str) -> None:
        actions = self.world.github.actions
        if run.status == "queued":
            actions.start(run)
        actions.finish(run, conclusion, log="AssertionError: 1 != 2\n")

    @rule(seconds=st.sampled_from([1, 30, 400]))
    def time_passes(self, seconds: int) -> None:
        """Let time pass while the bot works."""
        self._do(self.world.pass_time(seconds))

    @rule(what=st.sampled_from(["hold", "drop", "duplicate"]))
    def spoil(self, what: str) -> None:
        """Hold, lose or double what GitHub sends next."""
        getattr(self.world.github.deliveries, what)()

    @rule(seed=st.integers(0, 99))
    def shuffle(self, seed: int) -> None:
        """Send what was held, in another order."""
        deliveries = self.world.github.deliveries
        deliveries.shuffle(seed)
        deliveries.release()
        self._do(self.world.settle())

    @rule()
    def sweep(self) -> None:
        """Let the safety nets look."""
        self._do(self.world.sweep())

    @rule()
    def kill(self) -> None:
        """Drop the bot as kill -9 does and start another."""
        self._do(self.world.restart())

    @invariant()
    def nothing_runs_that_may_not(self) -> None:
        """No workflow run was dispatched on a commit that nobody with the right stands behind."""
        dispatched = {str(run.inputs["sha"]) for run in self.world.github.runs()}
        assert dispatched <= self.allowed

    @invariant()
    def nothing_is_dispatched_twice(self) -> None:
        """Each id of ours was dispatched once; a suite has one open run on a commit."""
        runs = self.world.github.runs()
        ids = Counter(run.inputs["ascend_ci"] for run in runs)
        assert all(count == 1 for count in ids.values()), ids
        labels = Counter((run.inputs["sha"], run.inputs["runner"]) for run in self._open_runs())
        assert all(count == 1 for count in labels.values()), labels

    def teardown(self) -> None:
        """Heal everything, let all end, and look whether GitHub shows what is true."""
        try:
            self._do(self._heal())
            self._everything_has_ended()
            for pull in self.pulls:
                if pull.state == "open":
                    self._gate_agrees(pull)
        finally:
            self.runner.run(self.stack.aclose())
            self.runner.close()

    async def _heal(self) -> None:
        self.world.github.deliveries.release()
        for _ in range(8):
            await self.world.pass_time(320)
            await self.world.sweep()
        for _ in range(20):
            for run in self._open_runs():
                self._finish(run, "success")
            await self.world.pass_time(70)
            await self.world.sweep()
            if not self._open_runs() and not self._unfinished():
                return

    def _unfinished(self) -> list[str]:
        checks = self.world.github.check_runs()
        newest = {(check.name, check.head_sha): check for check in checks}
        return [f"{c.name} {c.title}" for c in newest.values() if c.status != "completed"]

    def _everything_has_ended(self) -> None:
        assert not self._open_runs()
        assert not self._unfinished()

    def _gate_agrees(self, pull: Pull) -> None:
        gate = self.world.gate(pull.head_sha)
        check = self.world.github.check("Ascend / unit", pull.head_sha)
        if check is None:
            assert gate.conclusion == "action_required", gate.title
            assert pull.head_sha not in self.allowed or pull.is_fork
        else:
            assert gate.conclusion == GIVES_RESULT[str(check.conclusion)], (check.title, gate.title)


@pytest.fixture(autouse=True)
def _template(sqlite_template: SqliteTemplate) -> None:
    Interleavings.template = sqlite_template


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=4,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
