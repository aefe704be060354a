"""A message is kept by its key and fields, whatever text is in them."""

from datetime import UTC, datetime

import pytest
from sqlalchemy.dialects import sqlite

from bot.core.messages import NOTHING, Message, quote
from bot.core.model.runs import StopReason, StopRequest
from bot.store.columns import Packed, Sentence

NOW = datetime(2026, 8, 22, tzinfo=UTC)
DIALECT = sqlite.dialect()


@pytest.mark.parametrize(
    "message",
    [
        NOTHING,
        Message("run_limit", minutes=240),
        Message("run_leftover", why=Message("run_stalled", minutes=45), left="verl-1"),
        quote('NUL \x00, "quotes" and 中文'),
    ],
)
def test_a_message_is_kept_with_its_key(message: Message) -> None:
    column = Sentence()
    kept = column.process_result_value(column.process_bind_param(message, DIALECT), DIALECT)
    assert kept == message
    assert kept.key == message.key


def test_half_a_surrogate_is_replaced() -> None:
    column = Sentence()
    kept = column.process_bind_param(quote("\ud800"), DIALECT)
    assert column.process_result_value(kept, DIALECT) == "?"


def test_a_message_inside_a_value_is_kept_with_its_key() -> None:
    column = Packed(StopRequest)
    request = StopRequest(StopReason.STALL, "", Message("run_stalled", minutes=45), NOW)
    kept = column.process_result_value(column.process_bind_param(request, DIALECT), DIALECT)
    assert kept == request
    assert kept.reason.key == "run_stalled"


def test_what_is_no_message_and_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        Packed(object).process_bind_param(object(), DIALECT)
