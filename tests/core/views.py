"""Rows of every state and outcome, for the tests of what people read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core.digest.result import Digest, Location, Progress
from bot.core.messages import Message, quote
from bot.core.model.ids import RepoId, RunId, Sha
from bot.core.model.pulls import Approval, Pull
from bot.core.model.queue import QueuePosition
from bot.core.model.rayjobs import RayJob
from bot.core.model.run_events import (
    Dispatched,
    JobChanged,
    RayJobChanged,
    RunEvent,
    Source,
    What,
)
from bot.core.model.runs import Outcome, Run, State, StopReason, StopRequest
from bot.core.model.selections import Cost, SelectionDetails, StoredSelection, SuiteSelection
from bot.core.model.snapshot import Label, Snapshot, SnapshotPool
from bot.core.model.views import GateView, SuiteView
from bot.core.policy.levels import Level
from bot.core.policy.models import Limits, Log, Suite, Tier
from bot.core.policy.selection import Choice
from bot.core.report.context import Context
from tests.accounts import account
from tests.core.building import with_changes

NOW = datetime(2026, 8, 22, 15, 2, tzinfo=UTC)
SHA = Sha("9f8e7d6c5b4a39281706f5e4d3c2b1a098765432")
POLICY_SHA = "1a2b3c4d5e6f708192a3b4c5d6e7f80912345678"
REPO = RepoId(7)
CTX = Context("verl-project/verl", public_url="https://ci.example.org")

MATCHES = Message("selected_file", path="`verl/trainer/main_ppo.py`", glob="`verl/**`")
SNAPSHOT = Snapshot(
    name="multinode-ppo",
    suite=Suite(
        title="Two-node PPO, Qwen3-0.6B",
        workflow="ascend_multinode.yml",
        runners=("linux-aarch64-a2b3-8",),
        nodes=2,
        npus=4,
        rayjob=True,
    ),
    ref="main",
    labels=(Label("linux-aarch64-a2b3-8", 8, 2),),
    policy_ref="main",
    policy_sha=POLICY_SHA,
    limits=Limits(),
    log=Log(),
    pool=SnapshotPool("a2-cluster", 32),
    reason=MATCHES,
)


def at(clock: str) -> datetime:
    """Return a time of the day of these tests."""
    hour, minute = map(int, clock.split(":"))
    return NOW.replace(hour=hour, minute=minute)


def run(**changes: Any) -> Run:
    made = Run(
        id=RunId("01J5"),
        repo_id=REPO,
        sha=SHA,
        suite="multinode-ppo",
        attempt=1,
        snapshot=SNAPSHOT,
        created_at=at("14:00"),
        origin=Message("origin_push", sha="9f8e7d6"),
        number=7013,
    )
    why = quote(changes.pop("why", ""))
    return replace(made, why=why, **changes)


def live(**changes: Any) -> Run:
    """Return a run that is on its runner."""
    base = {
        "state": State.RUNNING,
        "label": "linux-aarch64-a2b3-8",
        "actions_run_id": 99,
        "actions_url": "https://github.com/verl-project/verl/actions/runs/99",
        "dispatched_at": at("14:02"),
        "started_at": at("14:03"),
    }
    return run(**{**base, **changes})


def done(outcome: Outcome, why: str, **changes: Any) -> Run:
    """Return a run that ended at 14:25."""
    base = {"state": State.DONE, "outcome": outcome, "why": why, "ended_at": at("14:25")}
    return live(**{**base, **changes})


def run_event(clock: str, what: What) -> RunEvent:
    return RunEvent(RunId("01J5"), Source.RUNNER, at(clock), what)


STORY = (
    run_event("14:02", Dispatched(1, found=False)),
    run_event("14:03", JobChanged(7, 1, "in_progress", None, "a3-16-0007", "test")),
    run_event("14:05", RayJobChanged("verl-9f8e7d6-1", "Initializing", "")),
    run_event("14:09", RayJobChanged("verl-9f8e7d6-1", "Running", "RUNNING")),
)


def rayjob(**changes: Any) -> RayJob:
    made = RayJob("verl-9f8e7d6-1", RunId("01J5"), "announcement", confirmed=True)
    return replace(made, **changes)


def suite(run: Run, *run_events: RunEvent, jobs: tuple[RayJob, ...] = ()) -> SuiteView:
    return SuiteView(run, run_events, jobs)


OOM = Digest(
    failure_class="oom_device",
    root_cause_line=10_816,
    cause="Tried to allocate 4.64 GiB, 59.1 of 60.9 GiB in use on rank 3, in `update_actor`",
    title="RuntimeError in verl/workers/engine/fsdp/transformer_impl.py:743: NPU out of memory",
    excerpt="unused: the numbered lines are there",
    excerpt_lines=(
        (10_812, 'File "/verl/verl/workers/engine/fsdp/transformer_impl.py", line 743'),
        (10_813, "    loss.backward()"),
        (10_816, "RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB"),
    ),
    traceback="Traceback (most recent call last):\n  File x\nRuntimeError: NPU out of memory",
    annotations=(
        Location("verl/workers/engine/fsdp/transformer_impl.py", 743, "NPU out of memory"),
        Location("/usr/lib/python3/x.py", 1, "outside"),
    ),
    hint="Device memory is used up: smaller micro batch or token limit per device, shorter "
    "sequences, offload, or max_split_size_mb.",
    lines=10_902,
    bytes=2_000_000,
    progress=Progress(
        step=1,
        total=15,
        seconds_per_step=41.0,
        metrics={"actor/perf/max_memory_allocated_gb": 59.1, "odd|name": 0.0123, "huge": 1e200},
        line=10_000,
    ),
    tail=("last line",),
)

HCCL = Digest(
    failure_class="hccl_comm",
    infra=True,
    codes=("EI0006",),
    root_cause_line=1,
    cause="rank 11 on node `a3-0042` never joined",
    title="HCCL link set-up timed out",
    excerpt_lines=((1, "EI0006: Getting socket times out"),),
    lines=1,
)

NOTHING = Digest(tail=("step:3 - loss:0.1", "the log stops @here #1"))


def stop_request(kind: StopReason, by: str = "", reason: str = "") -> StopRequest:
    return StopRequest(kind, by, quote(reason), at("14:20"))


def cost(nodes: int = 1, npus: int = 8, hours: float = 8, where: str = "") -> Cost:
    return Cost(nodes, npus, npu_hours=hours, where=where or "linux-aarch64-a2b3-8")


def chosen(
    name: str = "multinode-ppo",
    *,
    selected: bool = True,
    reason: str = MATCHES,
    **changes: Any,
) -> SuiteSelection:
    """Return a suite of a selection."""
    made = SuiteSelection(
        Choice(name, selected, quote(reason)),
        cost(2, 4, 32, "a2-cluster"),
        required=True,
        essence=SNAPSHOT.essence,
        labels=SNAPSHOT.suite.runners,
    )
    return replace(made, **changes)


UNIT = chosen(
    "npu-unit",
    reason=Message("selected_file", path="`verl/utils/device.py`", glob="`verl/**`"),
    cost=cost(),
    required=True,
)
HEAVY = chosen(
    "nightly-grpo-qwen3_5-35b",
    tier=Tier.HEAVY,
    required=False,
    auto=False,
    cost=cost(1, 16, 48, "linux-aarch64-a3-16"),
)
OFF = chosen("docs", selected=False, required=False, reason=Message("selected_none", n=3))


def selection(*suites: SuiteSelection, **changes: Any) -> StoredSelection:
    details = SelectionDetails(
        policy_ref="main",
        trusted=True,
        trust_reason=Message("trust_both"),
        gate="ascend-ci",
        changed_files=3,
        suites=suites,
    )
    return StoredSelection(REPO, SHA, 7013, POLICY_SHA, replace(details, **changes))


PULL = Pull(REPO, 7013, SHA, 8, "main", account("alice"))
APPROVAL = Approval(REPO, SHA, account("bob"), Level.WRITE, "button", at("14:01"))


def gate(*selections: StoredSelection, runs: tuple[Run, ...] = (), **changes: Any) -> GateView:
    errors = tuple(quote(error) for error in changes.pop("policy_errors", ()))
    if errors:
        selections = (*selections, selection(policy_errors=errors, trusted=None))
    made = GateView(
        sha=SHA,
        pulls=(PULL,),
        selections=selections,
        runs=runs,
        check_ids={"01J5": 4711},
        approvals=(),
        closed=quote(changes.pop("closed", "")),
        at=NOW,
    )
    return replace(made, **changes)


def other(name: str, base: Run, **changes: Any) -> Run:
    """Return the run of another suite."""
    snapshot = with_changes(SNAPSHOT, name=name, title="")
    return replace(base, suite=name, id=RunId(f"01J-{name}"), snapshot=snapshot, **changes)


QUEUED = run(queue_position=QueuePosition("label:linux-aarch64-a3-16", 1))
LATER = NOW + timedelta(days=1)
