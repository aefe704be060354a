"""Select suites by the changed files, with GitHub's path filters, and give the reason.

The last pattern that matches a file decides. So the filters of a workflow's `paths:` can be copied
into a policy unchanged. A native suite is selected where GitHub starts its workflow, and its own
`paths`, if it has any, match too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.core.messages import NOTHING, Message
from bot.core.policy.globs import Glob, PatternError, compile_pattern, encode
from bot.core.policy.models import Nightly, Policy, Start, Suite, Trigger
from bot.core.policy.triggers import (
    MOST_LOOKED_AT,
    EventFilters,
    PullTriggers,
    Triggers,
    decides,
)

# The policy file of a repository.
POLICY_PATH = ".github/ascend-ci.yml"
POLICY_TWIN = ".github/ascend-ci.yaml"  # never read, but named where the other one is missing
MISNAMED = "gate_policy_renamed"  # the key of the message that names it

# GitHub lists at most this many files of a pull request.
MAX_LISTED_FILES = 3000

# A change of files in this folder needs a higher trust level.
_PROTECTED_FOLDER = ".github/"
_TELLING = (POLICY_PATH, ".github/workflows/", ".github/actions/")

# A match costs as much as so many bytes of a path, before it compares any.
_MATCH_BYTES = 600


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file; ``previous_path`` if it was renamed."""

    path: str
    previous_path: str | None = None
    status: str = "modified"  # as GitHub names it: added, removed, modified, renamed, copied, …

    def names(self) -> tuple[str, ...]:
        """Return the names to match: both names of a renamed file, the new name of a copy."""
        if self.previous_path is None or self.status == "copied":
            return (self.path,)
        return (self.path, self.previous_path)


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a suite was selected, and why, in words."""

    suite: str
    selected: bool
    reason: Message
    pattern: str | None = None  # the pattern that decided for the first file
    files: tuple[str, ...] = ()  # all files that select the suite


@dataclass(frozen=True, slots=True)
class Selection:
    """The suites that a change selects: one choice for each suite, in the policy's order."""

    choices: tuple[Choice, ...]
    protected: tuple[str, ...] = ()  # changed files that need a higher trust level
    truncated: bool = False  # too many files to list: every file counts as changed
    environment: frozenset[str] = frozenset()  # suites whose environment changes: no retry helps

    @property
    def selected(self) -> tuple[str, ...]:
        """Return the names of the selected suites."""
        return tuple(choice.suite for choice in self.choices if choice.selected)

    def choice(self, suite: str) -> Choice | None:
        """Return the choice for ``suite``; None if the policy does not name the suite."""
        return next((choice for choice in self.choices if choice.suite == suite), None)


def select(
    policy: Policy,
    files: Sequence[ChangedFile],
    *,
    truncated: bool = False,
    trigger: Trigger = Trigger.PULL_REQUEST,
    policy_path: str = POLICY_PATH,
    workflows: PullTriggers | None = None,
) -> Selection:
    """Select suites for ``files`` and ``trigger`` (a pull request or a push).

    With ``truncated`` the list of files is incomplete. Then every suite with paths is selected.
    ``workflows`` are the triggers of native suites' workflows, and the base branch that ``bases``
    are compared with; None: they are not known.
    """
    change = _Change(files, truncated=truncated)
    choices = []
    for name, suite in policy.suites.items():
        own = _without_files(name, suite, trigger, truncated=truncated)
        if workflows and trigger is Trigger.PULL_REQUEST and (own is None or own.selected):
            own = _by_base(name, suite, workflows.base) or own
        choice = own or _by_files(name, suite.paths, change)
        if suite.start is Start.NATIVE and trigger is Trigger.PULL_REQUEST in suite.triggers:
            choice = _as_github(suite, choice, change, workflows)
        choices.append(choice)
    protected = touches_protected(files, policy_path, truncated=truncated)
    environment = frozenset(
        name
        for name, suite in policy.suites.items()
        if suite.env_paths and change.matching(suite.env_paths)[0]
    )
    return Selection(tuple(choices), protected, truncated, environment)


def select_cost(
    policy: Policy, files: Sequence[ChangedFile], workflows: PullTriggers | None = None
) -> int:
    """Return what selecting suites costs, in bytes that are compared; 10 million take 30 ms."""
    filters = sum(len(suite.paths) + len(suite.env_paths) for suite in policy.suites.values())
    filters += workflows.patterns() if workflows else 0
    return filters * sum(_MATCH_BYTES + len(name) for file in files for name in file.names())


