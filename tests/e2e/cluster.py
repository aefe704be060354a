"""A world with a scripted submitter, for what only RayJob suites can do."""

from collections.abc import Iterable
from typing import Any

from bot.sim.model import CheckRun, Pull, Run
from tests.e2e.world import POLICY, World
from tests.submitter.faulty_submitter import FaultySubmitter, Job, final, log, status

ONE_TRY = POLICY.replace("rayjob: true\n", "rayjob: true\n    infra_retries: 0\n")
WIDE = ONE_TRY.replace("slots: 2", "slots: 99").replace(
    "npus: 16, chip: a2}}", "npus: 999, chip: a2}}"
)
JOB = "rj-1"
LINES = [log(f"step {number}") for number in range(5)]
RUNNING = status("RUNNING", "Running", "RUNNING")
GOOD = [RUNNING, *LINES, final("SUCCEEDED")]


class Cluster:
    """A world with a submitter, and one pull request whose suite starts a RayJob."""

    def __init__(self, world: World, server: FaultySubmitter) -> None:
        self.world, self.server = world, server

    async def begin(self, name: str = "a") -> tuple[Pull, Run]:
        """Open a pull request and let its workflow start."""
        pull = self.world.open_pull(path=f"multi/{name}.py")
        await self.world.settle()
        run = self.world.github.runs()[-1]
        self.world.github.actions.start(run)
        await self.world.settle()
        return pull, run

    async def begin_each(self, names: Iterable[str]) -> dict[str, tuple[Pull, Run]]:
        """Open a pull request for each name at once, and let their workflows start."""
        world = self.world
        world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": WIDE})
        pulls = {
            name: world.open_pull(path=f"multi/{number}.py") for number, name in enumerate(names)
        }
        await world.settle()
        runs = {run.inputs["sha"]: run for run in world.github.runs()}
        begun = {name: (pull, runs[pull.head_sha]) for name, pull in pulls.items()}
        for _, run in begun.values():
            world.github.actions.start(run)
        await world.settle()
        await world.pass_time(10)  # writes to GitHub are paced
        return begun

    def add(self, run: Run, events: list[Any], *, job_id: str = JOB, **more: Any) -> Job:
        """Let the workflow have submitted a RayJob."""
        found = {"run_id": str(run.id), "attempt": "1", **more}
        return self.server.add(events, job_id, **found)

    async def finish(self, run: Run, conclusion: str = "success", text: str = "") -> None:
        self.world.github.actions.finish(run, conclusion, log=text)
        await self.world.settle()

    def check(self, pull: Pull) -> CheckRun:
        return self.world.check("multinode", pull.head_sha)

    async def ended(self, pull: Pull, every_s: float = 15) -> CheckRun:
        await self.world.until(lambda: self.check(pull).status == "completed", every_s=every_s)
        return self.check(pull)
