"""What check runs say of the quarantine of a suite: until when, why, whose, and if it holds."""

from collections.abc import Iterable
from datetime import datetime

from bot.core.messages.words import capital, sentences, stop
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.usual import PastEnd
from bot.core.model.views import SuiteView
from bot.core.policy.quarantine import Quarantine
from bot.core.policy.quarantined import MAX_DAYS, QuarantineStage, QuarantineStand, stand_at
from bot.core.policy.wildcard import fits
from bot.core.report.context import MarkdownWriter
from bot.core.report.sections import Rows, Section
from bot.core.report.standing import Standing

_MANY = 5  # passes in a row that speak against a quarantine
_NO_FAILURE = frozenset({Outcome.SUCCESS, Outcome.SUPERSEDED, Outcome.SKIPPED})
# Of a suite, and of tests of it.
_SAID = {
    QuarantineStage.HELD: ("quarantine_held", "quarantine_held_tests"),
    QuarantineStage.ENDED: ("quarantine_ended", "quarantine_ended_tests"),
    QuarantineStage.EARLY: ("quarantine_early", "quarantine_early_tests"),
}


def quarantines(writer: MarkdownWriter, stand: Standing, now: datetime) -> Section:
    """Return a list of the quarantines of a gate's suites; "" if there is none."""
    lines = tuple(
        f"- {told}"
        for line in stand.lines
        if line.quarantine
        for told in _lines(writer, line.quarantine, now)
    )
    if not lines:
        return ""
    return Rows("", lines, lambda left: writer.text("more_lines", count=left))


def of_run(writer: MarkdownWriter, view: SuiteView, now: datetime) -> str:
    """Return what the check run of a suite says of its quarantine, now or as it was at its end."""
    run = view.run
    stand = stand_at(run.snapshot.quarantine, run.ended_at or now)
    if stand is None:
        return ""
    held = stand.stage is QuarantineStage.HELD
    told = [
        sentences(line, _in_a_row(writer, entry, view.past) if held else "")
        for entry, line in zip(stand.entries, _lines(writer, stand, now), strict=True)
    ]
    return "\n\n".join(told)


def _in_a_row(writer: MarkdownWriter, entry: Quarantine, past: tuple[PastEnd, ...]) -> str:
    """Say that a suite, or the tests of an entry, passed so often that it may count again."""
    passed = passes_in_a_row(entry, past)
    return writer.text("quarantine_passes", n=passed) if passed >= _MANY else ""


def passes_in_a_row(entry: Quarantine, past: Iterable[PastEnd]) -> int:
    """Return how often a suite passed last, or the tests of an entry.

    A run in which other tests failed says nothing of these: they may not have run.
    """
    passed = 0
    for end in past:
        if end.outcome is Outcome.SUCCESS:
            passed += 1
        elif entry.test is None or not end.failed_tests or _names(entry.test, end):
            break
    return passed


def _names(test: str, end: PastEnd) -> bool:
    return any(fits(test, failed) for failed in end.failed_tests)


def is_excused(run: Run) -> bool:
    """Return True if a run has not passed, and its quarantine excuses that."""
    if run.state is not State.DONE or run.outcome in _NO_FAILURE or run.ended_at is None:
        return False
    stand = stand_at(run.snapshot.quarantine, run.ended_at)
    return stand is not None and stand.excuses(run.failed_tests)


def _lines(writer: MarkdownWriter, stand: QuarantineStand, now: datetime) -> list[str]:
    return [_line(writer, stand.stage, entry, now) for entry in stand.entries]


def _line(writer: MarkdownWriter, stage: QuarantineStage, entry: Quarantine, now: datetime) -> str:
    whole, of_tests = _SAID[stage]
    days = (now - entry.ends_at).days
    said = writer.text(
        of_tests if entry.test else whole,
        suite=writer.code(entry.suite),
        tests=writer.code(entry.test or ""),
        until=entry.until,
        ago=writer.text("days_ago", n=days) if days else writer.text("ended_today"),
        days=MAX_DAYS,
    )
    issue = _issue(writer, entry.issue)
    who = writer.text("quarantine_who", owner=writer.prose(entry.owner), issue=issue)
    return sentences(said, stop(capital(writer.prose(entry.reason))), who)


def _issue(writer: MarkdownWriter, issue: int | str) -> str:
    """Return a link to an issue, by its number or its address."""
    ctx = writer.ctx
    url = f"{ctx.html_url}/{ctx.full_name}/issues/{issue}" if isinstance(issue, int) else issue
    return writer.link("link_issue", url)
