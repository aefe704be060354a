"""The check run of a proposed policy: its mistakes with their lines, or its changes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.github.limits import SHOWN_TITLE_CHARS, TEXT_BYTES
from bot.core.github.markdown import code, headline, title
from bot.core.messages.words import joined, listing, sentences
from bot.core.model.ids import Sha
from bot.core.model.views import Annotation, CheckWrite, Proposal, WorkflowNote
from bot.core.policy.changes import Before, Change, Comparison, Effect
from bot.core.policy.loading import PolicyError
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.context import Context, MarkdownWriter
from bot.core.report.sections import Rows, Section, compose

ITEMS_SHOWN = 8  # of what a list gained or lost, in one line
VALUE_CHARS = 200  # of a value: one line must not push the others out of the summary
_CHECK = f"ascend-ci check-policy {POLICY_PATH}"
_SYNC = "ascend-ci sync --write ."
_SIMULATE = "ascend-ci simulate --policy NEW --against OLD --commits FILE"


@dataclass(frozen=True, slots=True)
class WorkflowNotes:
    """What the policy does not follow of the workflows that a pull request changes."""

    notes: tuple[WorkflowNote, ...] = ()
    unread: int = 0  # workflows that were too many


NO_NOTES = WorkflowNotes()


def render_policy_check(
    comparison: Comparison,
    head_sha: Sha,
    ctx: Context,
    now: datetime,
    workflows: WorkflowNotes = NO_NOTES,
) -> CheckWrite:
    """Return the whole check run of a pull request that changes the policy or workflows.

    ``policy_ref`` and ``policy_sha`` of ``ctx`` name the policy in force.
    """
    writer = MarkdownWriter(ctx)
    return CheckWrite(
        name=f"{ctx.gate} policy",
        head_sha=head_sha,
        external_id=ctx.external_id,
        status="completed",
        conclusion=_conclusion(comparison, workflows),
        title=headline(_title(writer, comparison, workflows), SHOWN_TITLE_CHARS),
        summary=compose(_sections(writer, comparison, workflows), TEXT_BYTES),
        completed_at=now,
        annotations=(*_annotations(writer, comparison), *_workflow_lines(writer, workflows)),
    )


def policy_check(
    proposal: Proposal, comparison: Comparison, ctx: Context, now: datetime
) -> CheckWrite:
    """Return the check run of a proposal that was compared with the policy in force."""
    ctx = replace(
        ctx,
        gate=proposal.gate,
        policy_ref=proposal.ref,
        policy_sha=proposal.policy_sha,
        redact=proposal.redact,
        unprotected=proposal.unprotected,
        language=proposal.language,
    )
    workflows = WorkflowNotes(proposal.notes, proposal.unread)
    return render_policy_check(comparison, proposal.sha, ctx, now, workflows)


def _conclusion(comparison: Comparison, workflows: WorkflowNotes) -> str:
    """Return failure for mistakes, and neutral for what a person has to look at."""
    if comparison.errors:
        return "failure"
    look = comparison.loosened or comparison.deleted or workflows.notes
    return "neutral" if look else "success"


def _is_about_workflows(comparison: Comparison, workflows: WorkflowNotes) -> bool:
    """Return True if the policy stays as it is and the changed workflows do not fit it."""
    return comparison.is_same and bool(workflows.notes)


def _workflow_title(writer: MarkdownWriter, workflows: WorkflowNotes) -> str:
    added = dict.fromkeys(note.path for note in workflows.notes if note.adds)
    if added:
        first = writer.words(next(iter(added)).rpartition("/")[2])
        return writer.text("drift_adds", n=len(added), path=first)
    return writer.text("drift_title", n=len(workflows.notes))


def _title(writer: MarkdownWriter, comparison: Comparison, workflows: WorkflowNotes) -> str:
    if _is_about_workflows(comparison, workflows):
        return _workflow_title(writer, workflows)
    if comparison.errors:
        first = writer.words(comparison.errors[0].sentence)
        return writer.text("gate_policy", n=len(comparison.errors), error=first)
    if comparison.deleted:
        return writer.text("policy_deleted")
    if comparison.before is Before.BROKEN:
        return writer.text("policy_fixed")
    if comparison.before is Before.NONE:
        suites = [item for item in comparison.changes if item.path.startswith("suites.")]
        return writer.text("policy_first", suites=writer.count("suite", len(suites)))
    if not comparison.changes:
        return writer.text("policy_same")
    changes = writer.count("change", len(comparison.changes))
    loosened = len(comparison.loosened)
    key = "policy_loosened" if loosened else "policy_changed"
    return writer.text(key, changes=changes, rules=writer.count("rule", loosened))


def _sections(
    writer: MarkdownWriter, comparison: Comparison, workflows: WorkflowNotes
) -> list[Section]:
    """Return the sections: mistakes, each kind of change, warnings, the policy in force."""
    return [
        "" if _is_about_workflows(comparison, workflows) else _why(writer, comparison),
        _list(writer, "", (_error(writer, error) for error in comparison.errors)),
        writer.text("policy_check_how", command=writer.code(_CHECK)) if comparison.errors else "",
        *(_kind(writer, comparison, kind) for kind in Effect),
        _list(writer, "kind_warnings", (_error(writer, error) for error in comparison.warnings)),
        _list(writer, "kind_workflows", (_note(writer, note) for note in workflows.notes)),
        _sync(writer, workflows),
        _simulate(writer, comparison),
        _holds(writer, comparison),
    ]


def _why(writer: MarkdownWriter, comparison: Comparison) -> Section:
    if comparison.errors:
        late = {error.message.key for error in comparison.errors} == {"policy_quarantine_long"}
        key = "policy_late_why" if late else "policy_errors_why"
        return writer.text(key, path=writer.code(POLICY_PATH))
    if comparison.deleted:
        return writer.text("policy_deleted_why", gate=writer.code(writer.ctx.gate))
    if comparison.before is Before.BROKEN:
        return writer.text("policy_fixed_why")
    if comparison.before is Before.NONE:
        return writer.text("policy_first_why")
    return "" if comparison.changes else writer.text("policy_same_why")


def _kind(writer: MarkdownWriter, comparison: Comparison, kind: Effect) -> Section:
    return _list(writer, f"kind_{kind}", (_line(writer, change) for change in comparison.of(kind)))


def _list(writer: MarkdownWriter, head: str, lines: Iterable[str]) -> Section:
    items = tuple(lines)
    if not items:
        return ""
    title = f"{writer.text(head)}\n" if head else ""
    return Rows(title, items, lambda left: writer.text("more_lines", count=left))


def _error(writer: MarkdownWriter, error: PolicyError) -> str:
    return f"- {writer.prose(error.sentence)}"


def _note(writer: MarkdownWriter, note: WorkflowNote) -> str:
    place = writer.code(f"{note.path}:{note.line}" if note.there else note.path)
    return writer.text("drift_line", place=place, message=writer.prose(note.message))


def _sync(writer: MarkdownWriter, workflows: WorkflowNotes) -> Section:
    """Return how the policy gets to fit the workflows."""
    if not workflows.notes:
        return ""
    unread = writer.text("drift_many", n=workflows.unread) if workflows.unread else ""
    return sentences(unread, writer.text("drift_how", command=writer.code(_SYNC)))


def _workflow_lines(writer: MarkdownWriter, workflows: WorkflowNotes) -> Iterable[Annotation]:
    for note in workflows.notes:
        if note.there:
            message = writer.redact(writer.messages.render(note.message))
            yield Annotation(note.path, note.line, message, level="warning")


def _line(writer: MarkdownWriter, change: Change) -> str:
    """Return one change: its path, the purpose of the rule, the old and the new value."""
    what = writer.text("in_brackets", text=writer.text(change.what)) if change.what else ""
    told = joined(_parts(writer, change))
    key = "change_told" if told else "change_line"
    return writer.text(key, path=writer.code(change.path), what=what, told=told)


def _parts(writer: MarkdownWriter, change: Change) -> Iterable[str]:
    if change.value is not None:
        yield _value(writer, change.kind, *change.value)
    added = _items(writer, change.added)
    if added:
        yield added if change.kind is Effect.ADDED else writer.text("change_added", items=added)
    if change.removed:
        yield writer.text("change_removed", items=_items(writer, change.removed))


def _value(writer: MarkdownWriter, kind: Effect, old: str, new: str) -> str:
    if kind is Effect.ADDED:
        return _code(writer, new)
    if kind is Effect.REMOVED:
        return writer.text("change_was", old=_code(writer, old))
    default = writer.text("change_default")
    return writer.text(
        "change_value", old=_code(writer, old) or default, new=_code(writer, new) or default
    )


def _items(writer: MarkdownWriter, items: tuple[str, ...]) -> str:
    return writer.messages.render(
        listing([_code(writer, item) for item in items], limit=ITEMS_SHOWN)
    )


def _code(writer: MarkdownWriter, value: str) -> str:
    return code(title(writer.redact(writer.messages.render(value)), VALUE_CHARS))


def _simulate(writer: MarkdownWriter, comparison: Comparison) -> Section:
    if any(change.path.endswith(".paths") for change in comparison.changes):
        return writer.text("policy_simulate", command=writer.code(_SIMULATE))
    return ""


def _holds(writer: MarkdownWriter, comparison: Comparison) -> Section:
    """Return a sentence about the policy in force for this pull request. It is never its own."""
    if comparison.before is not Before.READ:
        return ""
    ctx = writer.ctx
    known = ctx.policy_ref and ctx.policy_sha
    policy = (
        writer.text(
            "policy_that", ref=writer.code(ctx.policy_ref), sha=writer.code(ctx.policy_sha[:7])
        )
        if known
        else writer.text("policy_now")
    )
    said = writer.text("policy_holds", policy=policy)
    return sentences(said, writer.unprotected(ctx.unprotected))


def _annotations(writer: MarkdownWriter, comparison: Comparison) -> Iterable[Annotation]:
    levels = (("failure", comparison.errors), ("warning", comparison.warnings))
    for level, problems in levels:
        for item in problems:
            message = writer.redact(writer.messages.render(item.message))
            title = writer.fit_title(writer.words(item.path))
            yield Annotation(POLICY_PATH, item.line, message, title, level)
