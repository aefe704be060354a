"""Which suites a change selects, and why: GitHub's path filters over the files of a change.

The order of a suite's patterns matters and the last one that matches a file decides, so filters
move over from a workflow's `paths:` unchanged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.core.policy import Nightly, Policy, Suite, Trigger
from bot.core.policy.globs import Glob, PatternError, compile_pattern, encode

# Where a target repository keeps its policy.
POLICY_PATH = ".github/ascend-ci.yml"

# GitHub lists no more files of a pull request than this.
MAX_LISTED_FILES = 3000

# Who may change what lies here needs more trust.
_PROTECTED_FOLDER = ".github/"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a change; ``previous_path`` when it was renamed."""

    path: str
    previous_path: str | None = None
    status: str = "modified"  # GitHub's word: added, removed, modified, renamed, copied, …

    def names(self) -> tuple[str, ...]:
        """Return every name that counts: of a renamed file both, of a copy the new one."""
        if self.previous_path is None or self.status == "copied":
            return (self.path,)
        return (self.path, self.previous_path)


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether a suite was selected, and why, in words."""

    suite: str
    selected: bool
    reason: str
    pattern: str | None = None  # the one that decided for the first of the files
    files: tuple[str, ...] = ()  # all that select it


@dataclass(frozen=True, slots=True)
class Selection:
    """What a change selects: one choice a suite, in the policy's order."""

    choices: tuple[Choice, ...]
    protected: tuple[str, ...] = ()  # changed files that need more trust
    truncated: bool = False  # too many files to list: everything counts as changed

    @property
    def selected(self) -> tuple[str, ...]:
        """Return the selected suites' names."""
        return tuple(choice.suite for choice in self.choices if choice.selected)

    def choice(self, suite: str) -> Choice | None:
        """Return what was chosen for ``suite``; None when the policy does not name it."""
        return next((choice for choice in self.choices if choice.suite == suite), None)


def select(
    policy: Policy,
    files: Sequence[ChangedFile],
    *,
    truncated: bool = False,
    trigger: Trigger = Trigger.PULL_REQUEST,
    policy_path: str = POLICY_PATH,
) -> Selection:
    """Return what ``files`` select for ``trigger`` (a pull request, or a push).

    ``truncated`` says that the list is not whole; then every suite with paths is selected.
    """
    change = _Change(files)
    choices = []
    for name, suite in policy.suites.items():
        reason = _without_files(suite, trigger, truncated=truncated)
        choices.append(reason.of(name) if reason else _by_files(name, suite, change))
    protected = touches_protected(files, policy_path)
    if truncated:
        protected = tuple(dict.fromkeys((*protected, policy_path, _PROTECTED_FOLDER)))
    return Selection(tuple(choices), protected, truncated)


def touches_protected(files: Iterable[ChangedFile], policy_path: str) -> tuple[str, ...]:
    """Return the changed names that are the policy or lie under `.github/`."""
    names = (name for file in files for name in file.names())
    return tuple(
        dict.fromkeys(
            name for name in names if name == policy_path or name.startswith(_PROTECTED_FOLDER)
        )
    )


def touches_environment(suite: Suite, files: Sequence[ChangedFile]) -> bool:
    """Return True if ``files`` change what the suite runs in, so that no failure is "infra"."""
    return bool(suite.env_paths) and bool(_Change(files).matching(suite.env_paths)[0])


def lists_branch(policy: Policy, branch: str) -> bool:
    """Return True if the policy lets ``branch`` bring its own."""
    return _decides(policy.branches, branch)


def nightly_suites(policy: Policy, entry: Nightly) -> tuple[str, ...]:
    """Return the suites that ``entry`` starts: those it names that have the trigger."""
    return tuple(
        name
        for name, suite in policy.suites.items()
        if suite.started_by(Trigger.NIGHTLY) and _decides(entry.suites, name)
    )


