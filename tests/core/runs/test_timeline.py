"""The timeline tells a run as it went, whoever was heard first."""

from datetime import timedelta

from bot.core.model.run_events import RunEvent
from bot.core.runs.timeline import in_order, told
from tests.core.building import RUN, at

HEARD = (
    "rayjob:j:Running:RUNNING",
    "rayjob:j:New:",
    "job:7:completed",
    "retried",
    "rayjob:j::PENDING",
    "rayjob:j:Initializing:",
    "delete:1",
    "rayjob:j:Complete:SUCCEEDED",
    "end:1",
    "job:7:in_progress",
    "rayjob:j",
    "dispatched:1",
    "cancel",
    "dispatch:1",
)
GOES = (
    "dispatch:1",
    "dispatched:1",
    "job:7:in_progress",
    "rayjob:j",
    "rayjob:j:New:",
    "rayjob:j::PENDING",
    "rayjob:j:Initializing:",
    "rayjob:j:Running:RUNNING",
    "rayjob:j:Complete:SUCCEEDED",
    "job:7:completed",
    "cancel",
    "end:1",
    "delete:1",
    "retried",
)


def run_event(key: str, second: int, text: str = "x") -> RunEvent:
    return RunEvent(RUN.id, "runner", key, at(0) + timedelta(seconds=second), {"text": text})


def test_within_a_minute_facts_stand_as_a_run_goes() -> None:
    heard = [run_event(key, second) for second, key in enumerate(HEARD)]
    assert tuple(item.key for item in in_order(heard)) == GOES


def test_between_minutes_time_decides() -> None:
    keys = [item.key for item in in_order([run_event("dispatch:2", 61), run_event("end:1", 59)])]
    assert keys == ["end:1", "dispatch:2"]


def test_a_dispatch_is_told_once_and_what_has_no_text_is_not_told() -> None:
    begun = [run_event("dispatch:1", 0), run_event("search:1:1", 2, text="")]
    assert [item.key for item in told(begun)] == ["dispatch:1"]
    sent = [*begun, run_event("dispatch:2", 3), run_event("dispatched:1", 5)]
    assert [item.key for item in told(sent)] == ["dispatch:2", "dispatched:1"]