def touches_protected(
    files: Iterable[ChangedFile], policy_path: str, *, truncated: bool = False
) -> tuple[str, ...]:
    """Return the changed names that are the policy or lie under `.github/`.

    With ``truncated`` the list of files is incomplete: then both count as changed.
    """
    names = (name for file in files for name in file.names())
    found = [name for name in names if name == policy_path or name.startswith(_PROTECTED_FOLDER)]
    unlisted = (policy_path, _PROTECTED_FOLDER) if truncated else ()
    return tuple(dict.fromkeys((*telling_first(found), *unlisted)))


def telling_first(protected: Iterable[str]) -> tuple[str, ...]:
    """Return protected files once each: first the policy, then what GitHub runs.

    Texts name the first one, and a harmless file beside a workflow must not hide it.
    """
    return tuple(sorted(dict.fromkeys(protected), key=_how_telling))


def _how_telling(path: str) -> int:
    ranks = (rank for rank, start in enumerate(_TELLING) if path.startswith(start))
    return next(ranks, len(_TELLING))


def lists_branch(policy: Policy, branch: str) -> bool:
    """Return True if the policy lets ``branch`` have its own policy."""
    return decides(policy.branches, branch)


def nightly_suites(policy: Policy, entry: Nightly) -> tuple[str, ...]:
    """Return the suites that a schedule starts: named by it, and with its trigger."""
    return tuple(
        name
        for name, suite in policy.suites.items()
        if suite.started_by(Trigger.NIGHTLY) and decides(entry.suites, name)
    )


