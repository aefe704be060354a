"""The jobs of a workflow that are a suite's own, by the names under which GitHub shows them.

GitHub's lists and webhooks give a job's name, never its key. To the name it adds the values of a
matrix, ``unit (a2)``, and for a reusable workflow the name of the job there, ``unit / build``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.core.policy.wildcard import fits

# GitHub ends a name that it has cut like this; seen from 100 characters on.
_CUT = "..."
_CUT_FROM = 90


@dataclass(frozen=True, slots=True)
class WorkflowJob:
    """A job of a workflow file; in its names ``*`` stands for what is known only when it runs.

    One that is ``open`` may show up in more jobs than are there so far.
    """

    key: str
    names: tuple[str, ...]
    open: bool = False

    def shows(self, name: str) -> bool:
        """Return True if GitHub may show this job under ``name``."""
        return any(covers(own, name) for own in self.names)


@dataclass(frozen=True, slots=True)
class OwnJob:
    """A job that a suite names, and the jobs that it needs, also through others."""

    job: WorkflowJob
    needs: tuple[WorkflowJob, ...] = ()


ANY = WorkflowJob("", ("*",))  # for what a job needs of which nothing is known


def unknown_job(pattern: str) -> OwnJob:
    """Return a job that a suite names and of which no file tells."""
    return OwnJob(WorkflowJob(pattern, (pattern,), open=True), (ANY,))


def covers(pattern: str, name: str) -> bool:
    """Return True if a pattern means the job that GitHub shows as ``name``."""
    if any(fits(pattern, stem) for stem in _stems(name)):
        return True
    cut = name.removesuffix(_CUT)
    return cut != name and len(name) >= _CUT_FROM and "*" not in pattern and pattern.startswith(cut)


def _stems(name: str) -> Iterator[str]:
    """Yield a name as it is, and without what GitHub adds."""
    yield name
    if name.endswith(")") and " (" in name:
        yield name[: name.index(" (")]
        yield name[: name.rindex(" (")]
    if " / " in name:
        yield name[: name.index(" / ")]
        yield from _stems(name[: name.rindex(" / ")])


def is_own(patterns: Iterable[str], own: Iterable[OwnJob], name: str) -> bool:
    """Return True if the job that GitHub shows as ``name`` is one that a suite names.

    ``own`` is what the workflow's file says of them: a suite may name a job by its key.
    """
    shown = any(covers(pattern, name) for pattern in patterns)
    return shown or any(item.job.shows(name) for item in own)
