"""Compare a policy with its repository: what it names has to exist there.

A path filter that matches no file is often a folder without ``/**``, a typo, or a file that moved.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from bot.core.messages import NOTHING, Message
from bot.core.policy.document import Path, Problem
from bot.core.policy.errors import shown
from bot.core.policy.globs import compile_pattern, encode
from bot.core.policy.models import Policy, Suite

WORKFLOWS = ".github/workflows/"

_WILD = frozenset("*?+[\\")
_SCRIPTS = (".sh", ".py")

# Of names that lie beside each other, to look for a similar one.
_MOST_BESIDE = 1_000


@dataclass(frozen=True, slots=True)
class Names:
    """Paths or branches, and the patterns that match some of them."""

    all: frozenset[str]
    _sorted: list[str] = field(init=False)
    _known: dict[str, bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sorted", sorted(self.all))

    def match(self, pattern: str) -> bool:
        """Return True if the pattern, without its sign, matches a name."""
        if pattern not in self._known:
            self._known[pattern] = self._find(pattern)
        return self._known[pattern]

    def beginning(self, prefix: str) -> Iterator[str]:
        """Yield the names that begin with ``prefix``."""
        for at in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            if not self._sorted[at].startswith(prefix):
                return
            yield self._sorted[at]

    def _find(self, pattern: str) -> bool:
        glob = compile_pattern(pattern)
        return any(glob.matches(encode(name)) for name in self.beginning(_fixed(pattern)))


@dataclass(frozen=True, slots=True)
class RepoTree:
    """The files of a repository, and its branches; None if they are not known."""

    files: Names
    branches: Names | None = None


def tree_problems(policy: Policy, tree: RepoTree) -> Iterator[Problem]:
    """Yield what the policy names and the repository does not have."""
    for key, suite in policy.suites.items():
        yield from _missing_files(("suites", key), suite, tree.files)
        for name in ("paths", "env_paths"):
            for index, pattern in enumerate(getattr(suite, name)):
                if message := _idle(pattern, tree.files):
                    yield Problem(("suites", key, name, index), message)
    if tree.branches is not None:
        yield from _missing_branches(policy, tree.branches)


def _missing_files(path: Path, suite: Suite, files: Names) -> Iterator[Problem]:
    workflow = f"{WORKFLOWS}{suite.workflow}"
    if workflow not in files.all:
        text = Message("tree_no_workflow", path=shown(workflow), near=_near_file(workflow, files))
        yield Problem((*path, "workflow"), text)
    for name, value in suite.inputs.items():
        if _is_script(name, value) and value not in files.all:
            near = _near_file(value, files)
            yield Problem(
                (*path, "inputs", name), Message("tree_no_script", path=shown(value), near=near)
            )


def _is_script(name: str, value: str) -> bool:
    """Return True if an input's value is the path of a script in the repository."""
    if not value or value.startswith(("/", "~")) or set(value) & set("{$ :"):
        return False
    return name == "script" or ("/" in value and value.endswith(_SCRIPTS))


def _idle(pattern: str, files: Names) -> Message:
    """Return what to say about a pattern that matches no file, nothing if it matches one."""
    body = pattern.removeprefix("!")
    if files.match(body):
        return NOTHING
    sign = pattern[: len(pattern) - len(body)]
    near = _near_pattern(body, files)
    hint = Message("wrong_near", word=shown(sign + near)) if near else NOTHING
    key = "tree_excludes_nothing" if sign else "tree_matches_nothing"
    return Message(key, pattern=shown(pattern), near=hint)


def _near_pattern(body: str, files: Names) -> str:
    """Return a similar pattern that matches a file, "" if none is found."""
    folder = body.rstrip("/")
    tried = (f"{folder}/**", folder.removesuffix("/**").removesuffix("/*"), _respelled(body, files))
    found = (text for text in tried if text and text != body and files.match(text))
    return next(found, _moved(body, files))


def _respelled(body: str, files: Names) -> str:
    """Return the pattern with its first unknown name replaced by a similar one beside it."""
    done = ""
    for name in body.split("/"):
        if set(name) & _WILD:
            return ""
        if not _is_there(f"{done}{name}", files):
            beside = [*_beside(done, files)]
            near = get_close_matches(name[:80], beside, n=1, cutoff=0.75)
            return f"{done}{near[0]}{body[len(done) + len(name) :]}" if near else ""
        done += f"{name}/"
    return ""


def _is_there(path: str, files: Names) -> bool:
    return path in files.all or next(files.beginning(f"{path}/"), None) is not None


def _beside(folder: str, files: Names) -> dict[str, None]:
    """Return the names of files and folders in a folder, which ends in ``/`` or is ""."""
    found: dict[str, None] = {}
    for path in files.beginning(folder):
        found[path[len(folder) :].partition("/")[0]] = None
        if len(found) == _MOST_BESIDE:
            break
    return found


def _moved(path: str, files: Names) -> str:
    """Return the only file with the name of ``path``, "" if there is none or several."""
    name = path.rpartition("/")[2]
    if set(name) & _WILD or not name:
        return ""
    found = [one for one in files.all if one.rpartition("/")[2] == name]
    return found[0] if len(found) == 1 else ""


def _near_file(path: str, files: Names) -> Message:
    near = _respelled(path, files)
    word = near if near in files.all else _moved(path, files)
    return Message("wrong_near", word=shown(word)) if word else NOTHING


def _missing_branches(policy: Policy, branches: Names) -> Iterator[Problem]:
    for index, pattern in enumerate(policy.branches):
        if not branches.match(pattern.removeprefix("!")):
            yield _missing_branch(("branches", index), pattern, branches)
    for key, suite in policy.suites.items():
        for index, pattern in enumerate(suite.bases):
            if not branches.match(pattern.removeprefix("!")):
                yield _missing_branch(("suites", key, "bases", index), pattern, branches)
    refs = [(("nightly", index, "ref"), item.ref) for index, item in enumerate(policy.nightly)]
    for path, ref in [(("dispatch_ref",), policy.dispatch_ref), *refs]:
        if ref is not None and ref not in branches.all:
            yield _missing_branch(path, ref, branches)


def _missing_branch(path: Path, text: str, branches: Names) -> Problem:
    body = text.removeprefix("!")
    near = get_close_matches(body[:80], sorted(branches.all)[:_MOST_BESIDE], n=1, cutoff=0.75)
    hint = Message("wrong_near", word=shown(near[0])) if near else NOTHING
    count = len(branches.all)
    return Problem(path, Message("tree_no_branch", text=shown(text), count=count, near=hint))


def _fixed(pattern: str) -> str:
    """Return the characters that every match of a pattern begins with."""
    for at, char in enumerate(pattern):
        if char in _WILD:
            return pattern[: max(0, at - 1)] if char in "?+" else pattern[:at]
    return pattern
