"""What people and runners do on GitHub during a soak, and what must be true whatever happened."""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from bot.core.report.reply import reply_marker
from bot.sim import SimGitHub
from bot.sim.deliveries import Delivery
from bot.sim.model import CheckRun, Comment, Pull, Run
from tests.e2e.world import FILES, GATE, LABEL, PEOPLE

SUITE = "Ascend / unit"
SLOTS = 12  # of the label: few, so that runs have to wait at times
AUTHORS = ("maintainer", "writer")
ENDS = ("success", "success", "failure")
TROUBLE = (
    ("502", "*", "*"),
    ("500", "PATCH", "*/check-runs/*"),
    ("503", "GET", "*"),
    ("drop", "*", "*"),
    ("lost", "POST", "*/dispatches"),
    ("lost", "POST", "*/check-runs"),
    ("lost", "POST", "*/rerun-failed-jobs"),
    ("secondary", "*", "*"),
    ("401", "*", "/repos/*"),
)


@dataclass
class Crowd:
    """Pull requests, runs, and who asked for what; all by one seed."""

    github: SimGitHub
    dice: random.Random
    pulls: list[Pull] = field(default_factory=list)
    may_start: Counter[str] = field(default_factory=Counter)  # runs that a commit may have
    asked: list[Comment] = field(default_factory=list)  # comments with a command
    cancelled: dict[str, datetime] = field(default_factory=dict)  # commits: when it was asked for
    seen: set[tuple[int, int]] = field(default_factory=set)  # run, attempt
    broken: set[str] = field(default_factory=set)  # what must never happen, and did
    deeds: list[str] = field(default_factory=list)  # what people did and runners started, and when

    def prepare(self) -> None:
        """Make the repository, its people and its runners."""
        policy = FILES[".github/ascend-ci.yml"].replace("slots: 2", f"slots: {SLOTS}")
        policy = policy.replace(
            "debounce_seconds: 0", "debounce_seconds: 0, commands_per_minute: 999"
        )
        self.github.create_app()
        self.github.create_repo("octo/project", {**FILES, ".github/ascend-ci.yml": policy})
        self.github.people.protect("main")
        self.github.install("octo")
        for login, level in PEOPLE.items():
            self.github.grant(login, level)
        self.github.actions.runners.register(LABEL, 20)

    def act(self) -> None:
        """Let somebody do something, and runners go on."""
        deeds = (self._open, self._push, self._ask, self._cancel, self._close, self._rerun)
        self.dice.choices(deeds, weights=(40, 15, 10, 10, 10, 10))[0]()
        self._work(0.4)

    def stumble(self) -> None:
        """Let the next calls of some kind fail."""
        kind, method, path = self.dice.choice(TROUBLE)
        times = self.dice.randint(1, 4)
        self.github.fault(kind, method, path, times=times, retry_after_s=3)

    def loses(self, delivery: Delivery) -> bool:
        """Return True if a webhook does not arrive; the bot has to ask for it again."""
        del delivery
        return self.dice.random() < 0.1

    def finish(self) -> None:
        """Let the runners end what is left."""
        self._work(1.0)

    def _tell(self, what: str, number: int | None, sha: str) -> None:
        """Write down what happened, for whoever looks into a wrong end."""
        at = self.github.state.clock.now().strftime("%H:%M:%S.%f")
        self.deeds.append(f"{at} {what} #{number} {sha[:7]}")

    def _work(self, chance: float) -> None:
        self._count_slots()
        for run in self.github.runs():
            self._note(run)
            if run.status == "completed" or self.dice.random() > chance:
                continue
            if run.cancelled:
                self.github.actions.finish(run, "cancelled")
            elif run.status == "queued":
                self.github.actions.start(run)
            else:
                end = self.dice.choice(ENDS)
                self.github.actions.finish(
                    run, end, log="" if end == "success" else "ValueError: x"
                )

    def _count_slots(self) -> None:
        """Look whether more runs than the label's slots go on."""
        going = [run for run in self.github.runs() if run.status != "completed"]
        if len(going) > SLOTS:
            self.broken.add(f"{len(going)} runs on {SLOTS} slots")

    def _note(self, run: Run) -> None:
        """Look at a run when it is new: nothing may be started twice."""
        key = (run.id, run.attempt)
        if key in self.seen:
            return
        self.seen.add(key)
        sha = run.inputs["sha"]
        self._tell(f"run {run.id}/{run.attempt} {run.inputs['ascend_ci']}", None, sha)
        same = [one for one in self.github.runs() if one.inputs["sha"] == sha]
        tries = sum(one.attempt for one in same)
        if sum(one.inputs["ascend_ci"] == run.inputs["ascend_ci"] for one in same) > 1:
            self.broken.add(f"dispatched twice: {run.inputs['ascend_ci']}")
        if sum(one.status != "completed" for one in same) > 1:
            self.broken.add(f"two runs at once on {sha[:7]}")
        if tries > self.may_start[sha]:
            self.broken.add(f"{tries} starts on {sha[:7]}, {self.may_start[sha]} were asked for")

    def _some(self, state: str = "open") -> Pull | None:
        found = [pull for pull in self.pulls[-30:] if pull.state == state]
        return self.dice.choice(found) if found else None

    def _open(self) -> None:
        number = len(self.pulls)
        pull = self.github.people.open_pull(
            self.dice.choice(AUTHORS), {f"verl/{number}.py": str(number)}
        )
        self.pulls.append(pull)
        self._tell("open", pull.number, pull.head_sha)
        self.may_start[pull.head_sha] += 1

    def _push(self) -> None:
        if pull := self._some():
            sha = self.github.people.push(pull, {f"verl/{len(self.may_start)}.py": "more"})
            self.may_start[sha] += 1
            self._tell("push", pull.number, sha)

    def _ask(self) -> None:
        if pull := self._some():
            self.may_start[pull.head_sha] += 1
            self._command(pull, "/ascend-e2e unit")

    def _cancel(self) -> None:
        if pull := self._some():
            self.cancelled[pull.head_sha] = self.github.state.clock.now()
            self._command(pull, "/ascend-e2e cancel")

    def _command(self, pull: Pull, text: str) -> None:
        self.asked.append(self.github.people.comment(pull, "maintainer", text))
        self._tell(f"comment {self.asked[-1].id} {text!r}", pull.number, pull.head_sha)

    def _close(self) -> None:
        if pull := self._some("closed"):
            self.may_start[pull.head_sha] += 1
            self.github.people.reopen(pull)
            self._tell("reopen", pull.number, pull.head_sha)
        elif pull := self._some():
            self.github.people.close(pull)
            self._tell("close", pull.number, pull.head_sha)

    def _rerun(self) -> None:
        """Click *Re-run* beside the newest check run of a suite."""
        pull = self._some()
        check = pull and self.check(pull)
        if pull and check and check.status == "completed":
            self.may_start[pull.head_sha] += 1
            self.github.people.rerun_check(check, "maintainer")
            self._tell(f"click on {check.external_id}", pull.number, pull.head_sha)

    def check(self, pull: Pull, name: str = SUITE) -> CheckRun | None:
        """Return the newest check run of that name on a pull request's head."""
        return self.github.check(name, pull.head_sha)

    def wrong(self) -> list[str]:
        """Return what does not agree with GitHub's runs: empty when all came right."""
        for run in self.github.runs():
            self._note(run)
        found = [text for pull in self.pulls for text in self._wrong_of(pull)]
        return [*found, *self._wrong_checks(), *self._wrong_replies()]

    def _wrong_checks(self) -> list[str]:
        """Return check runs that stay open, or that were made twice."""
        checks = [one for one in self.github.state.checks.values() if one.external_id]
        made = Counter(check.external_id for check in checks)
        opened = [one for one in checks if one.status != "completed"]
        return [
            *(f"{one.name} of {one.head_sha[:7]} stays {one.status}" for one in opened),
            *(f"{count} check runs for {name}" for name, count in made.items() if count > 1),
        ]

    def _wrong_replies(self) -> list[str]:
        """Return commands without an answer, and with more than one."""
        said = [one.body for one in self.github.state.comments.values() if one.app]
        replies = Counter(
            one.id for one in self.asked for text in said if reply_marker(one.id) in text
        )
        return [
            f"{replies[one.id]} replies to {one.body!r} in #{one.pull.number}"
            for one in self.asked
            if replies[one.id] != 1
        ]

    def _wrong_of(self, pull: Pull) -> list[str]:
        runs = [run for run in self.github.runs() if run.inputs["sha"] == pull.head_sha]
        name = f"#{pull.number} ({pull.head_sha[:7]})"
        if any(run.status != "completed" for run in runs):
            return [f"{name}: a run goes on"]
        if pull.state != "open":
            return []
        check, gate = self.check(pull), self.check(pull, GATE)
        if check is None or gate is None:
            return [f"{name}: no check run"]
        ends = (check.status, check.conclusion, gate.status, gate.conclusion == "success")
        may_be = self._may_end(pull.head_sha, runs)
        if not may_be:
            return [f"{name}: nothing was started: {check.title} / {gate.title}"]
        wanted = [("completed", end, "completed", end == "success") for end in sorted(may_be)]
        said = f"{ends}, should be {wanted}: {check.title} / {gate.title}"
        return [] if ends in wanted else [f"{name}: {said}"]

    def _may_end(self, sha: str, runs: list[Run]) -> set[str]:
        """Return how a suite may have ended: as its last run, or cancelled while it waited."""
        last = max(runs, key=lambda run: run.started_at) if runs else None
        ends = {last.conclusion or ""} if last else set()
        at = self.cancelled.get(sha)
        if at and (last is None or last.started_at <= at):
            ends.add("cancelled")
        return ends
