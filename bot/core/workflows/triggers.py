"""Read the triggers of a workflow, and find those that a native suite can express."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from bot.core.messages import Message
from bot.core.policy.triggers import OF_PULLS, PUSH, USUAL_TYPES, EventFilters, Triggers
from bot.core.policy.values import MAX_ITEMS, check_pattern
from bot.core.workflows.notes import Missed, Notes, SourceFile, code, listed
from bot.core.workflows.reading import Scalar, Table, Tree, read, words

# GitHub takes only one of each pair for an event.
_EITHER = (("branches", "branches-ignore"), ("paths", "paths-ignore"))

_EVERY_FILE = "**"

# The events whose runs are of no pull request; the bot follows them, too.
APART = ("schedule", "workflow_dispatch", "workflow_run")


@dataclass(frozen=True, slots=True)
class Filters:
    """The path and branch filters of a workflow's pull requests."""

    paths: tuple[str, ...]
    branches: tuple[str, ...] = ()  # empty: every base branch
    line: int = 1
    each_commit: bool = True  # false: `types` excludes commits, so the gate must not wait for it


def events(workflow: Table) -> dict[str, Tree]:
    """Return the events of a workflow and their filters, in whichever form `on` is written."""
    tree = workflow.entries.get("on")
    if isinstance(tree, Table):
        return dict(tree.entries)
    return {word.text: Scalar(word.line, "") for word in words(tree)}


def triggers_of(raws: Mapping[str, bytes]) -> dict[str, Triggers]:
    """Return what may start each workflow for a pull request; ``raws`` are files of anybody."""
    found: dict[str, Triggers] = {}
    for name, raw in raws.items():
        tree = read(SourceFile(name, raw))
        if isinstance(tree, Missed):
            why = Message("triggers_line", line=tree.line, why=tree.reason)
            found[name] = Triggers(problem=why)
        else:
            found[name] = read_triggers(tree)
    return found


def read_triggers(workflow: Table) -> Triggers:
    """Return what may start a workflow for a pull request."""
    asked = [event for event in (*OF_PULLS, PUSH) if event in events(workflow)]
    tables = {event: workflow.table("on").table(event) for event in asked}
    for event, table in tables.items():
        if problem := _problem(event, table):
            return Triggers(problem=problem)
    return Triggers(tuple(_event_filters(event, table) for event, table in tables.items()))


def _event_filters(event: str, table: Table) -> EventFilters:
    of_branches = bool(_texts(table, "branches") or _texts(table, "branches-ignore"))
    return EventFilters(
        event=event,
        types=_texts(table, "types"),
        branches=_texts(table, "branches"),
        branches_ignore=_texts(table, "branches-ignore"),
        paths=_texts(table, "paths"),
        paths_ignore=_texts(table, "paths-ignore"),
        tags_only=not of_branches and not table.entries.keys().isdisjoint(("tags", "tags-ignore")),
    )


def _problem(event: str, table: Table) -> Message | None:
    """Return why GitHub refuses the filters of an event, or why they are not looked at."""
    for pair in _EITHER:
        if all(_texts(table, key) for key in pair):
            keys = {"event": code(event), "one": code(pair[0]), "other": code(pair[1])}
            return Message("triggers_both", line=table.line_of(pair[1]), **keys)
    for key in (key for pair in _EITHER for key in pair):
        written = words(table.entries.get(key))
        if len(written) > MAX_ITEMS:
            return Message("triggers_many", line=table.line_of(key), most=MAX_ITEMS)
        for word in written:
            try:
                check_pattern(word.text)
            except ValueError as error:
                why = Message("triggers_pattern", pattern=code(word.text), why=error.args[0])
                return Message("triggers_line", line=word.line, why=why)
    return None


def _texts(table: Table, key: str) -> tuple[str, ...]:
    return tuple(word.text for word in words(table.entries.get(key)))


