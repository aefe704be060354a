"""The gate: the check run that sums up a commit, and says what to do if it is not green."""

from collections.abc import Iterable
from datetime import datetime

from bot.core.github.limits import SHOWN_TITLE_CHARS, TEXT_BYTES
from bot.core.github.markdown import headline, table
from bot.core.messages import Message
from bot.core.messages.words import capital, clock, listing, number, sentences, stop
from bot.core.model.ids import short
from bot.core.model.pulls import Pull
from bot.core.model.runs import State
from bot.core.model.selections import Cost
from bot.core.model.views import Button, CheckWrite, GateView
from bot.core.policy.levels import Level
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.gate_next import is_rerunnable, next_command, of_group
from bot.core.report.gate_title import gate_title, policy_ref
from bot.core.report.quarantine import quarantines
from bot.core.report.sections import Rows, Section, compose
from bot.core.report.standing import (
    CONCLUSIONS,
    GateReason,
    Standing,
    SuiteLine,
    SuiteState,
    excused_suites,
    is_not_in,
    is_shown,
    optional_suites,
    standing,
)
from bot.core.report.waits import gate_wait
from bot.core.report.words import row_state

# What to do about a closed gate; its title says why it is closed.
_CLOSED = {
    "superseded_by": "gate_closed_newer",
    "drop_closed": "gate_closed_reopen",
    "group_merged": "gate_closed_merged",
    "group_invalidated": "gate_closed_group",
    "group_dequeued": "gate_closed_group",
    "group_given_up": "gate_closed_group",
}
# How the wait of a gate that can't be judged ends.
_UNKNOWN = {
    "gate_unanswered": "gate_unknown_why",
    "gate_policy_gone": "gate_policy_back",
    "gate_policy_renamed": "gate_policy_back",
}
# What a suite without a run does.
_MISSING = {SuiteState.COMMAND: "row_command", SuiteState.OPEN: "row_dispatching"}
# The gate lists no suites for these reasons.
_QUIET = frozenset({GateReason.CLOSED, GateReason.POLICY, GateReason.UNKNOWN, GateReason.LOOKING})


def gate_check(view: GateView, ctx: Context, now: datetime) -> CheckWrite:
    """Return the whole check run of the gate."""
    writer = MarkdownWriter(ctx)
    stand = standing(view)
    conclusion = CONCLUSIONS[stand.kind]
    return CheckWrite(
        name=ctx.gate,
        head_sha=view.sha,
        external_id=ctx.external_id,
        status="completed" if conclusion else "in_progress",
        conclusion=conclusion,
        title=headline(gate_title(writer, view, stand, now), SHOWN_TITLE_CHARS),
        summary=compose(_sections(writer, view, stand, now), TEXT_BYTES),
        completed_at=now if conclusion else None,
        buttons=_buttons(writer, stand) if conclusion else (),
    )


def _buttons(writer: MarkdownWriter, stand: Standing) -> tuple[Button, ...]:
    if stand.kind in _QUIET or stand.kind is GateReason.DRY_RUN:
        return ()
    approve = (writer.button("approve"),) if stand.at(SuiteState.APPROVAL) else ()
    offered = stand.kind is GateReason.FAILED and is_rerunnable(stand)
    return approve + ((writer.button("rerun_failed"),) if offered else ())


def _sections(
    writer: MarkdownWriter, view: GateView, stand: Standing, now: datetime
) -> list[Section]:
    """Return the sections: first the next step, then the suites, the approvals and the policy."""
    if stand.kind is GateReason.POLICY:
        return _policy_errors(writer, view, now)
    if stand.kind is GateReason.UNKNOWN:
        why = stop(capital(writer.prose(view.unknown)))
        more = _UNKNOWN.get(view.unknown.key)
        return [sentences(why, writer.text(more) if more else "")]
    if stand.kind is GateReason.LOOKING:
        return [writer.text("gate_looking_why")]
    if stand.kind is GateReason.CLOSED:
        return [writer.text(_CLOSED.get(view.closed.key, "gate_closed_why"))]
    dry = stand.kind is GateReason.DRY_RUN
    shown = tuple(filter(is_shown, stand.lines))
    waiting = shown if dry else stand.at(SuiteState.APPROVAL)
    ran = tuple(line for line in waiting if line.native and line.run and not dry)
    others = (*ran, *(line for line in shown if line not in waiting))
    return [
        _none(writer, view, stand),
        writer.text("gate_dry_run_why") if dry else "",
        _approval(writer, view, stand),
        _costs(writer, waiting),
        _suites(writer, view, others, now),
        quarantines(writer, stand, view.at),
        next_command(writer, view, stand),
        gate_wait(writer, stand),
        _heavy(writer, view, stand),
        _footer(writer, view, now),
    ]


