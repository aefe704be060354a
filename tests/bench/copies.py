"""Rows of many runs, copied from those of a few: thousands of real starts would take an hour."""

from dataclasses import replace
from typing import Any

from sqlalchemy import text

from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.workflow_runs import WorkflowRun
from bot.store import tables
from bot.store.database import DbConnection

APART = 10**8  # between a number and its copies
_NUMBERS = ("number", "actions_run_id", "job_id", "github_id", "seq")
_SHAS = ("sha", "head_sha")
_NAMES = ("id", "run_id", "dispatch_id", "external_id", "guid", "subject")
_TABLES = (
    *("pulls", "heads", "selections", "runs", "claimants", "run_events", "holds", "queue"),
    *("workflow_jobs", "checks", "audit", "deliveries"),
)


async def copy_rows(conn: DbConnection, copies: int, *, waiting: bool) -> None:
    """Copy everything that hangs on pull requests so many times; ``waiting``: runs that wait."""
    for name in _TABLES:
        columns = [column.name for column in tables.metadata.tables[name].columns]
        quoted = ", ".join(f'"{column}"' for column in columns)
        await conn.execute(text(f"CREATE TEMPORARY TABLE copied AS SELECT * FROM {name}"))
        for number in range(1, copies + 1):
            new = ", ".join(_copied(column, number) for column in columns)
            await conn.execute(text(f"INSERT INTO {name} ({quoted}) SELECT {new} FROM copied"))
        await conn.execute(text("DROP TABLE copied"))
    if waiting:  # the copies of those that go would hold what is not there
        copied = "substr(id, 27, 1) = 'c'"  # an id has 26 characters
        await conn.execute(text(f"DELETE FROM runs WHERE {copied} AND state <> 'queued'"))
        await conn.execute(text(f"DELETE FROM workflow_jobs WHERE job_id > {APART}"))


def _copied(column: str, copy: int) -> str:
    """Return SQL for the value of a column in a copy."""
    if column in _NUMBERS:
        return f"{column} + {copy * APART}"
    if column in _SHAS:
        return f"'{copy:04x}' || substr({column}, 5)"
    if column in _NAMES:
        return f"{column} || 'c{copy}'"
    if column == "source":  # of claimants: the pull request
        of_pull = f"'pr:' || (CAST(substr(source, 4) AS BIGINT) + {copy * APART})"
        return f"CASE WHEN source LIKE 'pr:%' THEN {of_pull} ELSE source END"
    return f'"{column}"'


def copied_pull(pull: Pull, copy: int) -> Pull:
    """Return a pull request as GitHub shows its copy."""
    sha = Sha(f"{copy:04x}{pull.head_sha[4:]}")
    return replace(pull, number=pull.number + copy * APART, head_sha=sha)


def copied_run(run: WorkflowRun, copy: int) -> WorkflowRun:
    """Return a workflow run as GitHub shows its copy."""
    return replace(run, id=run.id + copy * APART)


def copies_of(items: dict[Any, Any], how: Any, copies: int) -> list[Any]:
    """Return all copies of some values."""
    return [how(item, copy) for copy in range(1, copies + 1) for item in list(items.values())]