def is_for_bot(workflow: Table) -> bool:
    """Return True if the bot dispatches the workflow: it has the bot's id as an input."""
    return "ascend_ci" in workflow.table("on").table("workflow_dispatch").table("inputs").entries


def read_filters(workflow: Table, notes: Notes) -> Filters | None:
    """Return a workflow's pull request filters; None if no suite can express them.

    Note every other trigger whose runs the bot does not follow.
    """
    found = events(workflow)
    filters = None
    for event, tree in islice(found.items(), MAX_ITEMS):
        match event:
            case "pull_request":
                filters = _filters(workflow.table("on").table(event), tree.line, notes)
            case _ if event not in APART:
                _note_event(event, workflow.table("on").line_of(event), notes)
    return filters


def _note_event(event: str, line: int, notes: Notes) -> None:
    text = f"{code(event)} cannot start a native suite; GitHub goes on starting the workflow at it"
    if event == "pull_request_target":
        text += ", with the base branch's code and secrets"
    notes.add(line, text)


def _filters(table: Table, line: int, notes: Notes) -> Filters | None:
    written = words(table.entries.get("paths", table.entries.get("paths-ignore")))
    paths = tuple(_paths(table, notes)) if len(written) <= MAX_ITEMS else ()
    if max(len(written), len(paths)) > MAX_ITEMS:
        notes.add(line, f"has more path filters than the {MAX_ITEMS} that a suite can hold")
        return None
    if not paths or all(path.startswith("!") for path in paths):
        notes.add(line, "its path filters match no file")
        return None
    return Filters(paths, _branches(table, notes), line, each_commit=_each_commit(table, notes))


def _paths(table: Table, notes: Notes) -> Iterator[str]:
    """Yield the suite's path filters: GitHub's filters, or every file except the ignored ones."""
    ignored = table.entries.get("paths-ignore")
    if "paths" in table.entries:
        if ignored is not None:
            text = "`paths-ignore` beside `paths`: GitHub takes only one, `paths` was carried"
            notes.add(table.line_of("paths-ignore"), text)
        yield from _patterns(table.entries["paths"], notes)
        return
    yield _EVERY_FILE
    for word in words(ignored):
        if word.text.startswith("!"):
            notes.add(word.line, f"filter {code(word.text)}: `paths-ignore` knows no `!`")
        elif _is_fit(pattern := f"!{word.text}", word.line, notes):
            yield pattern


def _patterns(tree: Tree | None, notes: Notes) -> Iterator[str]:
    return (word.text for word in words(tree) if _is_fit(word.text, word.line, notes))


def _is_fit(pattern: str, line: int, notes: Notes) -> bool:
    """Return True if a policy can hold ``pattern``; note why it cannot."""
    problem = "" if pattern.isprintable() else "has a character that cannot be shown"
    try:
        check_pattern(pattern)
    except ValueError as error:
        problem = problem or str(error)
    if problem:
        notes.add(line, f"filter {code(pattern)}: {problem}")
    return not problem


def _branches(table: Table, notes: Notes) -> tuple[str, ...]:
    if "branches-ignore" in table.entries:
        text = "`branches-ignore`: a suite cannot leave base branches out"
        notes.add(table.line_of("branches-ignore"), text)
    written = words(table.entries.get("branches"))
    if written:
        text = f"`branches` {listed([word.text for word in written])}: a suite cannot be limited to"
        rest = (
            "base branches; the policy's own `branches` says which of them bring their own policy"
        )
        notes.add(table.line_of("branches"), f"{text} {rest}")
    if len(written) > MAX_ITEMS:
        return ()
    return tuple(_patterns(table.entries.get("branches"), notes))


def _each_commit(table: Table, notes: Notes) -> bool:
    types = _texts(table, "types")
    if not types or set(types) >= USUAL_TYPES:
        return True
    text = f"`types` {listed(types)}: GitHub starts it for some commits only, so it is not required"
    notes.add(table.line_of("types"), text)
    return False
