"""Edit a policy's text so that it fits its workflows again; comments and order stay.

YAML libraries write a whole file anew. Here only the characters change that have to: the positions
come from the composed nodes. An edit that would break the policy is not made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import yaml

from bot.core.policy.composing import Lines, compose
from bot.core.policy.document import MAX_ALIASES, MAX_DEPTH
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy
from bot.core.workflows.drift import Drift, DriftKind
from bot.core.workflows.suites import Draft
from bot.core.workflows.writing import runner_text, suite_text, word

# How `init --from-workflows` begins the comment above a suite.
_MADE = ("# From .github/workflows/", "#   job ", "#   and ")

Entry = tuple[Any, Any]  # the nodes of a key and its value


class ByHandError(Exception):
    """The text is written in a way that is not edited."""


@dataclass(frozen=True, slots=True)
class Edit:
    """New text for the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


def edited(text: str, found: list[Drift]) -> tuple[str, list[Drift]]:
    """Return the policy's text without the differences, and those to be mended by hand."""
    by_hand = []
    for drift in found:
        try:
            changed = _applied(text, drift)
        except ByHandError:
            changed = None
        if changed is not None and _is_meant(text, changed, drift):
            text = changed
        else:
            by_hand.append(drift)
    return text, by_hand


def _is_meant(before: str, after: str, drift: Drift) -> bool:
    """Return True if both are policies, and nothing else changed than one suite and labels."""
    key = drift.draft.key if drift.draft else drift.suite
    rest = []
    for policy in map(load_policy, (before, after)):
        if not isinstance(policy, Policy):
            return False
        suites = {name: suite for name, suite in policy.suites.items() if name != key}
        rest.append(policy.model_copy(update={"suites": suites, "runners": {}}))
    return rest[0] == rest[1]