def suites_named(policy: Policy, word: str, left: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the suites that ``word`` of a command, a name or a glob, stands for.

    ``left`` are others that count, too: such as have left the policy and still run.
    """
    known = dict.fromkeys((*policy.suites, *left))
    if word in known:
        return (word,)
    try:
        glob = compile_pattern(word)
    except PatternError:
        return ()  # no glob, so the name of nothing
    if glob.negative:
        return ()
    return tuple(name for name in known if glob.matches(encode(name)))


def may_set(suite: Suite, name: str, value: str) -> bool:
    """Return True if `--set name=value` is allowed; a path may not climb out of its pattern."""
    pattern = suite.settable.get(name)
    if pattern is None or not value.isprintable() or ".." in value.split("/"):
        return False
    return compile_pattern(pattern).matches(encode(value))


def to_json(selection: Selection) -> dict[str, Any]:
    """Return ``selection`` as plain values for JSON."""
    return {
        "suites": [
            {
                "name": choice.suite,
                "selected": choice.selected,
                "reason": choice.reason,
                "pattern": choice.pattern,
                "files": list(choice.files),
            }
            for choice in selection.choices
        ],
        "protected": list(selection.protected),
        "truncated": selection.truncated,
    }


def from_json(data: Mapping[str, Any]) -> Selection:
    """Return the selection that ``to_json`` wrote."""
    choices = tuple(
        Choice(
            suite=item["name"],
            selected=item["selected"],
            reason=item["reason"],
            pattern=item["pattern"],
            files=tuple(item["files"]),
        )
        for item in data["suites"]
    )
    return Selection(choices, tuple(data["protected"]), data["truncated"])


@dataclass(frozen=True, slots=True)
class _Reason:
    """A choice that needs no look at the files."""

    selected: bool
    text: str

    def of(self, suite: str) -> Choice:
        return Choice(suite, self.selected, self.text)


def _without_files(suite: Suite, trigger: Trigger, *, truncated: bool) -> _Reason | None:
    if not suite.started_by(trigger):
        others = ", ".join(f"`{other}`" for other in suite.triggers) or "nothing"
        return _Reason(False, f"not started by `{trigger}`, only by {others}")
    if not suite.paths:
        if trigger is Trigger.PUSH:
            return _Reason(True, "every push starts it: it has no `paths`")
        return _Reason(False, "has no `paths`, so no file selects it")
    if truncated:
        return _Reason(
            True, f"more than {MAX_LISTED_FILES:,} files changed, so all paths count as touched"
        )
    return None


def _by_files(name: str, suite: Suite, change: "_Change") -> Choice:
    matched, excluded = change.matching(suite.paths)
    if matched:
        first, glob = matched[0]
        reason = f"{_code(first)} matches {_code(glob.text)}"
        return Choice(name, True, reason, glob.text, tuple(path for path, _ in matched))
    if excluded:
        first, glob = excluded[0]
        rest = f", and so are {len(excluded) - 1} more" if len(excluded) > 1 else ""
        return Choice(name, False, f"{_code(first)} is excluded by {_code(glob.text)}{rest}")
    count = len(change.names)
    words = {0: "no file changed", 1: "the changed file matches none of its paths"}
    return Choice(name, False, words.get(count, f"none of {count} changed files matches its paths"))


class _Change:
    """The names of a change, and what each pattern says of them; suites share many patterns."""

    def __init__(self, files: Iterable[ChangedFile]) -> None:
        self.names = list(dict.fromkeys(name for file in files for name in file.names()))
        self._encoded = [encode(name) for name in self.names]
        self._known: dict[str, frozenset[int]] = {}

    def matching(
        self, patterns: Sequence[str]
    ) -> tuple[list[tuple[str, Glob]], list[tuple[str, Glob]]]:
        """Return the names that ``patterns`` select, and those that they take out again."""
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
        """Return which names match ``glob``, whatever its sign."""
        body = glob.text.removeprefix("!")
        if body not in self._known:
            paths = enumerate(self._encoded)
            self._known[body] = frozenset(at for at, path in paths if glob.matches(path))
        return self._known[body]


def _decides(patterns: Sequence[str], name: str) -> bool:
    """Return True if the last of ``patterns`` that matches ``name`` is a positive one."""
    globs = (compile_pattern(pattern) for pattern in reversed(patterns))
    raw = encode(name)
    last = next((glob for glob in globs if glob.matches(raw)), None)
    return last is not None and not last.negative


def _code(text: str) -> str:
    """Return ``text`` as one code span of Markdown, whatever is in it."""
    clean = "".join(char if char.isprintable() else "?" for char in text).replace("`", "'")
    return f"`{clean}`"
