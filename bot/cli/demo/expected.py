"""What a scene should end in, and how the check runs and replies of GitHub differ from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.core.report.comment import COMMENT_MARKER
from bot.core.report.reply import reply_marker
from bot.sim import SimGitHub
from bot.sim.model import Comment

GATE, SUITE = "ascend-ci", "Ascend / "
SHOWN = 200  # characters of a reply that is not as expected: its head and a row or two


@dataclass(frozen=True, slots=True)
class ExpectedCheck:
    """A check run as it should be in the end. `title` is a piece of its title."""

    name: str
    sha: str
    conclusion: str
    title: str
    status: str = "completed"
    after: int = 0  # the id of an older check run, which must have been replaced

    @property
    def label(self) -> str:
        """Return its name in few words."""
        return self.name.removeprefix(SUITE)

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about. A later expectation of the same takes its place."""
        return self.name, self.sha

    def difference(self, github: SimGitHub) -> str:
        """Return how the newest check run of that name and commit differs, "" if it does not."""
        check = github.check(self.name, self.sha)
        wanted = f"{self.status} {self.conclusion}, titled …{self.title}…"
        wanted = f"{self.name} at {self.sha[:7]}: expected {wanted}"
        if check is None:
            return f"{wanted}; there is none"
        if check.id <= self.after:
            return f"{wanted}; there is none newer than {self.after}"
        title = check.title or ""
        state = (check.status, check.conclusion)
        if state == (self.status, self.conclusion) and self.title in title:
            return ""
        return f"{wanted}; is {check.status} {check.conclusion}, titled {title}"


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """The one reply to a comment as it should be in the end. It contains all `pieces`."""

    comment_id: int
    pieces: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return its name in few words."""
        return "the reply"

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about. A later expectation of the same takes its place."""
        return "reply", str(self.comment_id)

    def fits(self, comment: Comment) -> bool:
        """Return True if a comment is the bot's reply to this one."""
        return comment.app is not None and reply_marker(self.comment_id) in comment.body

    def difference(self, github: SimGitHub) -> str:
        """Return the difference: no reply, several, or one without a piece; "" if there is none."""
        found = [one for one in github.state.comments.values() if self.fits(one)]
        return _differs(f"the reply to comment {self.comment_id}", found, self.pieces)


@dataclass(frozen=True, slots=True)
class ExpectedComment:
    """The one comment on a pull request's suites in the end. It contains all `pieces`."""

    number: int
    pieces: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return its name in few words."""
        return "the comment"

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about. A later expectation of the same takes its place."""
        return "comment", str(self.number)

    def fits(self, comment: Comment) -> bool:
        """Return True if a comment is the bot's on this pull request's suites."""
        ours = comment.app is not None and comment.body.endswith(COMMENT_MARKER)
        return ours and comment.pull.number == self.number

    def difference(self, github: SimGitHub) -> str:
        """Return the difference: no comment, several, or one without a piece; "" for none."""
        found = [one for one in github.state.comments.values() if self.fits(one)]
        return _differs(f"the comment on #{self.number}", found, self.pieces)


def _differs(name: str, found: Sequence[Comment], pieces: Sequence[str]) -> str:
    if len(found) != 1:
        return f"{name}: expected one, there are {len(found)}"
    missing = [piece for piece in pieces if piece not in found[0].body]
    if not missing:
        return ""
    return f"{name}: expected {', '.join(missing)}; is {_short(found[0])}"


Expectation = ExpectedCheck | ExpectedReply | ExpectedComment


def suite(name: str, sha: str, conclusion: str, title: str) -> ExpectedCheck:
    """Return what is expected of a suite's check run."""
    return ExpectedCheck(f"{SUITE}{name}", sha, conclusion, title)


def gate(sha: str, conclusion: str, title: str) -> ExpectedCheck:
    """Return what is expected of the gate of a commit."""
    return ExpectedCheck(GATE, sha, conclusion, title)


def differences(expected: Sequence[Expectation], github: SimGitHub) -> list[str]:
    """Return a line for everything that is missing or not as expected."""
    return [line for one in expected if (line := one.difference(github))]


def unexpected(expected: Sequence[Expectation], github: SimGitHub) -> list[str]:
    """Return a line for every check run, and every comment of the bot, that no scene expects."""
    known = {one.key for one in expected}
    written = [one for one in expected if not isinstance(one, ExpectedCheck)]
    checks = [
        f"{one.name} at {one.head_sha[:7]}: no scene expects it; titled {one.title}"
        for one in github.check_runs()
        if (one.name, one.head_sha) not in known
    ]
    comments = [
        f"a comment on #{one.pull.number}: no scene expects it; is {_short(one)}"
        for one in github.state.comments.values()
        if one.app is not None and not any(of.fits(one) for of in written)
    ]
    return checks + comments


def _short(comment: Comment) -> str:
    return " ".join(comment.body.split())[:SHOWN]
