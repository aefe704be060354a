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

    async def perform(self, told: JobLog, stopping: Stopping, owned: Processes) -> bool:
        """Fetch and check out. Return False for a problem, which the log tells."""
        folder = (self.workspace / (self.arguments.get("path") or ".")).resolve()
        wanted = self.arguments.get("repository") or self.run.repo.full_name
        repos = self.state.repos.values()
        repo = next((one for one in repos if one.full_name.lower() == wanted.lower()), None)
        ref = self.arguments.get("ref") or self._ref_of(repo)
        # A branch, tag, SHA or `refs/pull/N/head`.
        sha = (repo.git.tip(repo.branch_ref(ref)) or repo.git.resolve(ref)) if repo else None
        if unknown := sorted(set(self.arguments) - INPUTS):
            told.error(f"actions/checkout: input {unknown[0]!r} is not simulated")
        elif repo is None:
            told.error(f"repository '{wanted}' not found")
        elif not folder.is_relative_to(self.workspace.resolve()):
            told.error(f"Repository path '{folder}' is not under '{self.workspace}'")
        elif sha is None:
            told.error(f"A branch or tag with the name '{ref}' could not be found")
        else:
            told.write(f"Syncing repository: {repo.full_name}")
            folder.mkdir(parents=True, exist_ok=True)
            for step in self._steps(repo, sha):
                command = Command(["git", *step], folder, git_env())
                code = await execute(command, told.write, stopping=stopping, owned=owned)
                if code:
                    told.error(f"The process 'git' failed with exit code {code}")
                    return False
            return True
        return False

    def _ref_of(self, repo: Repo | None) -> str:
        if repo is self.run.repo:
            return self.run.head_sha
        return repo.default_branch if repo else ""

    def _steps(self, repo: Repo, sha: str) -> list[list[str]]:
        depth = self.arguments.get("fetch-depth", "1") or "1"
        fetch = ["fetch", "-q", "--no-tags", *([] if depth == "0" else [f"--depth={depth}"])]
        every = ["+refs/heads/*:refs/remotes/origin/*"] if depth == "0" else []
        return [
            ["init", "-q", "."],
            ["config", "gc.auto", "0"],
            ["config", "remote.origin.url", f"file://{repo.git.path.resolve()}"],
            [*fetch, "origin", *every, sha],
            ["checkout", "-q", "--force", "--detach", sha],
            ["log", "-1", "--format=%H"],
        ]
