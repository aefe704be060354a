"""Map frames to lines of the repository: remove checkout roots, ignore foreign code."""

import re
from collections.abc import Sequence

from bot.core.digest.evidence import Failure, Frame, Kind, Weight
from bot.core.digest.judge import Verdict

# The usual folders of a checkout: on runners, and Ray's copy of the folder.
USUAL_ROOTS = (
    "/__w/*/*",
    "/home/runner/work/*/*",
    "/home/runner/_work/*/*",
    "/github/workspace",
    "/var/lib/jenkins/workspace",
    "/tmp/ascend-ci-*/work/*",  # noqa: S108 - where the shipped launcher sets a commit up
    "/tmp/ray/session_*/runtime_resources/working_dir_files/_ray_pkg_*",  # noqa: S108 - a pattern, not a file
)
_FOREIGN = re.compile(r"/(?:site|dist)-packages/|^/usr/lib/python|/lib/python\d|^<|^/opt/conda/")
_PASSES_ON = re.compile(r"\bray\.get\(|\bget_response\(")


class Places:
    """Maps printed paths to paths of the repository."""

    def __init__(self, roots: Sequence[str]) -> None:
        """Set it up; `roots` may be shell patterns."""
        self._roots = [re.compile(_pattern(root)) for root in (roots or USUAL_ROOTS)]
        self.names = {
            root.rstrip("/").rpartition("/")[2].lower().replace("_", "-") for root in roots
        }

    def path(self, printed: str) -> str | None:
        """Return the repository path for a printed path, None for a path outside the repository."""
        if _FOREIGN.search(printed) or printed.startswith("../"):
            return None
        path = printed.removeprefix("./")
        if path.startswith("/"):
            cuts = [m.end() for root in self._roots if (m := root.match(path))]
            if not cuts:
                return None
            path = path[max(cuts) :]
        elif not _RELATIVE.match(path):
            return None
        return path or None

    def deepest(self, frames: Sequence[Frame]) -> tuple[str, int] | None:
        """Return path and line of the deepest frame inside the repository."""
        for frame in reversed(frames):
            path = self.path(frame.path)
            if path is not None and frame.line > 0:
                return path, frame.line
        return None


_RELATIVE = re.compile(r"^[\w.@+-][^\s:]*\.\w{1,5}$")


def _pattern(root: str) -> str:
    """Translate a shell pattern; a `*` stays inside one folder."""
    body = "".join(
        "[^/]*" if c == "*" else "[^/]" if c == "?" else re.escape(c) for c in root.rstrip("/")
    )
    return f"{body}/"


def place_of(verdict: Verdict, places: Places) -> tuple[str, int] | None:
    """Return the place of a verdict: of its link, otherwise of the nearest later link."""
    native = verdict.failure.kind is Kind.NATIVE
    if (verdict.tier >= Weight.SECONDARY and not native) or verdict.text.startswith(
        "ray.exceptions."
    ):
        return None
    for link in verdict.failure.links[verdict.link :]:
        found = places.deepest(link.frames)
        if found and not _passes_on(link.frames):
            return found
    return None


def _passes_on(frames: Sequence[Frame]) -> bool:
    """Return True for frames that only wait for another process, through `ray.get`."""
    ray = any("/ray/_private/" in f.path for f in frames[-4:])
    return bool(frames) and (ray or _PASSES_ON.search(frames[-1].code) is not None)


def related(verdict: Verdict, others: Sequence[Verdict]) -> list[Verdict]:
    """Return the tracebacks of the same failure as a line outside of any, nearest first."""
    if verdict.failure.kind in {Kind.PYTHON, Kind.PYTEST, Kind.NATIVE, Kind.STATUS}:
        return []
    near = [o for o in others if _tells_same(verdict.failure, o)]
    return sorted(near, key=lambda o: abs(o.no - verdict.no))


def _tells_same(failure: Failure, other: Verdict) -> bool:
    told = other.failure
    if told.segment != failure.segment:
        return False
    if told.kind is Kind.NATIVE:
        return 0 <= other.no - failure.no <= 100 and told.stream == failure.stream
    if told.kind not in {Kind.PYTHON, Kind.PYTEST}:
        return False
    if other.tier >= Weight.SECONDARY or abs(other.no - failure.no) > 400:
        return False
    return told.stream == failure.stream or (told.kind is Kind.PYTEST and other.no > failure.no)
