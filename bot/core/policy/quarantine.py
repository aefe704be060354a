"""Suites and tests whose failures do not count for some days, and who answers for them.

Editors show the field descriptions: they become the published JSON Schema.
"""

from datetime import UTC, date, datetime

from pydantic import Field

from bot.core.policy import values as v
from bot.core.policy.part import PolicyPart


class Quarantine(PolicyPart):
    """A suite, or tests of it, whose failures the gate does not count before a day."""

    suite: v.SuiteKey = Field(description="The suite")
    test: v.TestPattern | None = Field(
        None,
        description="Only these tests, by pytest's ids, like tests/test_a.py::test_b[x]; `*` is any"
        " text; default: whatever fails in the suite",
    )
    until: v.Day = Field(
        description="First day on which it counts again, like 2026-12-31, in UTC; at most 30 days"
        " ahead"
    )
    owner: v.Owner = Field(description="Login or team that makes it pass again")
    reason: v.Reason = Field(description="Why it fails, in a sentence")
    issue: v.Issue = Field(description="Issue that tracks it: its number or its URL")

    @property
    def ends_at(self) -> datetime:
        """Return the moment from which on failures count again."""
        return datetime.combine(date.fromisoformat(self.until), datetime.min.time(), UTC)
