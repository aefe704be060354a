"""Columns that hold JSON: what goes in comes out, also after an upgrade and back."""

import json

import msgspec
import pytest
from sqlalchemy.dialects import sqlite

from bot.core.model.snapshot import Pool, Snapshot
from bot.core.policy import Signature, Start, Tier
from bot.store.columns import Packed
from tests.core.building import a_snapshot

DIALECT = sqlite.dialect()
COLUMN = Packed(Snapshot, kept=2)
SIGNATURE = Signature.model_validate(
    {"name": "own", "class": "hccl_comm", "match": "EI0006", "example": "EI0006"}
)


def row_of(frozen: Snapshot) -> str:
    row = COLUMN.process_bind_param(frozen, DIALECT)
    assert row is not None
    return row


@pytest.mark.parametrize(
    "frozen",
    [
        a_snapshot(),
        a_snapshot(
            start=Start.NATIVE,
            tier=Tier.HEAVY,
            inputs={"start": "native"},
            settable={"a": "*"},
            pool=Pool("cluster", 32),
            signatures=(SIGNATURE,),
            redact=("secret-value",),
            altered=("a=b",),
        ),
    ],
)
def test_a_snapshot_comes_back_as_it_was(frozen: Snapshot) -> None:
    assert COLUMN.process_result_value(row_of(frozen), DIALECT) == frozen


def test_a_key_of_the_policy_that_a_later_version_wrote_is_left_out() -> None:
    row = json.loads(row_of(a_snapshot()))
    row["suite"]["colour"] = "red"
    row["log"]["later"] = True
    assert COLUMN.process_result_value(json.dumps(row), DIALECT) == a_snapshot()


def test_a_row_of_another_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        COLUMN.process_result_value("{}", DIALECT)
    with pytest.raises(NotImplementedError, match="no JSON for"):
        COLUMN.process_bind_param(object(), DIALECT)
    with pytest.raises(NotImplementedError, match="in JSON"):
        Packed(complex).process_result_value("{}", DIALECT)
