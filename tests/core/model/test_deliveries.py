"""A stored webhook."""

from datetime import UTC, datetime

from bot.core.model.deliveries import Delivery


def test_a_webhook_that_was_just_stored_has_not_been_tried() -> None:
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    delivery = Delivery("2f9c", "push", "", 3, "3", at, body=b"{}")
    assert (delivery.tries, delivery.received_at) == (0, at)
