"""A run that waits looks at the queue by itself, in case that nobody poked it."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.messages import Message
from bot.core.model.queue import QueuePosition
from bot.core.queue.state import Blocked
from bot.services.runs.runner import look_again

NOW = datetime(2026, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ahead", "minutes"), [(0, 1), (16, 1), (17, 10), (256, 10), (257, 30), (9999, 30)]
)
def test_the_further_back_a_run_waits_the_more_seldom_it_looks(ahead: int, minutes: int) -> None:
    assert look_again(QueuePosition("a3", ahead), NOW) == NOW + timedelta(minutes=minutes)


def test_a_run_far_back_looks_when_the_rule_that_blocks_it_changes() -> None:
    until = NOW + timedelta(minutes=3)
    assert look_again(Blocked(Message("run_done"), until, ahead=9999), NOW) == until
