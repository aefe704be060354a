"""A digest is read whatever its row holds; the one that tells the most is shown."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.model.ids import Json
from bot.core.model.run_events import LogRead
from bot.core.report.digest import Pace, best, cause_of, pace, read
from tests.core import shown as s

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = [*s.OOM, "class"]


def test_a_digest_is_read() -> None:
    shown = read(s.OOM)
    assert (shown.kind, shown.infra, shown.lines) == ("oom_device", False, 10_902)
    assert shown.excerpt.splitlines()[1] == " 10813      loss.backward()"
    assert shown.metrics == (("actor/perf/max_memory_allocated_gb", 59.1), ("odd|name", 0.0123))
    assert [item.path for item in shown.annotations] == [
        "verl/workers/engine/fsdp/transformer_impl.py"
    ]


def test_an_excerpt_without_numbers_is_shown_as_it_is() -> None:
    assert read({"excerpt": "plain", "excerpt_lines": []}).excerpt == "plain"
    assert read({"tail": ["a", ["b"], 3]}).tail == "a\n\n"


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
@settings(max_examples=200)
def test_any_row_is_read(data: Json) -> None:
    shown = read(data)
    assert shown.kind
    pace((s.rayjob(digest=data), s.rayjob(progress=data)))


@pytest.mark.parametrize(
    ("progress", "claimant"),
    [
        ({"step": 7, "total": 15, "seconds_per_step": 41.0}, Pace(7, 15, 41.0, 328.0)),
        ({"step": 16, "total": 15, "seconds_per_step": 41.0}, Pace(16, 15, 41.0, 0.0)),
        ({"step": 7, "total": None, "seconds_per_step": None}, Pace(7)),
        ({"step": True}, None),
        ({"step": float("nan")}, None),
        ({"step": -1}, None),
        ({}, None),
    ],
)
def test_progress(progress: Any, claimant: Pace | None) -> None:
    assert pace((s.rayjob(), s.rayjob(progress=progress))) == claimant


def test_a_known_cause_goes_before_an_unknown_one_whatever_its_source() -> None:
    log = s.run_event("14:25", LogRead(1, digest=s.HCCL))
    shown, problem = best(s.suite(s.run(), log, jobs=(s.rayjob(digest=s.NOTHING),)))
    assert shown is not None
    assert (shown.kind, problem) == ("hccl_comm", "")


@pytest.mark.parametrize(
    ("digest", "cause"),
    [
        (
            {"title": "E in a.py:3: too big", "annotations": [{"path": "a.py", "line": 3}]},
            "too big",
        ),
        ({"title": "No room", "annotations": [{"path": "a.py", "line": 3}]}, "No room"),
        ({"title": "No room", "root_cause_line": 7}, "No room"),
        ({"title": "Nothing in this log failed", "root_cause_line": None}, ""),
        (None, ""),
    ],
)
def test_a_table_names_the_cause_without_its_place(digest: Json | None, cause: str) -> None:
    assert cause_of(s.suite(s.run(), jobs=(s.rayjob(digest=digest),))) == cause


def test_the_last_look_into_the_log_counts() -> None:
    old = s.run_event("14:01", LogRead(1, problem="not there yet"))
    new = s.run_event("14:02", LogRead(2, problem="expired"))
    assert best(s.suite(s.run(), new, old)) == (None, "expired")
    assert best(s.suite(s.run())) == (None, "")