def _applied(text: str, drift: Drift) -> str:
    source = _Source(text)
    edits = sorted(source.edits(drift), key=lambda one: (one.start, one.end), reverse=True)
    for edit in edits:
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class _Source:
    """One policy's text and its nodes."""

    def __init__(self, text: str) -> None:
        self._text = text
        root = compose(Lines(text), max_depth=MAX_DEPTH, max_aliases=MAX_ALIASES)
        assert isinstance(root, yaml.MappingNode), "it was loaded as a policy"
        self._root = root

    def edits(self, drift: Drift) -> Iterator[Edit]:
        """Yield the edits for one difference; raise ``ByHandError``."""
        match drift.kind:
            case DriftKind.LACKS if drift.draft is not None:
                yield from self._add_labels(drift.draft.labels)
                yield self._add_suite(drift.draft)
            case DriftKind.GONE if drift.job:
                yield from self._drop_job(drift.suite, drift.job)
            case DriftKind.GONE:
                yield self._drop_suite(drift.suite)
            case DriftKind.LABELS if drift.labels:
                yield from self._add_labels(drift.labels)
                _, runners = self._entry(self._suite(drift.suite)[1], "runners")
                yield from self._set_items(runners, drift.labels)
            case DriftKind.LIMIT:
                yield self._set_number(drift.suite, "timeout_minutes", drift.minutes)
            case DriftKind.NODES:
                yield self._set_number(drift.suite, "nodes", drift.nodes)
            case DriftKind.PATHS:
                paths = self._entry(self._suite(drift.suite)[1], "paths")[1]
                yield from self._set_row(paths, drift.paths)
            case _:
                raise ByHandError

    def _entry(self, mapping: Any, key: str) -> Entry:
        found = self._find(mapping, key)
        if found is None:
            raise ByHandError
        return found

    def _find(self, mapping: Any, key: str) -> Entry | None:
        """Return the entry of a mapping, None if it has none; an alias is not edited."""
        if not isinstance(mapping, yaml.MappingNode):
            raise ByHandError
        entry = next((one for one in mapping.value if one[0].value == key), None)
        if entry is not None and entry[1].start_mark.index < entry[0].end_mark.index:
            raise ByHandError
        return entry

    def _suite(self, key: str) -> Entry:
        return self._entry(self._entry(self._root, "suites")[1], key)

    def _add_suite(self, draft: Draft) -> Edit:
        entry = self._find(self._root, "suites")
        if entry is None:
            return self._at_end(f"\nsuites:\n{suite_text(draft)}")
        suites = entry[1]
        if not suites.value and suites.start_mark.index < suites.end_mark.index:
            span = (suites.start_mark.index, suites.end_mark.index)  # `{}`
            return Edit(*span, self._lines(f"\n{suite_text(draft).rstrip()}"))
        if not suites.value or suites.flow_style:
            raise ByHandError
        column = suites.value[0][0].start_mark.column
        at = self._line_end(_end(suites))
        return self._insert(at, f"\n{_moved(suite_text(draft), column)}")

    def _add_labels(self, labels: tuple[str, ...]) -> Iterator[Edit]:
        runners = self._entry(self._root, "runners")[1]
        known = {key.value.lower() for key, _ in runners.value}
        lines = [runner_text(label) for label in labels if label.lower() not in known]
        if not lines:
            return
        if runners.flow_style:
            items = "".join(f", {line.partition('}')[0].strip()}}}" for line in lines)
            at = _end(runners.value[-1][1])
            yield Edit(at, at, items)
        else:
            column = runners.value[0][0].start_mark.column
            yield self._insert(self._line_end(_end(runners)), _moved("".join(lines), column))

    def _drop_suite(self, key: str) -> Edit:
        """Remove a suite with the comment that `init` made for it; other comments stay."""
        suites = self._entry(self._root, "suites")[1]
        name, suite = self._entry(suites, key)
        if suites.flow_style or len(suites.value) == 1:
            raise ByHandError
        start = self._line_start(name.start_mark.index)
        while (above := self._line_above(start)) is not None and above[1].startswith(_MADE):
            start = above[0]
        end = self._line_end(_end(suite))
        before = self._line_above(start)
        if before is not None and not before[1]:
            start = before[0]
        return Edit(start, end, "")

    def _drop_job(self, suite: str, job: str) -> Iterator[Edit]:
        jobs = self._entry(self._suite(suite)[1], "jobs")[1]
        rest = [item.value for item in jobs.value if item.value != job]
        if rest:
            yield from self._set_items(jobs, rest)
        else:
            yield self._drop_suite(suite)

    def _set_number(self, suite: str, key: str, number: int) -> Edit:
        values = self._suite(suite)[1]
        entry = self._find(values, key)
        if entry is not None:
            span = (entry[1].start_mark.index, entry[1].end_mark.index)
            return Edit(*span, str(number))
        if values.flow_style:
            at = _end(values.value[-1][1])
            return Edit(at, at, f", {key}: {number}")
        column = values.value[0][0].start_mark.column
        line = f"{' ' * column}{key}: {number}\n"
        return self._insert(self._line_end(_end(values)), line)

    def _set_items(self, row: Any, wanted: Any) -> Iterator[Edit]:
        """Give a list other items; those that stay are not touched."""
        items = row.value
        if any(item.start_mark.index < row.start_mark.index for item in items):
            raise ByHandError  # an alias
        held = [item.value.lower() for item in items]
        low = [one.lower() for one in wanted]
        lost = [item for item in items if item.value.lower() not in low]
        new = [one for one in wanted if one.lower() not in held]
        for item, text in zip(lost, new, strict=False):
            yield Edit(item.start_mark.index, item.end_mark.index, word(text))
        for item in lost[len(new) :]:
            yield self._drop_item(row, item)
        rest = new[len(lost) :]
        if rest and row.flow_style:
            at = items[-1].end_mark.index
            yield Edit(at, at, "".join(f", {word(text)}" for text in rest))
        elif rest:
            indent = " " * row.start_mark.column
            lines = "".join(f"{indent}- {word(text)}\n" for text in rest)
            yield self._insert(self._line_end(items[-1].end_mark.index), lines)

    def _set_row(self, row: Any, wanted: tuple[str, ...]) -> Iterator[Edit]:
        """Give a list other items in their order; the lines of those that stay are not touched."""
        items = row.value
        if any(item.start_mark.index < row.start_mark.index for item in items):
            raise ByHandError  # an alias
        if row.flow_style:
            start, end = row.start_mark.index, row.end_mark.index
            if "#" in self._text[start:end]:
                raise ByHandError  # it may be a comment
            yield Edit(start, end, f"[{', '.join(word(text) for text in wanted)}]")
            return
        held = [item.value for item in items]
        indent = " " * row.start_mark.column
        for _, first, last, at, end in _changes(held, wanted):
            lines = "".join(f"{indent}- {word(text)}\n" for text in wanted[at:end])
            start = self._line_end(items[first - 1].end_mark.index) if first else None
            start = self._line_start(items[0].start_mark.index) if start is None else start
            if first < last:
                yield Edit(start, self._line_end(items[last - 1].end_mark.index), "")
            if lines:
                yield self._insert(start, lines)

    def _drop_item(self, row: Any, item: Any) -> Edit:
        at = row.value.index(item)
        if not row.flow_style:
            start = self._line_start(item.start_mark.index)
            return Edit(start, self._line_end(item.end_mark.index), "")
        if at:
            return Edit(row.value[at - 1].end_mark.index, item.end_mark.index, "")
        if len(row.value) == 1:
            raise ByHandError
        return Edit(item.start_mark.index, row.value[1].start_mark.index, "")

    def _at_end(self, text: str) -> Edit:
        return self._insert(len(self._text), text)

    def _insert(self, at: int, text: str) -> Edit:
        """Insert lines; the line before may be the last, without an end."""
        missing = "" if self._text[:at].endswith("\n") else "\n"
        return Edit(at, at, self._lines(f"{missing}{text}"))

    def _lines(self, text: str) -> str:
        return text.replace("\n", "\r\n") if "\r\n" in self._text else text

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """Return where the next line begins."""
        if self._text[:at].endswith("\n"):  # after a block of text
            return at
        return self._text.find("\n", at) + 1 or len(self._text)

    def _line_above(self, start: int) -> tuple[int, str] | None:
        """Return where the line above begins, and its text without blanks around it."""
        if start == 0:
            return None
        above = self._line_start(start - 1)
        return above, self._text[above:start].strip()


def _changes(held: list[str], wanted: tuple[str, ...]) -> list[tuple[str, int, int, int, int]]:
    found = SequenceMatcher(None, held, list(wanted), autojunk=False).get_opcodes()
    return [one for one in found if one[0] != "equal"]


def _end(node: Any) -> int:
    """Return the end of a node's last value: a block's own end lies behind later comments."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _moved(lines: str, column: int) -> str:
    """Return lines that begin with two blanks with as many as the rest of their file."""
    return "".join(
        f"{' ' * column}{line[2:]}" if line.strip() else line for line in lines.splitlines(True)
    )