def _policy_errors(writer: MarkdownWriter, view: GateView, now: datetime) -> list[Section]:
    lines = tuple(f"- {writer.prose(error)}" for error in view.policy_errors)
    rows = Rows("", lines, lambda left: writer.text("more_lines", count=left))
    why = writer.text("gate_policy_why", path=writer.code(POLICY_PATH))
    refs = dict.fromkeys(policy_ref(writer, error) for error in view.policy_errors)
    todo = writer.text(
        "gate_policy_todo",
        path=writer.code(POLICY_PATH),
        ref=listing([writer.code(ref) for ref in refs]),
    )
    return [why, rows, todo, _footer(writer, view, now)]


def _none(writer: MarkdownWriter, view: GateView, stand: Standing) -> Section:
    """Return the reason why no suite is needed."""
    if stand.kind is not GateReason.NONE:
        return ""
    files = _files(writer, view)
    if stand.lines:
        left_out = any(is_not_in(line.run) for line in stand.lines)
        key = "gate_none_left_out" if left_out else "gate_none_optional"
        text = writer.text("gate_none_excused" if excused_suites(stand) else key, files=files)
    else:
        looked = max(len(item.data.suites) for item in view.selections)
        text = writer.text("gate_none_why", files=files, suites=writer.count("suite", looked))
    return sentences(text, _explain(writer, view))


def _explain(writer: MarkdownWriter, view: GateView) -> str:
    if of_group(view):
        return ""
    return writer.text("gate_explain", command=writer.command("explain"))


def _files(writer: MarkdownWriter, view: GateView) -> str:
    return writer.count("changed_file", max(item.data.changed_files for item in view.selections))


def _costs(writer: MarkdownWriter, lines: tuple[SuiteLine, ...]) -> Section:
    """Return the table of the suites to approve, with reasons, places and costs."""
    if not lines:
        return ""
    head = [writer.text(key) for key in ("head_suite", "head_why", "head_where", "head_cost")]
    rows = [
        (
            writer.code(line.suite),
            writer.prose(line.reason),
            _where(writer, line.cost),
            _hours(writer, line.cost),
        )
        for line in lines
    ]
    return suite_table(writer, head, rows)


def suite_table(
    writer: MarkdownWriter, head: list[str], rows: Iterable[tuple[str, ...]]
) -> Section:
    """Return a table that is cut to its first rows where a text is too long."""
    lines = tuple("| " + " | ".join(row) + " |" for row in rows)
    return Rows(table(head, ()), lines, lambda left: writer.text("more_lines", count=left))


def _where(writer: MarkdownWriter, cost: Cost) -> str:
    where = writer.prose(cost.where)
    if cost.nodes > 1:
        return writer.text("cost_nodes", nodes=cost.nodes, npus=cost.npus, where=where)
    return where


def _hours(writer: MarkdownWriter, cost: Cost) -> str:
    return writer.text("cost_hours", hours=number(cost.npu_hours)) if cost.npu_hours else ""


def _approval(writer: MarkdownWriter, view: GateView, stand: Standing) -> Section:
    """Return why nothing starts automatically, who may approve the commit, and how."""
    if not stand.at(SuiteState.APPROVAL) or stand.kind is GateReason.DRY_RUN:
        return ""
    command = writer.command("approve", sha=view.sha)
    asked = [item.data for item in view.selections if item.data.trusted is not None]
    doubted = [data for data in asked if not data.trusted] or asked
    reasons = {data.trust_reason for data in doubted} - {""}
    why = [
        writer.text("gate_trust", reason=capital(writer.prose(item))) for item in sorted(reasons)
    ]
    unseen = any(isinstance(item, Message) and item.key == "trust_unseen" for item in reasons)
    level = Level.MAINTAIN if unseen else view.selections[0].data.approve
    todo = writer.text("gate_approval_why", needed=writer.text(f"level_{level}"), command=command)
    return sentences(*why, todo, _held_up(writer, view), _uncounted(writer, view, stand))


def _held_up(writer: MarkdownWriter, view: GateView) -> str:
    """Say which trusted pull requests wait for another one of the commit, and the way out."""
    trusted = {item.number: item.data.trusted for item in view.selections}
    numbers = {
        name: [f"#{number}" for number in sorted(trusted) if trusted[number] is level]
        for name, level in (("held", True), ("others", False))
    }
    if not all(numbers.values()):
        return ""
    return writer.text("gate_held_up", **{name: listing(them) for name, them in numbers.items()})


