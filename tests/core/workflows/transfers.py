"""Carries workflow texts over for the tests, and looks at what became of them."""

from bot.core.policy.loading import check_policy
from bot.core.policy.models import Policy
from bot.core.workflows import SourceFile, Transfer, transfer

FOLDER = ".github/workflows/"


def carried(**workflows: str | bytes) -> Transfer:
    """Carry workflows over, each named by its file's stem."""
    return transfer(
        SourceFile(f"{FOLDER}{stem}.yml", text if isinstance(text, bytes) else text.encode())
        for stem, text in workflows.items()
    )


def policy_of(result: Transfer) -> Policy:
    """Return the policy, which must be right and without warnings."""
    assert result.policy is not None
    checked = check_policy(result.policy)
    assert isinstance(checked.result, Policy), f"{checked.result}\n{result.policy}"
    assert checked.warnings == ()
    return checked.result


def missed(result: Transfer) -> list[tuple[int, str]]:
    """Return the line and reason of all that was not carried."""
    return [(one.line, one.reason) for one in result.missed]


def workflow(on: str = "on: pull_request", job: str = "runs-on: linux-aarch64-a3-8") -> str:
    """Return a workflow with one job; the job's first key is on line 4."""
    return f"{on}\njobs:\n  a:\n    {job}\n    timeout-minutes: 60\n"
