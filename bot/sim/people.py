"""The deeds of people on GitHub's pages and with git. Each sends its events."""

from dataclasses import dataclass
from typing import Any

from bot.sim.actions import Actions
from bot.sim.checks import Checks
from bot.sim.errors import CannotError
from bot.sim.git import ZERO, Files
from bot.sim.model import App, CheckRun, Comment, Pull, Push, Repo, Run, State, User
from bot.sim.payloads import Json
from bot.sim.shapes import label_json, simple_commit
from bot.sim.webhooks import Webhooks


@dataclass(frozen=True, slots=True)
class NewPull:
    """The parts of a new pull request. `fork=True` commits in the author's fork."""

    title: str = "Change"
    body: str = ""
    branch: str | None = None
    base: str | None = None
    fork: bool = False
    draft: bool = False
    repo: str | None = None  # the first one
    pusher: str = ""  # of the branch; "": who opens the pull request


class People:
    """Deeds of users, by login. `repo=None` is the first repository."""

    def __init__(self, state: State, hooks: Webhooks, checks: Checks, actions: Actions) -> None:
        self._state = state
        self._hooks = hooks
        self._checks = checks
        self._actions = actions

    def fork(self, owner: str, repo: str | Repo | None = None) -> Repo:
        """Return a user's fork, a new one if there is none."""
        base, user = self._state.repo(repo), self._state.user(owner)
        for one in self._state.repos.values():
            if one.parent is base and one.owner is user:
                return one
        fork = Repo(self._state.new_id(), user, base.name, base.git, self._state.clock.now())
        fork.parent, fork.default_branch = base, base.default_branch
        self._state.repos[fork.id] = fork
        return fork

    def open_pull(self, author: str, files: Files, new: NewPull | None = None) -> Pull:
        """Commit files on a new branch (or the author's fork) and open a pull request.

        Without files it is of a branch that is there already.
        """
        new = new or NewPull()
        base, user = self._state.repo(new.repo), self._state.user(author)
        now = self._state.clock.now()
        base_ref = new.base or base.default_branch
        base_sha = self._tip(base, base_ref)
        number = base.next_number
        base.next_number += 1
        branch = new.branch or f"{user.login}-patch-{number}"
        head = self.fork(author, base) if new.fork else base
        pusher = self._state.user(new.pusher or author)
        tip = None if files else base.git.tip(head.branch_ref(branch))
        sha = tip or base.git.commit([base_sha], files, new.title, pusher.login, now)
        pull = Pull(
            id=self._state.new_id(),
            number=number,
            repo=base,
            author=user,
            title=new.title,
            body=new.body,
            base_ref=base_ref,
            base_sha=base_sha,
            head_repo=head,
            head_label=f"{head.owner.login}:{branch}",
            head_ref=branch,
            head_sha=sha,
            created_at=now,
            updated_at=now,
            is_fork=new.fork,
            draft=new.draft,
        )
        self._state.pulls[(base.id, number)] = pull
        if tip:
            base.git.set_ref(f"refs/pull/{number}/head", sha)
        else:
            self._move_head(pull, ZERO, sha, pusher)
        self._hooks.pull_request(pull, "opened", user)
        return pull

    def _tip(self, repo: Repo, branch: str) -> str:
        sha = repo.git.tip(repo.branch_ref(branch))
        if sha is None:
            raise CannotError(f"{repo.full_name} has no branch {branch!r}")
        return sha

    def _move_head(
        self, pull: Pull, before: str, after: str, by: User, *, forced: bool = False
    ) -> None:
        head = pull.head_repo
        if head is not None:
            pull.repo.git.set_ref(head.branch_ref(pull.head_ref), after)
            now = self._state.clock.now()
            push = Push(head, f"refs/heads/{pull.head_ref}", before, after, by, now, forced)
            self._state.pushes.append(push)
            if not pull.is_fork:  # pushes to a fork are no events of the base repository
                self._hooks.push(push)
        pull.repo.git.set_ref(f"refs/pull/{pull.number}/head", after)
        pull.head_sha = after
        if not pull.is_fork:
            self._checks.announce(pull.repo, after, pull.head_ref, before, by)

    def push(
        self, pull: int | Pull, files: Files, *, by: str | None = None, message: str = "More"
    ) -> str:
        """Add a commit to a pull request. Return its SHA."""
        found = self._state.pull(pull)
        user = self._state.user(by or found.author)
        now = self._state.clock.now()
        sha = found.repo.git.commit([found.head_sha], files, message, user.login, now)
        self._synchronize(found, sha, user, forced=False)
        return sha

    def force_push(
        self, pull: int | Pull, sha: str | None = None, *, files: Files | None = None, by: str = ""
    ) -> str:
        """Replace the head by an earlier SHA, or by one new commit with `files` on the base."""
        found = self._state.pull(pull)
        user = self._state.user(by or found.author)
        if sha is None:
            now, git = self._state.clock.now(), found.repo.git
            sha = git.commit([found.base_sha], files or {}, found.title, user.login, now)
        self._synchronize(found, sha, user, forced=True)
        return sha

    def _synchronize(self, pull: Pull, sha: str, by: User, *, forced: bool) -> None:
        if pull.head_repo is None:
            raise CannotError("the fork of this pull request is gone")
        before = pull.head_sha
        pull.updated_at = self._state.clock.now()
        self._move_head(pull, before, sha, by, forced=forced)
        if pull.state == "open":
            self._hooks.pull_request(pull, "synchronize", by, before=before, after=sha)

    def delete_fork(self, pull: int | Pull) -> None:
        """Delete the fork of a pull request. Its `head.repo` becomes null."""
        found = self._state.pull(pull)
        if not found.is_fork or found.head_repo is None:
            raise CannotError("this pull request has no fork")
        del self._state.repos[found.head_repo.id]
        for other in self._state.pulls.values():
            if other is not found and other.head_repo is found.head_repo:
                other.head_repo = None
        found.head_repo = None

    def _touch(self, pull: Pull, action: str, by: str, **more: Any) -> Pull:
        pull.updated_at = self._state.clock.now()
        self._hooks.pull_request(pull, action, self._state.user(by or pull.author), **more)
        return pull

    def close(self, pull: int | Pull, by: str = "") -> Pull:
        """Close without merging."""
        found = self._state.pull(pull)
        found.state, found.closed_at = "closed", self._state.clock.now()
        return self._touch(found, "closed", by)

    def reopen(self, pull: int | Pull, by: str = "") -> Pull:
        """Open a closed pull request again."""
        found = self._state.pull(pull)
        if found.merged_at is not None:
            raise CannotError("a merged pull request cannot be reopened")
        found.state, found.closed_at = "open", None
        return self._touch(found, "reopened", by)

    def merge(self, pull: int | Pull, by: str) -> str:
        """Merge with a merge commit. Return its SHA."""
        found, user = self._state.pull(pull), self._state.user(by)
        repo, now = found.repo, self._state.clock.now()
        before = self._tip(repo, found.base_ref)
        message = f"Merge pull request #{found.number}"
        sha = repo.git.merge(before, found.head_sha, message, user.login, now)
        found.state, found.closed_at, found.merged_at = "closed", now, now
        found.merged_by, found.merge_sha = user, sha
        self._move_branch(repo, found.base_ref, sha, user)
        self._touch(found, "closed", by)
        return sha

    def draft(self, pull: int | Pull, by: str = "") -> Pull:
        """Convert to draft."""
        found = self._state.pull(pull)
        found.draft = True
        return self._touch(found, "converted_to_draft", by)

    def ready(self, pull: int | Pull, by: str = "") -> Pull:
        """Mark as ready for review."""
        found = self._state.pull(pull)
        found.draft = False
        return self._touch(found, "ready_for_review", by)

    def retarget(self, pull: int | Pull, base: str, by: str = "") -> Pull:
        """Change the base branch. The changed files are others then, without a push."""
        found = self._state.pull(pull)
        old = {"ref": {"from": found.base_ref}, "sha": {"from": found.base_sha}}
        found.base_ref, found.base_sha = base, self._tip(found.repo, base)
        return self._touch(found, "edited", by, changes={"base": old})

    def edit_title(self, pull: int | Pull, title: str, by: str = "") -> Pull:
        """Change the title."""
        found = self._state.pull(pull)
        old, found.title = found.title, title
        return self._touch(found, "edited", by, changes={"title": {"from": old}})

    def label(self, pull: int | Pull, name: str, by: str = "") -> Pull:
        """Put a label on."""
        found = self._state.pull(pull)
        if name not in found.labels:
            found.labels.append(name)
        shown = label_json(self._state, found.repo, name)
        return self._touch(found, "labeled", by, label=shown)

    def unlabel(self, pull: int | Pull, name: str, by: str = "") -> Pull:
        """Take a label off."""
        found = self._state.pull(pull)
        found.labels.remove(name)
        shown = label_json(self._state, found.repo, name)
        return self._touch(found, "unlabeled", by, label=shown)

    def comment(self, pull: int | Pull, by: str, body: str) -> Comment:
        """Write a comment."""
        return self.write_comment(self._state.pull(pull), self._state.user(by), body)

    def write_comment(self, pull: Pull, user: User, body: str, app: App | None = None) -> Comment:
        """Write a comment, as an app when one is given."""
        now = self._state.clock.now()
        comment = Comment(self._state.new_id(), pull, user, body, now, now, app)
        self._state.comments[comment.id] = comment
        self._hooks.issue_comment(comment, "created", user)
        return comment

    def edit_comment(self, comment: Comment, body: str, by: str | User) -> None:
        """Change a comment."""
        old, comment.body = comment.body, body
        comment.updated_at = self._state.clock.now()
        changes = {"body": {"from": old}}
        self._hooks.issue_comment(comment, "edited", self._state.user(by), changes=changes)

    def delete_comment(self, comment: Comment, by: str) -> None:
        """Delete a comment."""
        del self._state.comments[comment.id]
        self._hooks.issue_comment(comment, "deleted", self._state.user(by))

    def push_branch(
        self, by: str, files: Files, branch: str | None = None, repo: str | Repo | None = None
    ) -> str:
        """Push a commit to a branch (default: the default branch, where new ones start)."""
        found, user = self._state.repo(repo), self._state.user(by)
        name = branch or found.default_branch
        tip = found.git.tip(found.branch_ref(name)) or self._tip(found, found.default_branch)
        sha = found.git.commit([tip], files, f"Push to {name}", user.login, self._state.clock.now())
        self._move_branch(found, name, sha, user)
        return sha

    def _move_branch(self, repo: Repo, branch: str, sha: str, by: User) -> None:
        ref = repo.branch_ref(branch)
        before = repo.git.tip(ref) or ZERO
        repo.git.set_ref(ref, sha)
        now = self._state.clock.now()
        push = Push(repo, f"refs/heads/{branch}", before, sha, by, now)
        self._state.pushes.append(push)
        self._hooks.push(push)
        self._checks.announce(repo, sha, branch, before, by)

    def protect(self, *globs: str, repo: str | Repo | None = None) -> None:
        """Protect the branches that these globs match, and no others."""
        self._state.repo(repo).protected = set(globs)

    def rerun_check(self, check: int | CheckRun, by: str) -> None:
        """Press *Re-run* on a check run."""
        self._checks.rerun(self._check(check), self._state.user(by))

    def rerun_suite(self, check: int | CheckRun, by: str) -> None:
        """Press *Re-run all checks* on the suite of a check run."""
        self._checks.rerun_suite(self._check(check).suite, self._state.user(by))

    def press(self, check: int | CheckRun, identifier: str, by: str) -> None:
        """Press one of the app's buttons on a completed check run."""
        self._checks.press(self._check(check), identifier, self._state.user(by))

    def rerun_actions(self, run: int | Run, by: str, *, failed_only: bool = False) -> Run:
        """Press *Re-run jobs* in the Actions tab. Only workflow events are sent."""
        found = run if isinstance(run, Run) else self._state.runs[run]
        return self._actions.rerun(found, self._state.user(by), failed_only=failed_only)

    def _check(self, check: int | CheckRun) -> CheckRun:
        if isinstance(check, CheckRun):
            return check
        found = self._state.checks.get(check)
        if found is None:
            raise CannotError(f"no check run {check}")
        return found

    def merge_group(self, pull: int | Pull, by: str) -> Json:
        """Put a pull request into the merge queue. GitHub asks for checks on the merge commit."""
        found, user, now = self._state.pull(pull), self._state.user(by), self._state.clock.now()
        repo = found.repo
        base = self._tip(repo, found.base_ref)
        message = f"Merge pull request #{found.number}"
        sha = repo.git.merge(base, found.head_sha, message, user.login, now)
        ref = f"refs/heads/gh-readonly-queue/{found.base_ref}/pr-{found.number}-{found.head_sha}"
        repo.git.set_ref(ref, sha)
        group = {
            "head_sha": sha,
            "head_ref": ref,
            "base_sha": base,
            "base_ref": f"refs/heads/{found.base_ref}",
            "head_commit": simple_commit(repo.git.info(sha)),
        }
        self._hooks.merge_group(repo, group, "checks_requested", user)
        return group

    def destroy_group(
        self, group: Json, by: str, reason: str = "dequeued", repo: str | Repo | None = None
    ) -> None:
        """Take a merge group away: `merged`, `invalidated` or `dequeued`."""
        found = self._state.repo(repo)
        found.git.drop_ref(group["head_ref"])
        user = self._state.user(by)
        self._hooks.merge_group(found, group, "destroyed", user, reason=reason)