def _uncounted(writer: MarkdownWriter, view: GateView, stand: Standing) -> str:
    """Return why native results do not count yet; "" if no native suite waits for an approval."""
    if not any(line.native for line in stand.at(SuiteState.APPROVAL)):
        return ""
    paths = [path for item in view.selections for path in item.data.protected]
    return writer.text("gate_uncounted", path=writer.code(paths[0]))


def _suites(
    writer: MarkdownWriter, view: GateView, lines: tuple[SuiteLine, ...], now: datetime
) -> Section:
    """Return a table of the suites that run or ran. The worst state comes first."""
    if not lines:
        return ""
    head = [writer.text("head_suite"), writer.text("head_state"), writer.text("head_why"), ""]
    order = list(SuiteState)
    rows = [
        (
            writer.code(line.suite),
            line_state(writer, line, now),
            writer.prose(line.reason),
            writer.check_link(view.check_ids.get(line.run.id) if line.run else None),
        )
        for line in sorted(lines, key=lambda line: order.index(line.stand))
    ]
    return suite_table(writer, head, rows)


def line_state(writer: MarkdownWriter, line: SuiteLine, now: datetime) -> str:
    """Return what a suite does now, or why it has no run; and whether it is in quarantine."""
    state = _line_state(writer, line, now)
    return writer.text("row_excused", state=state) if line.excused else state


def _line_state(writer: MarkdownWriter, line: SuiteLine, now: datetime) -> str:
    approved = line.stand is SuiteState.OPEN  # its run has not heard of that yet
    if line.run and line.run.state is State.NEEDS_APPROVAL and approved:
        return writer.text("row_dispatching")
    if line.run:
        return row_state(writer, line.run, now)
    if line.passed_at:
        return writer.text("row_passed_at", sha=writer.code(short(line.passed_at)))
    if line.native:
        return writer.text("row_github")
    return writer.text(_MISSING.get(line.stand, "row_missing"))


def _heavy(writer: MarkdownWriter, view: GateView, stand: Standing) -> Section:
    """List the suites that only a command starts, with costs, and runs that do not count.

    In a dry run, and for a merge group, no command starts anything.
    """
    commanded = not (of_group(view) or stand.kind is GateReason.DRY_RUN)
    by_command = [
        line
        for line in stand.lines
        if commanded and line.heavy and line.by_command and not is_shown(line)
    ]
    parts = []
    if by_command:
        commands = "; ".join(_heavy_one(writer, line) for line in by_command)
        waits = stand.kind is GateReason.APPROVAL
        parts.append(writer.text("gate_heavy_apart" if waits else "gate_heavy", commands=commands))
    optional = [writer.code(line.suite) for line in optional_suites(stand)]
    if optional and stand.kind is not GateReason.NONE:  # which says it first
        parts.append(writer.text("gate_optional", suites=listing(optional, limit=20)))
    return sentences(*parts)


def _heavy_one(writer: MarkdownWriter, line: SuiteLine) -> str:
    command = writer.start(line.suite)
    if not line.cost.npu_hours:
        return command
    npus = writer.count("npu", line.cost.nodes * line.cost.npus)
    cost = writer.text("cost_short", npus=npus, hours=number(line.cost.npu_hours))
    return writer.text("gate_heavy_one", command=command, cost=cost)


def _footer(writer: MarkdownWriter, view: GateView, now: datetime) -> Section:
    approvals = sentences(
        *(
            writer.text("gate_approved", by=writer.prose(item.by.login), at=clock(item.at, now))
            for item in view.approvals
        )
    )
    pulls = _numbers(view.pulls)
    shared = writer.text("gate_shared", pulls=listing(pulls)) if len(pulls) > 1 else ""
    overruled = listing(_numbers(view.overruled))
    alone = writer.text("gate_overruled", pulls=overruled) if overruled else ""
    return sentences(approvals, shared, alone, _policy(writer, view))


def _numbers(pulls: Iterable[Pull]) -> list[str]:
    return [f"#{pull.number}" for pull in pulls]


def _unprotected(writer: MarkdownWriter, view: GateView) -> str:
    """Name the bases whose own policies do not count."""
    bases = dict.fromkeys(item.data.unprotected for item in view.selections)
    return sentences(*(writer.unprotected(base) for base in bases))


def _policy(writer: MarkdownWriter, view: GateView) -> str:
    """Name the policy of the first selection that has one, or else the policy of the context."""
    for item in view.selections:
        if item.data.policy_ref:
            said = writer.policy(item.data.policy_ref, item.policy_sha)
            return sentences(said, _unprotected(writer, view))
    return writer.policy(writer.ctx.policy_ref, writer.ctx.policy_sha)
