"""The one comment of a pull request: a table of its head's suites, one line once all are green."""

from datetime import datetime

from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import code, size
from bot.core.model.ids import short
from bot.core.model.views import GateView, PullComment
from bot.core.policy.models import Comment
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.gate import line_state, suite_table
from bot.core.report.gate_next import is_rerunnable, next_command
from bot.core.report.gate_title import gate_title
from bot.core.report.sections import Section, compose
from bot.core.report.standing import (
    GateReason,
    Standing,
    SuiteLine,
    SuiteState,
    is_shown,
    standing,
)
from bot.core.report.words import row_parts

COMMENT_MARKER = "<!-- ascend-ci: suites -->"
"""The hidden end of the comment; with its author it tells the comment from every other one."""

# Of one commit. Anybody can open hundreds, each of which would cost a write at each change.
_MOST_MADE = 4

# The comment stays as it is: the gate alone tells of these.
_SILENT = frozenset(
    {
        GateReason.CLOSED,
        GateReason.POLICY,
        GateReason.UNKNOWN,
        GateReason.LOOKING,
        GateReason.DRY_RUN,
    }
)


def pull_comments(view: GateView, ctx: Context, now: datetime) -> tuple[PullComment, ...]:
    """Return the comments of the pull requests whose head this is, as their policies ask for."""
    stand = standing(view)
    if stand.kind in _SILENT:
        return ()
    asked = {item.number: item.data.comment for item in view.selections}
    its = [pull for pull in view.pulls if asked.get(pull.number, Comment.NEVER) != Comment.NEVER]
    first = sorted(pull.number for pull in its)[:_MOST_MADE]
    writer = MarkdownWriter(ctx)
    modes = {asked[pull.number] for pull in its}
    bodies = {mode: _body(writer, view, stand, mode, now) for mode in modes}
    return tuple(
        PullComment(
            repo_id=pull.repo_id,
            number=pull.number,
            sha=view.sha,
            body=bodies[asked[pull.number]],
            make=pull.number in first and _is_made(stand, asked[pull.number]),
        )
        for pull in its
    )


def _is_made(stand: Standing, mode: Comment) -> bool:
    """Return True if a pull request without the comment gets it now."""
    if mode is Comment.ALWAYS:
        return any(line.run for line in stand.lines)
    return stand.kind is GateReason.FAILED


def _body(
    writer: MarkdownWriter, view: GateView, stand: Standing, mode: Comment, now: datetime
) -> str:
    lines = [line for line in stand.lines if is_shown(line)]
    green = stand.kind is GateReason.PASSED and {line.stand for line in lines} == {SuiteState.GREEN}
    if green and mode is Comment.ON_FAILURE:
        sections: list[Section] = [writer.text("comment_passed", sha=_sha(view))]
    else:
        sections = [
            _head(writer, view, stand, now),
            _rows(writer, view, lines, now),
            _todo(writer, view, stand),
        ]
    body = compose(sections, TEXT_BYTES - size(COMMENT_MARKER) - 2)
    return f"{body}\n\n{COMMENT_MARKER}"


def _sha(view: GateView) -> str:
    return code(short(view.sha))


def _head(writer: MarkdownWriter, view: GateView, stand: Standing, now: datetime) -> str:
    """Return the gate's title without what the table says, or what changes too often."""
    stands = [line.stand for line in stand.required]
    suites = writer.count("suite", len(stands))
    if stand.kind is GateReason.FAILED:
        red = stands.count(SuiteState.RED)
        return writer.text("comment_failed", n=red, suites=suites, sha=_sha(view))
    if stand.kind is GateReason.RUNNING:
        green = stands.count(SuiteState.GREEN)
        return writer.text("comment_running", n=green, suites=suites, sha=_sha(view))
    if stand.kind is GateReason.APPROVAL:
        return writer.text("comment_approval", sha=_sha(view))
    title = writer.prose(gate_title(writer, view, stand, now))
    return writer.text("comment_head", title=title, sha=_sha(view))


def _rows(writer: MarkdownWriter, view: GateView, lines: list[SuiteLine], now: datetime) -> Section:
    """Return the table of the suites. The worst state comes first."""
    if not lines:
        return ""
    names = ("head_suite", "head_state", "head_cause", "head_time")
    order = list(SuiteState)
    rows = [
        (writer.code(line.suite), *_cells(writer, view, line, now))
        for line in sorted(lines, key=lambda line: order.index(line.stand))
    ]
    return suite_table(writer, [*map(writer.text, names), ""], rows)


def _cells(
    writer: MarkdownWriter, view: GateView, line: SuiteLine, now: datetime
) -> tuple[str, ...]:
    if line.run is None:
        return line_state(writer, line, now), "", "", ""
    link = writer.check_link(view.check_ids.get(line.run.id))
    state, *rest = row_parts(writer, line.run, now)
    if line.excused:
        state = writer.text("row_excused", state=state)
    return state, *rest, link


def _todo(writer: MarkdownWriter, view: GateView, stand: Standing) -> Section:
    """Return the command to type next; a comment has no buttons."""
    if stand.kind is GateReason.FAILED and is_rerunnable(stand):
        return writer.text("comment_rerun", command=writer.command("rerun", sha=view.sha))
    if stand.kind is GateReason.APPROVAL:
        command = writer.command("approve", sha=view.sha)
        needed = writer.text(f"level_{view.selections[0].data.approve}")
        return writer.text("comment_approve", needed=needed, command=command)
    return next_command(writer, view, stand)
