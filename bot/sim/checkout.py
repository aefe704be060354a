"""`uses: actions/checkout`: a real checkout from the simulated repositories."""

from dataclasses import dataclass
from pathlib import Path

from bot.sim.git import git_env
from bot.sim.model import Repo, Run, State
from bot.sim.process import Command, JobLog, Processes, Stopping, execute

INPUTS = {"repository", "ref", "path", "fetch-depth", "persist-credentials", "token", "clean"}
INPUTS |= {"fetch-tags", "show-progress", "submodules", "lfs", "ssh-strict", "set-safe-directory"}


@dataclass(frozen=True, slots=True)
class Checkout:
    """One use of the action."""

    state: State
    run: Run
    workspace: Path
    arguments: dict[str, str]

    def problem(self) -> str | None:
        """Return the reason why it cannot be done, `None` if it can."""
        unknown = sorted(set(self.arguments) - INPUTS)
        if unknown:
            return f"actions/checkout: input {unknown[0]!r} is not simulated"
        if self._repo() is None:
            return f"repository '{self.arguments['repository']}' not found"
        if not self.folder().is_relative_to(self.workspace.resolve()):
            return f"Repository path '{self.folder()}' is not under '{self.workspace}'"
        if self.sha() is None:
            return f"A branch or tag with the name '{self._ref()}' could not be found"
        return None

    def _repo(self) -> Repo | None:
        wanted = self.arguments.get("repository") or self.run.repo.full_name
        for repo in self.state.repos.values():
            if repo.full_name.lower() == wanted.lower():
                return repo
        return None

    def _ref(self) -> str:
        repo = self._repo()
        if repo is not self.run.repo:
            return self.arguments.get("ref") or (repo.default_branch if repo else "")
        return self.arguments.get("ref") or self.run.head_sha

    def folder(self) -> Path:
        """Return the folder that the files go to."""
        return (self.workspace / (self.arguments.get("path") or ".")).resolve()

    def sha(self) -> str | None:
        """Return the commit the ref stands for: a branch, tag, SHA or `refs/pull/N/head`."""
        repo = self._repo()
        if repo is None:
            return None
        return repo.git.tip(repo.branch_ref(self._ref())) or repo.git.resolve(self._ref())

    async def perform(self, log: JobLog, stopping: Stopping, owned: Processes) -> int:
        """Fetch and check out. Return git's exit code."""
        repo, sha, folder = self._repo(), self.sha(), self.folder()
        assert repo is not None
        assert sha is not None
        folder.mkdir(parents=True, exist_ok=True)
        log.write(f"Syncing repository: {repo.full_name}")
        depth = self.arguments.get("fetch-depth", "1") or "1"
        fetch = ["fetch", "-q", "--no-tags", *([] if depth == "0" else [f"--depth={depth}"])]
        if depth == "0":
            fetch += ["origin", "+refs/heads/*:refs/remotes/origin/*", sha]
        else:
            fetch += ["origin", sha]
        remote = f"file://{repo.git.path.resolve()}"
        steps = [
            ["init", "-q", "."],
            ["config", "gc.auto", "0"],
            ["config", "remote.origin.url", remote],
            fetch,
            ["checkout", "-q", "--force", "--detach", sha],
            ["log", "-1", "--format=%H"],
        ]
        for step in steps:
            command = Command(["git", *step], folder, git_env())
            code = await execute(command, log.write, stopping=stopping, owned=owned)
            if code:
                return code
        return 0
