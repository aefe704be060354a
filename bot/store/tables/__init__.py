"""The tables. Columns are named like the fields of the values that they hold."""

from bot.store.tables.audit import audit
from bot.store.tables.base import metadata
from bot.store.tables.github import approvals, deliveries, heads, policies, pulls, repos, selections
from bot.store.tables.queue import holds, pauses, queue, queue_locks, workflow_jobs
from bot.store.tables.reports import checks, replies, reply_runs
from bot.store.tables.runs import claimants, rayjobs, run_events, runs, tokens
from bot.store.tables.schedules import firings, polls, schedules

__all__ = [
    "approvals",
    "audit",
    "checks",
    "claimants",
    "deliveries",
    "firings",
    "heads",
    "holds",
    "metadata",
    "pauses",
    "policies",
    "polls",
    "pulls",
    "queue",
    "queue_locks",
    "rayjobs",
    "replies",
    "reply_runs",
    "repos",
    "run_events",
    "runs",
    "schedules",
    "selections",
    "tokens",
    "workflow_jobs",
]
