"""Make a policy from a repository's workflows, and list what the policy cannot express."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.core.policy.document import MAX_BYTES as MAX_POLICY_BYTES
from bot.core.policy.values import MAX_ITEMS
from bot.core.workflows.notes import Missed, Notes, SourceFile
from bot.core.workflows.reading import MAX_BYTES, read
from bot.core.workflows.suites import Draft, draft
from bot.core.workflows.writing import policy_text

__all__ = ["MAX_BYTES", "Missed", "SourceFile", "Transfer", "Workflow", "transfer"]


@dataclass(frozen=True, slots=True)
class Workflow:
    """The result for one workflow: one of its suites, or None and the reason."""

    file: str
    suite: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """The policy's text and everything that it cannot express; None without any suite."""

    policy: str | None
    workflows: tuple[Workflow, ...]
    missed: tuple[Missed, ...]


def transfer(sources: Iterable[SourceFile]) -> Transfer:
    """Make a policy with native suites for the workflows that ask for NPUs.

    The jobs that pull requests start are one suite. Every other job is a suite of its own.
    """
    drafts: dict[str, Draft] = {}
    workflows: list[Workflow] = []
    missed: list[Missed] = []
    for source in sorted(sources, key=lambda one: one.path):
        notes = Notes(source.path)
        made = _draft(source, drafts, notes)
        if isinstance(made, list) and not _holds([*drafts.values(), *made]):
            made = "the policy is full: it holds no further suite"
        if isinstance(made, list):
            drafts |= {one.key: one for one in made}
            workflows += [Workflow(source.path, one.key, one.reason) for one in made]
        else:
            workflows.append(Workflow(source.path, None, made))
        missed += sorted(notes.missed, key=lambda one: one.line)
    text = policy_text(drafts.values()) if drafts else None
    return Transfer(text, tuple(workflows), tuple(missed))


def _draft(source: SourceFile, drafts: dict[str, Draft], notes: Notes) -> list[Draft] | str:
    tree = read(source)
    if isinstance(tree, Missed):
        notes.add(tree.line, tree.reason)
        return "cannot be read"
    return draft(source, tree, drafts, notes)


def _holds(drafts: list[Draft]) -> bool:
    """Return True if a policy can hold ``drafts`` within the limits of its format."""
    labels = {label for one in drafts for label in one.labels}
    few = len(drafts) <= MAX_ITEMS and len(labels) <= MAX_ITEMS
    return few and len(policy_text(drafts).encode()) <= MAX_POLICY_BYTES
