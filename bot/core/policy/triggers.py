"""What decides whether GitHub itself starts a workflow for a pull request: the filters of `on:`.

Source: GitHub's "Workflow syntax for GitHub Actions", `on`. Its three filters all have to let a
pull request through. What can't be read never counts as "not started".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.core.messages import NOTHING, Message
from bot.core.policy.globs import compile_pattern, encode

# The types of `pull_request` without `types`.
USUAL_TYPES = frozenset({"opened", "synchronize", "reopened"})

# GitHub's path filters look at the first files of a difference alone.
MOST_LOOKED_AT = 300

# Of a pull request; a push to its branch may start a workflow, too.
OF_PULLS = ("pull_request", "pull_request_target")
PUSH = "push"


@dataclass(frozen=True, slots=True)
class EventFilters:
    """The filters of one event; empty ones let everything through."""

    event: str
    types: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    branches_ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    paths_ignore: tuple[str, ...] = ()
    tags_only: bool = False  # of a push: no branch starts it

    def lets_in(self, branch: str) -> bool:
        """Return True if the branch filters let a branch through."""
        if self.tags_only or (self.branches and not decides(self.branches, branch)):
            return False
        return not (self.branches_ignore and decides(self.branches_ignore, branch))

    def starts_at(self, activities: frozenset[str]) -> bool:
        """Return True if one of these activities of a pull request starts it."""
        return not activities.isdisjoint(self.types or USUAL_TYPES)


@dataclass(frozen=True, slots=True)
class Triggers:
    """The events of a workflow that a pull request may cause."""

    events: tuple[EventFilters, ...] = ()
    problem: Message = NOTHING  # why they can't be told: GitHub may start it
    exists: bool = True

    @property
    def of_pulls(self) -> tuple[EventFilters, ...]:
        """Return the events of a pull request itself."""
        return tuple(item for item in self.events if item.event in OF_PULLS)

    def starts_on_push_to(self, branch: str) -> bool:
        """Return True if a push to a branch may start it; its path filters are not looked at."""
        return bool(branch) and any(
            item.event == PUSH and item.lets_in(branch) for item in self.events
        )


MISSING = Triggers(exists=False)


@dataclass(frozen=True, slots=True)
class PullTriggers:
    """The triggers of workflows as GitHub has them for one pull request, by file name.

    A file that is not in it is not known.
    """

    workflows: Mapping[str, Triggers] = field(default_factory=dict)
    base: str = ""  # "": any
    head: str = ""  # the branch of the head; "": of a fork
    activities: frozenset[str] = USUAL_TYPES  # that may have brought the head

    def patterns(self) -> int:
        """Return the number of path filters."""
        events = (event for one in self.workflows.values() for event in one.of_pulls)
        return sum(len(event.paths) + len(event.paths_ignore) for event in events)


def decides(patterns: Sequence[str], name: str) -> bool:
    """Return True if the last pattern that matches ``name`` is a positive one."""
    globs = (compile_pattern(pattern) for pattern in reversed(patterns))
    raw = encode(name)
    last = next((glob for glob in globs if glob.matches(raw)), None)
    return last is not None and not last.negative
