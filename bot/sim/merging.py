"""GitHub's own merge of a pull request into its base, at `refs/pull/N/merge`."""

from datetime import datetime

from bot.sim.git import GitFailedError
from bot.sim.model import Pull


def merge_of(pull: Pull, now: datetime) -> str | None:
    """Merge a head into its base as both are now; return the commit, None if they conflict."""
    git, ref = pull.repo.git, f"refs/pull/{pull.number}/merge"
    base = git.tip(pull.repo.branch_ref(pull.base_ref)) or pull.base_sha
    if pull.tested != (base, pull.head_sha):
        pull.tested = (base, pull.head_sha)
        if git.tip(ref):
            git.drop_ref(ref)
        message = f"Merge {pull.head_sha} into {base}"
        try:
            git.set_ref(ref, git.merge(base, pull.head_sha, message, "web-flow", now))
        except GitFailedError:
            return None
    return git.tip(ref)
