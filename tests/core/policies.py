"""Policies written by hand for the tests of the policy and of matching."""

from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy

BASE = """\
version: 1
runners:
  npu-8: {npus: 8, slots: 2}
  npu-16: {npus: 16}
pools: {cluster: {npus: 32}}
suites:
  unit:
    workflow: unit.yml
    runners: [npu-8]
"""


def loaded(text: str) -> Policy:
    """Return the policy of a text that must be right."""
    result = load_policy(text)
    assert isinstance(result, Policy), str(result)
    return result


def errors(text: str | bytes) -> list[tuple[str, int, str]]:
    """Return path, line and message of every error of a text that must be wrong."""
    result = load_policy(text)
    assert isinstance(result, PolicyErrors)
    return [(error.path, error.line, error.message) for error in result.errors]


def with_suite(*lines: str) -> str:
    """Return the base policy with ``lines`` added to its suite, the first as line 10."""
    return BASE + "".join(f"    {line}\n" for line in lines)
