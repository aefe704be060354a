"""The reply to a comment: a head that stays, then a table that is edited until every run ends."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import size, table
from bot.core.model.runs import Run
from bot.core.model.views import Reply
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.sections import Block, Rows, Section, compose
from bot.core.report.words import row_state


def reply_marker(comment_id: int) -> str:
    """Return the hidden marker of a reply: it finds the reply if GitHub's answer was lost."""
    return f"<!-- ascend-ci: reply to {comment_id} -->"


def reply_body(
    reply: Reply, runs: Iterable[Run], check_ids: Mapping[str, int], ctx: Context, now: datetime
) -> str:
    """Return the whole comment; ``reply.head`` is safe Markdown already."""
    writer = MarkdownWriter(ctx)
    marker = reply_marker(reply.comment_id)
    left = TEXT_BYTES - size(marker) - 2
    body = compose([_head(writer, reply), _rows(writer, runs, check_ids, now)], left)
    return f"{body}\n\n{marker}"


def _head(writer: MarkdownWriter, reply: Reply) -> Section:
    """Return the head; if it is too long to be a sentence of ours, return it as a block."""
    head = writer.redact(reply.head)
    if size(head) <= TEXT_BYTES // 2:
        return head
    return Block(head, writer.text("cut"))


def _rows(
    writer: MarkdownWriter, runs: Iterable[Run], check_ids: Mapping[str, int], now: datetime
) -> Section:
    lines = tuple(
        f"| {writer.code(run.suite)} | {row_state(writer, run, now)} | "
        f"{writer.check_link(check_ids.get(run.id))} |"
        for run in runs
    )
    if not lines:
        return ""
    head = table((writer.text("head_suite"), writer.text("head_state"), ""), ())
    return Rows(head, lines, lambda left: writer.text("more_lines", count=left))
