"""Suites in every state, and at every kind of end, for what people read of them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace as with_fields

from bot.core.digest.result import Digest, Found, Progress
from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import size
from bot.core.messages import NOTHING, Message
from bot.core.model import run_events as ev
from bot.core.model.queue import Ahead, QueuePosition
from bot.core.model.runs import Outcome
from bot.core.model.usual import GoodRun, Usual
from bot.core.model.views import SuiteView
from bot.core.policy.models import Start
from tests.core import views as s
from tests.core.building import with_changes

NAME = "verl-9f8e7d6-1"
UNIT = with_changes(
    s.SNAPSHOT,
    name="npu-unit",
    title="Unit tests on one node",
    workflow="npu_unit.yml",
    nodes=1,
    pool=None,
    rayjob=False,
)
NATIVE = with_changes(UNIT, start=Start.NATIVE)
UNIT_STORY = (
    s.run_event("14:02", ev.Dispatched(1, found=False)),
    s.run_event("14:03", ev.JobChanged(7, 1, "in_progress", None, "a3-16-0007", "test")),
    s.run_event("14:25", ev.WorkflowRunEnded(1, "failure")),
)
SENT = ev.DispatchRefused(Message("refused_disabled", workflow="npu_unit.yml"))
ENDED = s.run_event("14:25", ev.RayJobChanged(NAME, "Complete", "SUCCEEDED"))
FAILED = s.run_event("14:25", ev.RayJobChanged(NAME, "Failed", "FAILED"))
LAST = Progress(
    15,
    15,
    41.0,
    {
        "critic/rewards/mean": 0.94,
        "actor/loss": 0.0123,
        "perf/max_memory_allocated_gb": 46.2,
        "response_length/mean": 812.0,
    },
)
BEFORE = Progress(
    15,
    15,
    40.0,
    {"critic/rewards/mean": 0.92, "actor/loss": 0.0123, "perf/max_memory_allocated_gb": 46.0},
)
USUAL = Usual(
    "main",
    (
        GoodRun(timedelta(minutes=21), LAST),
        GoodRun(timedelta(minutes=20), BEFORE),
        GoodRun(timedelta(minutes=21)),
    ),
)
EXITS = Digest(
    found=Found.EXIT_CODE,
    root_cause_line=214,
    cause="Process completed with exit code 1.",
    title="12 checks done, 3 differ from the reference",
    excerpt_lines=((214, "Process completed with exit code 1."),),
    lines=214,
    tail=("loss: 0.31, reference: 0.29", "12 checks done, 3 differ from the reference"),
    last="12 checks done, 3 differ from the reference",
)
STOPS = Digest(
    found=Found.NOTHING,
    infra=True,
    root_cause_line=90,
    cause="loading weights",
    title="loading weights",
    lines=90,
    tail=("starting the workers", "loading weights"),
    last="loading weights",
)
ENDS_WELL = Digest(
    found=Found.NOTHING, lines=12, tail=("all done",), last="all done", title="Nothing failed"
)
LOST = Digest(
    failure_class="runner_lost",
    infra=True,
    root_cause_line=9,
    cause="a3-0042 lost communication with the server",
    title="CI runner lost",
    excerpt_lines=((9, "a3-0042 lost communication with the server"),),
    lines=9,
)
FLAKY = with_fields(s.HCCL, cause="HCCL link set-up timed out")


def read(digest: Digest, step: str = "Run tests") -> ev.RunEvent:
    return s.run_event("14:25", ev.LogRead(1, digest=digest, step=step))


LONG = timedelta(hours=3, minutes=38)  # a run that began so long before ended at its limit
LONG_AGO: Mapping[str, datetime] = {
    "created_at": s.at("14:00") - LONG,
    "dispatched_at": s.at("14:02") - LONG,
    "started_at": s.at("14:03") - LONG,
}


def long_ago(*events: ev.RunEvent) -> tuple[ev.RunEvent, ...]:
    return tuple(replace(item, at=item.at - LONG) for item in events)


def queued(why: Message) -> SuiteView:
    return s.suite(s.run(why=why))


def unit(outcome: Outcome, why: Message, *events: ev.RunEvent, **changes: Any) -> SuiteView:
    """Return a suite without a RayJob that ended."""
    run = s.done(outcome, why, **{"suite": "npu-unit", "snapshot": UNIT, **changes})
    return s.suite(run, *UNIT_STORY, *events)


def idle(why: Message) -> SuiteView:
    """Return a suite whose Actions run ended before a runner took a job of it."""
    run = s.done(Outcome.BROKEN, why, suite="npu-unit", snapshot=UNIT)
    return s.suite(run, *UNIT_STORY[::2])


def unsent(why: Message, **changes: Any) -> SuiteView:
    """Return a suite that ended before a runner took it."""
    nowhere: dict[str, Any] = {"started_at": None, "actions_run_id": None, "actions_url": ""}
    run = s.done(Outcome.BROKEN, why, suite="npu-unit", snapshot=UNIT)
    return s.suite(replace(run, **{**nowhere, **changes}), s.run_event("14:03", SENT))


def refused(key: str) -> SuiteView:
    why = Message(key, workflow="npu_unit.yml", ref="main")
    said = {"refused_inputs": 'Unexpected inputs provided: ["script"]'}.get(key, "Not Found")
    return unsent(Message("github_said", why=why, said=said))


def trained(outcome: Outcome, why: Message, digest: Digest | None, **changes: Any) -> SuiteView:
    """Return a training that ended, with its RayJob."""
    final = "SUCCEEDED" if outcome is Outcome.SUCCESS else "FAILED"
    job = s.rayjob(final=final, final_from="watch", digest=digest)
    run = s.done(outcome, why, **changes)
    return s.suite(run, *s.STORY, ENDED if outcome is Outcome.SUCCESS else FAILED, jobs=(job,))


REFUSED = (
    "refused_again",
    "refused_no_workflow",
    "refused_no_branch",
    "refused_no_trigger",
    "refused_inputs",
    "refused_disabled",
    "refused_permission",
    "refused_other",
)
SUCCEEDED = Message("rayjob_succeeded", source=NOTHING)
RAYJOB_FAILED = Message(
    "rayjob_ended_detail", status="FAILED", source=NOTHING, detail="exit code 1"
)
RUN_FAILED = Message("run_failed")
TOO_EARLY = Message("run_too_early", ran=Message("span_min", n=2), minutes=5)
SILENT = Message("submitter_silent", since=s.at("14:41"))
LIMIT = Message("run_limit_stop", minutes=240)
STALLED = Message("run_stalled", minutes=45)
BUSY = QueuePosition(
    "linux-aarch64-a3-16",
    7,
    start_at=s.NOW + timedelta(minutes=40),
    before=(
        Ahead("nightly-gspo", 7012, s.at("13:57"), timedelta(minutes=100)),
        Ahead("npu-unit", None, s.at("14:30"), None),
        Ahead("multinode-ppo", 7013, None, timedelta(minutes=22)),
        Ahead("multinode-eval", 7014, None, None),
    ),
    others=1,
)


def pad_for(body: str) -> int:
    """Return how much longer a cut text must be, so that its next row lacks ten bytes of room."""
    row = max(size(line) for line in body.splitlines()) + 1
    return (TEXT_BYTES - size(body) - (row - 10)) % row
