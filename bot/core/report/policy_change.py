"""The check of a proposed policy: its errors at their lines, else what it changes."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from bot.core.messages.words import count, listing
from bot.core.model.ids import Sha
from bot.core.policy import PolicyError
from bot.core.policy.changes import Before, Change, Comparison, Kind, compare
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.context import Context, Pen
from bot.core.report.markdown import code, title
from bot.core.report.sections import SUMMARY_BYTES, Rows, Section, Whole, compose
from bot.core.report.views import Annotation, CheckWrite, Proposal

ITEMS_SHOWN = 8  # of what a list gained or lost, in one line
VALUE_CHARS = 200  # of a value: one line must not push the others out of the summary
_SIMULATE = "ascend-ci simulate --policy NEW --against OLD --commits FILE"


def render_policy_check(
    comparison: Comparison,
    head_sha: Sha,
    ctx: Context,
    now: datetime,
    path: str = POLICY_PATH,
) -> CheckWrite:
    """Return the whole check run of a pull request that changes the policy at ``path``.

    ``ctx`` names the policy that holds in ``policy_ref`` and ``policy_sha``.
    """
    pen = Pen(ctx)
    return CheckWrite(
        name=f"{ctx.gate} policy",
        head_sha=head_sha,
        external_id=ctx.external_id,
        status="completed",
        conclusion=_conclusion(comparison),
        title=pen.fit_title(_title(pen, comparison)),
        summary=compose(_sections(pen, comparison), SUMMARY_BYTES),
        completed_at=now,
        annotations=tuple(_annotations(pen, comparison, path)),
    )


def policy_check(proposal: Proposal, ctx: Context, now: datetime) -> CheckWrite:
    """Return the check run of a proposal."""
    ctx = replace(
        ctx,
        gate=proposal.gate,
        policy_ref=proposal.ref,
        policy_sha=proposal.policy_sha,
        redact=proposal.redact,
    )
    return render_policy_check(compare(proposal.old, proposal.new), proposal.sha, ctx, now)


def _conclusion(comparison: Comparison) -> str:
    """Return red for errors; neither green nor red for what a maintainer has to want."""
    if comparison.errors:
        return "failure"
    return "neutral" if comparison.loosened or comparison.deleted else "success"


def _title(pen: Pen, comparison: Comparison) -> str:
    if comparison.errors:
        return pen.say("policy_errors", errors=count(len(comparison.errors), "error"))
    if comparison.deleted:
        return pen.say("policy_deleted")
    if comparison.before is Before.BROKEN:
        return pen.say("policy_fixed")
    if comparison.before is Before.NONE:
        suites = [item for item in comparison.changes if item.path.startswith("suites.")]
        return pen.say("policy_first", suites=count(len(suites), "suite"))
    if not comparison.changes:
        return pen.say("policy_same")
    changes = count(len(comparison.changes), "change")
    loosened = len(comparison.loosened)
    key = "policy_loosened" if loosened else "policy_changed"
    return pen.say(key, changes=changes, rules=count(loosened, "rule"))


def _sections(pen: Pen, comparison: Comparison) -> list[Section | None]:
    """Order: what is wrong or said of the whole, each kind of change, warnings, what holds."""
    return [
        _why(pen, comparison),
        _told(pen, "", (_error(pen, error) for error in comparison.errors)),
        *(_kind(pen, comparison, kind) for kind in Kind),
        _told(pen, "kind_warnings", (_error(pen, error) for error in comparison.warnings)),
        _simulate(pen, comparison),
        _holds(pen, comparison),
    ]


def _why(pen: Pen, comparison: Comparison) -> Section | None:
    if comparison.errors:
        return Whole(pen.say("policy_errors_why"))
    if comparison.deleted:
        return Whole(pen.say("policy_deleted_why", gate=pen.code(pen.ctx.gate)))
    if comparison.before is Before.BROKEN:
        return Whole(pen.say("policy_fixed_why"))
    if comparison.before is Before.NONE:
        return Whole(pen.say("policy_first_why"))
    return None if comparison.changes else Whole(pen.say("policy_same_why"))


def _kind(pen: Pen, comparison: Comparison, kind: Kind) -> Section | None:
    return _told(pen, f"kind_{kind}", (_line(pen, change) for change in comparison.of(kind)))


def _told(pen: Pen, head: str, lines: Iterable[str]) -> Section | None:
    told = tuple(lines)
    if not told:
        return None
    title = f"{pen.say(head)}\n" if head else ""
    return Rows(title, told, lambda left: pen.say("more_lines", count=left))


def _error(pen: Pen, error: PolicyError) -> str:
    return f"- {pen.prose(str(error))}"


def _line(pen: Pen, change: Change) -> str:
    """Return one change: its path, what the rule is for, and what became of it."""
    what = f" ({pen.say(change.what)})" if change.what else ""
    told = ", ".join(_parts(pen, change))
    key = "change_told" if told else "change_line"
    return pen.say(key, path=pen.code(change.path), what=what, told=told)


def _parts(pen: Pen, change: Change) -> Iterable[str]:
    if change.value is not None:
        yield _value(pen, change.kind, *change.value)
    added = _items(pen, change.added)
    if added:
        yield added if change.kind is Kind.ADDED else pen.say("change_added", items=added)
    if change.removed:
        yield pen.say("change_removed", items=_items(pen, change.removed))


def _value(pen: Pen, kind: Kind, old: str, new: str) -> str:
    if kind is Kind.ADDED:
        return _code(pen, new)
    if kind is Kind.REMOVED:
        return pen.say("change_was", old=_code(pen, old))
    default = pen.say("change_default")
    return pen.say("change_value", old=_code(pen, old) or default, new=_code(pen, new) or default)


def _items(pen: Pen, items: tuple[str, ...]) -> str:
    return listing([_code(pen, item) for item in items], limit=ITEMS_SHOWN)


def _code(pen: Pen, value: str) -> str:
    return code(title(pen.redact(value), VALUE_CHARS))


def _simulate(pen: Pen, comparison: Comparison) -> Section | None:
    if any(change.path.endswith(".paths") for change in comparison.changes):
        return Whole(pen.say("policy_simulate", command=pen.code(_SIMULATE)))
    return None


def _holds(pen: Pen, comparison: Comparison) -> Section | None:
    """Say which policy this pull request itself is under: never its own."""
    if comparison.before is not Before.READ:
        return None
    ctx = pen.ctx
    known = ctx.policy_ref and ctx.policy_sha
    policy = (
        pen.say("policy_that", ref=pen.code(ctx.policy_ref), sha=pen.code(ctx.policy_sha[:7]))
        if known
        else pen.say("policy_now")
    )
    return Whole(pen.say("policy_holds", policy=policy))


def _annotations(pen: Pen, comparison: Comparison, path: str) -> Iterable[Annotation]:
    levels = (("failure", comparison.errors), ("warning", comparison.warnings))
    for level, problems in levels:
        for item in problems:
            yield Annotation(path, item.line, pen.redact(item.message), pen.words(item.path), level)
