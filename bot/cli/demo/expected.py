"""What a scene should end in, and how the check runs and replies of GitHub differ from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.cli.demo.github import Check, Comment, Seen
from bot.core.render import reply_marker

GATE, SUITE = "ascend-ci", "Ascend / "
SHOWN = 200  # characters of a reply that is not as expected: its head and a row or two


@dataclass(frozen=True, slots=True)
class Expected:
    """A check run as it should be in the end; `title` is a piece of it."""

    name: str
    sha: str
    conclusion: str
    title: str
    status: str = "completed"
    after: int = 0  # the id of an older check run, which must have been replaced

    @property
    def label(self) -> str:
        """Return how to speak of it in few words."""
        return self.name.removeprefix(SUITE)

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about: a later wish for the same takes its place."""
        return self.name, self.sha

    def difference(self, seen: Seen) -> str:
        """Return how the newest check run of that name and commit differs, "" if it does not."""
        check = seen.check(self.name, self.sha)
        if check is None:
            return f"{self._wish}; there is none"
        if check.id <= self.after:
            return f"{self._wish}; there is none newer than {self.after}"
        if (check.status, check.conclusion) == (self.status, self.conclusion) and (
            self.title in check.title
        ):
            return ""
        return f"{self._wish}; is {check.status} {check.conclusion}, titled {check.title}"

    @property
    def _wish(self) -> str:
        wanted = f"{self.status} {self.conclusion}, titled …{self.title}…"
        return f"{self.name} at {self.sha[:7]}: expected {wanted}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The one reply to a comment as it should be in the end; `pieces` are all in it."""

    comment_id: int
    pieces: tuple[str, ...]

    @property
    def label(self) -> str:
        """Return how to speak of it in few words."""
        return "the reply"

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about: a later wish for the same takes its place."""
        return "reply", str(self.comment_id)

    def answers(self, comment: Comment) -> bool:
        """Return True if a comment is the bot's reply to this one."""
        return comment.by_bot and reply_marker(self.comment_id) in comment.body

    def difference(self, seen: Seen) -> str:
        """Return how GitHub differs: no reply, several, or one without a piece; "" if not."""
        found = [one for one in seen.comments if self.answers(one)]
        if len(found) != 1:
            return f"the reply to comment {self.comment_id}: expected one, there are {len(found)}"
        missing = [piece for piece in self.pieces if piece not in found[0].body]
        if not missing:
            return ""
        wanted = ", ".join(missing)
        return f"the reply to comment {self.comment_id}: expected {wanted}; is {_short(found[0])}"


Wish = Expected | Answer


def suite(name: str, sha: str, conclusion: str, title: str) -> Expected:
    """Return what is expected of a suite's check run."""
    return Expected(f"{SUITE}{name}", sha, conclusion, title)


def gate(sha: str, conclusion: str, title: str) -> Expected:
    """Return what is expected of the gate of a commit."""
    return Expected(GATE, sha, conclusion, title)


def differences(expected: Sequence[Wish], seen: Seen) -> list[str]:
    """Return a line for everything that is missing or not as expected."""
    return [line for one in expected if (line := one.difference(seen))]


def unexpected(expected: Sequence[Wish], seen: Seen) -> list[str]:
    """Return a line for every check run, and every comment of the bot, that nobody expects."""
    known = {one.key for one in expected}
    answers = [one for one in expected if isinstance(one, Answer)]
    checks = [_stray(one) for one in seen.checks if (one.name, one.sha) not in known]
    comments = [
        f"a comment on #{one.pull}: nobody expects it; is {_short(one)}"
        for one in seen.comments
        if one.by_bot and not any(answer.answers(one) for answer in answers)
    ]
    return checks + comments


def _stray(check: Check) -> str:
    return f"{check.name} at {check.sha[:7]}: nobody expects it; titled {check.title}"


def _short(comment: Comment) -> str:
    return " ".join(comment.body.split())[:SHOWN]
