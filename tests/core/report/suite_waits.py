"""Suites in every state before their end, for what people read of them."""

from collections.abc import Mapping

from bot.core.digest.result import Digest, Progress
from bot.core.messages import NOTHING, Message
from bot.core.messages.words import clock
from bot.core.model import run_events as ev
from bot.core.model.queue import QueuePosition
from bot.core.model.runs import State, StopReason
from bot.core.model.views import SuiteView
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.report.suite_views import (
    BUSY,
    NATIVE,
    RAYJOB_FAILED,
    SILENT,
    UNIT,
    UNIT_STORY,
    queued,
)

NEWER = Message("superseded_by", sha="0a1b2c3")
WAITS: Mapping[str, SuiteView] = {
    "needs-approval": s.suite(s.run(state=State.NEEDS_APPROVAL)),
    "queued-place": s.suite(s.QUEUED),
    "queued-ahead": s.suite(s.run(queue_position=BUSY)),
    "queued-others": s.suite(
        s.run(queue_position=QueuePosition("linux-aarch64-a3-16", 2, others=2))
    ),
    "queued-capacity": s.suite(s.run(queue_position=QueuePosition("pool:a2-cluster", 0))),
    "queued-submitter": queued(
        Message("submitter_down", since=s.at("14:41"), why="the submitter answered 503")
    ),
    "queued-pushes": queued(Message("waits_push")),
    "queued-per-pull": queued(Message("waits_per_pull", n=4, most=4)),
    "queued-hours": queued(
        Message(
            "waits_until",
            why=Message("waits_hours", spent="2,000", limit="2,000"),
            at=clock(s.at("18:40"), s.NOW),
        )
    ),
    "queued-paused": queued(
        Message(
            "waits_paused",
            what="a2-cluster",
            by="carol",
            until=Message("paused_until", at=clock(s.at("18:00"), s.NOW)),
            reason="new firmware",
        )
    ),
    "queued-small": queued(Message("waits_pool_small", npus=8, pool="a2-cluster", now=4)),
    "queued-bare": s.suite(
        s.run(origin=NOTHING, snapshot=with_changes(s.SNAPSHOT, reason=NOTHING, title=""))
    ),
    "queued-native": s.suite(s.run(snapshot=NATIVE, suite="npu-unit", why=Message("waits_github"))),
    "queued-native-approval": s.suite(
        s.run(snapshot=NATIVE, suite="npu-unit", why=Message("waits_approval_github"))
    ),
    **{
        f"queued-native-{key}": s.suite(
            s.run(snapshot=NATIVE, suite="npu-unit", why=Message(f"unstarted_{key}", **fields))
        )
        for key, fields in {
            "conflict": {},
            "skip": {"mark": "`[skip ci]`"},
            "disabled": {"workflow": "`npu_unit.yml`"},
            "inactive": {"workflow": "`npu_unit.yml`"},
            "refused": {"error": "403 Actions has been disabled"},
            "unknown": {},
        }.items()
    },
    "dispatching": s.suite(s.run(state=State.DISPATCHING, why=Message("waits_dispatched"))),
    "dispatching-refused": s.suite(
        s.run(
            state=State.DISPATCHING,
            why=Message("waits_dispatch", since=s.at("14:02"), error="500 Server Error"),
            dispatched_at=s.at("14:02"),
        ),
        s.run_event("14:02", ev.DispatchStarted(1)),
        s.run_event("14:02", ev.DispatchStarted(2)),
        s.run_event("14:03", ev.DispatchStarted(3)),
    ),
    "waiting-for-runner": s.suite(
        s.live(state=State.WAITING_FOR_RUNNER, started_at=None), s.STORY[0]
    ),
    "waiting-offline": s.suite(
        s.live(
            state=State.WAITING_FOR_RUNNER,
            started_at=None,
            why=Message(
                "waits_offline", label="linux-aarch64-a2b3-8", since=clock(s.at("13:10"), s.NOW)
            ),
        ),
        s.STORY[0],
    ),
    "running-progress": s.suite(
        s.live(),
        *s.STORY,
        jobs=(
            s.rayjob(
                deployment="Running", last_line_at=s.at("14:31"), progress=Progress(7, 15, 41.0)
            ),
        ),
    ),
    "running-open-end": s.suite(
        s.live(), jobs=(s.rayjob(confirmed=False, digest=Digest(progress=Progress(1200))),)
    ),
    "running-unconfirmed": s.suite(s.live(), *s.STORY, jobs=(s.rayjob(confirmed=False),)),
    "running-no-progress": s.suite(s.live(), *s.STORY),
    "running-unit": s.suite(s.live(suite="npu-unit", snapshot=UNIT), *UNIT_STORY[:2]),
    "running-at-once": s.suite(
        s.live(
            suite="npu-unit",
            snapshot=UNIT,
            created_at=s.at("14:03"),
            dispatched_at=s.at("14:03"),
        )
    ),
    "running-starting": s.suite(s.live(), *s.STORY[:3], jobs=(s.rayjob(),)),
    "running-unknown-start": s.suite(s.live(started_at=None)),
    "running-silent": s.suite(
        s.live(why=SILENT),
        *s.STORY,
        jobs=(s.rayjob(deployment="Running", silent_since=s.at("14:41")),),
    ),
    "running-end-unknown": s.suite(
        s.live(why=Message("rayjob_end_unknown", why="no such job")),
        *s.STORY,
        jobs=(s.rayjob(deployment="Running"),),
    ),
    "running-on": s.suite(
        s.live(why=Message("rayjob_runs_on")),
        *s.STORY,
        s.run_event("14:10", ev.WorkflowRunEnded(1, "success")),
        jobs=(s.rayjob(deployment="Running", progress=Progress(7, 15, 41.0)),),
    ),
    "running-two-rayjobs": s.suite(
        s.live(),
        *s.STORY,
        jobs=(s.rayjob(deployment="Running"), s.rayjob(job_id="verl-9f8e7d6-2")),
    ),
    "cancelling-person": s.suite(
        s.live(
            state=State.CANCELLING,
            stop_request=s.stop_request(StopReason.CANCEL, "carol"),
            why=Message("waits_cancel"),
        ),
        *UNIT_STORY[:2],
        s.run_event("14:20", ev.CancelSent()),
    ),
    "cancelling-superseded": s.suite(
        s.live(
            state=State.CANCELLING,
            stop_request=s.stop_request(StopReason.SUPERSEDE, "", NEWER),
            why=Message("run_deleting", why=NEWER, left="503"),
        )
    ),
    "cancelling-bare": s.suite(s.live(state=State.CANCELLING)),
    "finishing": s.suite(s.live(state=State.FINISHING, why=Message("waits_log")), *s.STORY),
    "finishing-unit": s.suite(
        s.live(state=State.FINISHING, why=Message("waits_log"), suite="npu-unit", snapshot=UNIT),
        *UNIT_STORY,
    ),
    "finishing-failed": s.suite(
        s.live(state=State.FINISHING, why=RAYJOB_FAILED), *s.STORY, jobs=(s.rayjob(final="FAILED"),)
    ),
}