def suites_named(policy: Policy, word: str, left: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the suites that a name or glob of a command means.

    ``left`` are further names to match, for example suites that left the policy and still run.
    """
    known = dict.fromkeys((*policy.suites, *left))
    if word in known:
        return (word,)
    try:
        glob = compile_pattern(word)
    except PatternError:
        return ()  # not a glob, so it names no suite
    if glob.negative:
        return ()
    return tuple(name for name in known if glob.matches(encode(name)))


def may_set(suite: Suite, name: str, value: str) -> bool:
    """Return True if `--set name=value` is allowed; a path may not leave its folder with `..`."""
    pattern = suite.settable.get(name)
    if pattern is None or not value.isprintable() or ".." in value.split("/"):
        return False
    return compile_pattern(pattern).matches(encode(value))


def _without_files(name: str, suite: Suite, trigger: Trigger, *, truncated: bool) -> Choice | None:
    """Return the choice if it does not depend on the files."""
    if not suite.started_by(trigger):
        others = tuple(f"`{other}`" for other in suite.triggers) or Message("by_nothing")
        return Choice(name, False, Message("selected_trigger", trigger=trigger, others=others))
    if not suite.paths:
        if trigger is Trigger.PUSH:
            return Choice(name, True, Message("selected_push"))
        return Choice(name, False, Message("selected_no_paths"))
    if truncated:
        return Choice(name, True, Message("selected_many", most=MAX_LISTED_FILES))
    return None


def _by_base(name: str, suite: Suite, base: str) -> Choice | None:
    """Return the choice of a suite that names other base branches."""
    if not (base and suite.bases) or decides(suite.bases, base):
        return None
    return Choice(name, False, Message("selected_bases", base=_code(base)))


def _as_github(
    suite: Suite, own: Choice, change: "_Change", workflows: PullTriggers | None
) -> Choice:
    """Return the choice for a suite that GitHub starts; ``own`` is that by its own `paths`."""
    if suite.paths and not own.selected:
        return own
    told = workflows.workflows.get(suite.workflow) if workflows else None
    if workflows is None or told is None:
        unknown = Message("selected_by_workflow", workflow=_code(suite.workflow))
        return own if suite.paths else Choice(own.suite, False, unknown)
    choice = _by_triggers(suite, own, told, change, workflows)
    return own if suite.paths and choice.selected else choice


def _by_triggers(
    suite: Suite, own: Choice, told: Triggers, change: "_Change", workflows: PullTriggers
) -> Choice:
    """Return the choice by what starts a workflow; one that can't be read may be started."""
    name, workflow = own.suite, _code(suite.workflow)
    if not told.exists:
        why = Message("selected_no_workflow", workflow=workflow, base=_code(workflows.base))
        return Choice(name, False, why)
    if told.problem:
        why = Message("selected_unreadable", workflow=workflow, why=told.problem)
        return Choice(name, True, why)
    found = [_by_event(name, workflow, event, change, workflows) for event in told.of_pulls]
    chosen = next((choice for choice in found if choice.selected), None)
    if chosen is None and suite.paths and told.starts_on_push_to(workflows.head):
        return own
    nothing = Choice(name, False, Message("selected_not_of_pulls", workflow=workflow))
    return chosen or next(iter(found), nothing)


def _by_event(
    name: str, workflow: str, event: EventFilters, change: "_Change", workflows: PullTriggers
) -> Choice:
    """Return the choice by the filters of one event: all of them have to let the change through."""
    base = workflows.base
    if base and not event.lets_in(base):
        return Choice(name, False, Message("selected_base", workflow=workflow, base=_code(base)))
    if not event.starts_at(workflows.activities):
        types = tuple(_code(one) for one in event.types)
        return Choice(name, False, Message("selected_types", workflow=workflow, types=types))
    if not (event.paths or event.paths_ignore):
        return Choice(name, True, Message("selected_each", workflow=workflow))
    if change.truncated:
        return Choice(name, True, Message("selected_many", most=MAX_LISTED_FILES))
    choice = (
        _by_files(name, event.paths, change)
        if event.paths
        else _by_ignored(name, workflow, event.paths_ignore, change)
    )
    beyond = choice.selected and not change.first.intersection(choice.files)
    if not beyond:
        return choice
    path = _code(choice.files[0])
    why = Message("selected_beyond", workflow=workflow, path=path, most=MOST_LOOKED_AT)
    return replace(choice, reason=why)  # else anybody passes with 300 files of no matter


def _by_ignored(name: str, workflow: str, ignored: Sequence[str], change: "_Change") -> Choice:
    """Return the choice by `paths-ignore`: one file that is not ignored is enough."""
    out = {path for path, _ in change.matching(ignored)[0]}
    left = tuple(path for path in change.names if path not in out)
    if left:
        why = Message("selected_not_ignored", path=_code(left[0]), workflow=workflow)
        return Choice(name, True, why, files=left)
    if not change.names:
        return Choice(name, False, Message("selected_no_file"))
    return Choice(name, False, Message("selected_ignored", workflow=workflow))


def _by_files(name: str, paths: Sequence[str], change: "_Change") -> Choice:
    matched, excluded = change.matching(paths)
    if matched:
        first, glob = matched[0]
        reason = Message("selected_file", path=_code(first), glob=_code(glob.text))
        return Choice(name, True, reason, glob.text, tuple(path for path, _ in matched))
    if excluded:
        first, glob = excluded[0]
        rest = len(excluded) - 1
        more = Message("selected_excluded_more", count=rest) if rest else NOTHING
        why = {"path": _code(first), "glob": _code(glob.text), "more": more}
        return Choice(name, False, Message("selected_excluded", **why))
    if not change.names:
        return Choice(name, False, Message("selected_no_file"))
    return Choice(name, False, Message("selected_none", n=len(change.names)))


class _Change:
    """The names of a change, and the matches of each pattern, because suites share patterns."""

    def __init__(self, files: Sequence[ChangedFile], *, truncated: bool) -> None:
        self.names = list(dict.fromkeys(name for file in files for name in file.names()))
        self.first = {name for file in files[:MOST_LOOKED_AT] for name in file.names()}
        self.truncated = truncated
        self._encoded = [encode(name) for name in self.names]
        self._known: dict[str, frozenset[int]] = {}

    def matching(
        self, patterns: Sequence[str]
    ) -> tuple[list[tuple[str, Glob]], list[tuple[str, Glob]]]:
        """Return the names that ``patterns`` select, and the names that they exclude again."""
        matched: list[tuple[str, Glob]] = []
        excluded: list[tuple[str, Glob]] = []
        globs = [compile_pattern(pattern) for pattern in patterns]
        hits = [self._hits(glob) for glob in globs]
        for index, name in enumerate(self.names):
            deciding = [glob for glob, hit in zip(globs, hits, strict=True) if index in hit]
            if not deciding:
                continue
            if not deciding[-1].negative:
                matched.append((name, deciding[-1]))
            elif any(not glob.negative for glob in deciding):
                excluded.append((name, deciding[-1]))
        return matched, excluded

    def _hits(self, glob: Glob) -> frozenset[int]:
        """Return the indexes of the names that match ``glob``; the sign does not count."""
        body = glob.text.removeprefix("!")
        if body not in self._known:
            paths = enumerate(self._encoded)
            self._known[body] = frozenset(at for at, path in paths if glob.matches(path))
        return self._known[body]


def _code(text: str) -> str:
    """Return ``text`` as one Markdown code span."""
    clean = "".join(char if char.isprintable() else "?" for char in text).replace("`", "'")
    return f"`{clean}`"
