"""Load a policy: the same code for the service, the command line and the policy's check run."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import islice

from pydantic import ValidationError

from bot.core.messages import Message
from bot.core.policy import checks
from bot.core.policy.document import Document, Path, Problem, read
from bot.core.policy.errors import MAX_PROBLEMS, problems_of, shown
from bot.core.policy.models import Policy
from bot.core.policy.tree import RepoTree, tree_problems
from bot.core.policy.values import Budget

# The path of an error that concerns the whole file.
WHOLE_FILE = "file"


@dataclass(frozen=True, slots=True)
class PolicyError:
    """One error of a policy: the dotted path, the line from 1, and the advice."""

    path: str
    line: int
    message: Message

    def __str__(self) -> str:
        return str(self.sentence)

    @property
    def sentence(self) -> Message:
        """Return the whole error as one sentence."""
        return Message("policy_error", line=self.line, path=self.path, message=self.message)


@dataclass(frozen=True, slots=True)
class PolicyErrors:
    """All errors of a policy in the order of the file; never empty."""

    errors: tuple[PolicyError, ...]

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


@dataclass(frozen=True, slots=True)
class Checked:
    """A policy or its errors, and warnings about values that are probably mistakes."""

    result: Policy | PolicyErrors
    warnings: tuple[PolicyError, ...] = ()


def load_policy(source: str | bytes) -> Policy | PolicyErrors:
    """Return the policy in ``source``, or all its errors."""
    return check_policy(source).result


def check_policy(
    source: str | bytes, tree: RepoTree | None = None, *, today: date | None = None
) -> Checked:
    """Return the policy in ``source`` or all its errors, and the warnings.

    With ``tree`` the warnings include what the policy names and its repository does not have. With
    ``today`` a quarantine may not end too late: give it where a person writes the policy, not for
    one in force.
    """
    document = read(source)
    problems = document.problems[:MAX_PROBLEMS]
    policy = None
    if document.data is not None:
        checks.spell_labels(document.data)
        try:
            policy = Policy.model_validate(document.data, context=Budget())
        except ValidationError as error:
            problems += problems_of(error, document)
        problems += islice(checks.problems(document.data, today), MAX_PROBLEMS)
    if problems or policy is None:
        if len(problems) >= MAX_PROBLEMS:
            problems.append(Problem((), Message("policy_many"), document.count))
        return Checked(PolicyErrors(_in_order(problems, document)))
    missing = tree_problems(policy, tree) if tree is not None else ()
    return Checked(policy, _in_order((*checks.warnings(policy, today), *missing), document))


def _in_order(problems: Iterable[Problem], document: Document) -> tuple[PolicyError, ...]:
    """Return ``problems`` in the order of their lines, without repetitions."""
    found = dict.fromkeys(
        PolicyError(_dotted(item.path), _line(item, document), item.message) for item in problems
    )
    return tuple(sorted(found, key=lambda error: error.line))


def _line(problem: Problem, document: Document) -> int:
    return problem.line if problem.line is not None else document.line_of(problem.path)


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{shown(part)}"
    return text.removeprefix(".") or WHOLE_FILE
