"""Suites at every kind of end, for what people read of them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from msgspec.structs import replace as with_fields

from bot.core.digest.result import Digest, Found, Progress, Unread
from bot.core.messages import NOTHING, Message, quote
from bot.core.model import run_events as ev
from bot.core.model.runs import Outcome, State, StopReason
from bot.core.model.views import SuiteView
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.report.suite_views import (
    ENDS_WELL,
    EXITS,
    FLAKY,
    LAST,
    LIMIT,
    LONG_AGO,
    LOST,
    NAME,
    RAYJOB_FAILED,
    REFUSED,
    RUN_FAILED,
    STALLED,
    STOPS,
    SUCCEEDED,
    TOO_EARLY,
    UNIT,
    UNIT_STORY,
    USUAL,
    idle,
    long_ago,
    read,
    refused,
    trained,
    unit,
    unsent,
)

STOPPED = {"stop_request": s.stop_request(StopReason.TIME_OUT)}
HUNG = {"stop_request": s.stop_request(StopReason.STALL)}
AT_STEP = s.rayjob(progress=Progress(7, 15, 41.0), final="STOPPED", digest=Digest(tail=("step 7",)))
NO_RAYJOB = s.done(Outcome.BROKEN, Message("rayjob_none"))
UNKNOWN_END = Message(
    "run_limit_unknown",
    why=Message("rayjob_end_unknown", why=Message("submitter_says", state="NOT_FOUND")),
)
SILENT_LONG = Message("submitter_silent", since=s.at("13:41"))
INFRA = Message("again_infra")

ENDS: Mapping[str, SuiteView] = {
    "success": replace(trained(Outcome.SUCCESS, SUCCEEDED, Digest(progress=LAST)), usual=USUAL),
    "success-first": trained(Outcome.SUCCESS, SUCCEEDED, Digest(progress=LAST)),
    "success-unit": unit(Outcome.SUCCESS, Message("run_passed")),
    "success-by-command": unit(
        Outcome.SUCCESS,
        Message("run_passed"),
        origin=quote("bob"),
        forced="carol",
        snapshot=replace(
            with_changes(UNIT, reason=Message("selected_asked", who="bob")),
            altered=("script=a.sh",),
        ),
    ),
    "success-nightly": unit(
        Outcome.SUCCESS,
        Message("run_passed"),
        number=None,
        origin=Message("origin_nightly", name="often", at=s.at("14:00")),
        snapshot=with_changes(UNIT, reason=Message("selected_nightly", name="often")),
    ),
    "success-bare": s.suite(s.done(Outcome.SUCCESS, "", started_at=None)),
    "success-died": unit(
        Outcome.SUCCESS,
        Message("died_at", cause=s.OOM.what, step=7, total=15),
        read(with_fields(s.OOM, hidden=True)),
    ),
    "success-short": unit(
        Outcome.SUCCESS,
        Message("died_short", step=7, total=15),
        read(Digest(hidden=True, found=Found.NOTHING, tail=("step:7 - loss:0.2",))),
    ),
    "failure-died-unexplained": unit(
        Outcome.FAILURE,
        Message("died_unexplained"),
        read(Digest(hidden=True, found=Found.NOTHING, tail=("33% tests passed",))),
    ),
    "failure-died": unit(
        Outcome.FAILURE,
        Message("died", cause=s.OOM.what),
        read(with_fields(s.OOM, hidden=True)),
    ),
    "failure-short": unit(
        Outcome.FAILURE,
        Message("died_short", step=7, total=15),
        read(Digest(hidden=True, found=Found.NOTHING, tail=("step:7 - loss:0.2",))),
    ),
    "failure-theirs": trained(Outcome.FAILURE, RAYJOB_FAILED, s.OOM),
    "failure-usual": replace(trained(Outcome.FAILURE, RAYJOB_FAILED, s.OOM), usual=USUAL),
    "failure-retried": unit(Outcome.FAILURE, RUN_FAILED, read(s.HCCL), retry=INFRA),
    "failure-spent": trained(Outcome.FAILURE, RAYJOB_FAILED, FLAKY, attempt=2, retries=1),
    "failure-infra": unit(Outcome.FAILURE, RUN_FAILED, read(LOST), attempt=2, retries=1),
    "failure-environment": trained(
        Outcome.FAILURE, RAYJOB_FAILED, LOST, snapshot=with_changes(s.SNAPSHOT, retryable=False)
    ),
    "failure-no-cause": unit(Outcome.FAILURE, RUN_FAILED, read(EXITS)),
    "failure-no-cause-rayjob": trained(Outcome.FAILURE, RAYJOB_FAILED, EXITS),
    "failure-stops": unit(Outcome.FAILURE, RUN_FAILED, read(STOPS), attempt=2, retries=1),
    "failure-stops-retried": unit(
        Outcome.FAILURE, RUN_FAILED, read(STOPS, ""), retry=Message("again_silent")
    ),
    "failure-silent-step": unit(Outcome.FAILURE, RUN_FAILED, read(Digest(found=Found.NOTHING))),
    "failure-silent": unit(Outcome.FAILURE, RUN_FAILED, read(Digest(found=Found.NOTHING), "")),
    "failure-unread-rayjob": trained(Outcome.FAILURE, RAYJOB_FAILED, None),
    "failure-unread": unit(
        Outcome.FAILURE,
        RUN_FAILED,
        s.run_event("14:25", ev.LogRead(1, problem=Message("log_refused", error="Gone"))),
    ),
    "failure-no-log": unit(Outcome.FAILURE, RUN_FAILED),
    "failure-nothing": s.suite(s.done(Outcome.FAILURE, "")),
    "failure-partly-read": unit(
        Outcome.FAILURE, RUN_FAILED, read(with_fields(EXITS, unread=Unread.SIZE))
    ),
    "failure-new-class": trained(
        Outcome.FAILURE,
        RAYJOB_FAILED,
        Digest(failure_class="solar_flare", root_cause_line=7, title="Too bright"),
    ),
    "failure-hidden": unit(Outcome.FAILURE, Message("run_job_failed", job="test (8)")),
    "failure-left": s.suite(
        s.done(Outcome.FAILURE, Message("run_leftover", why=RUN_FAILED, left="no answer")),
        *s.STORY,
        read(EXITS),
        s.run_event("14:26", ev.RayJobsDeleted(1, "no answer")),
        s.run_event("14:40", ev.RayJobsDeleted(2, "no answer")),
        jobs=(s.rayjob(deployment="Running"),),
    ),
    "failure-left-ended": s.suite(
        s.done(Outcome.FAILURE, Message("run_leftover", why=RUN_FAILED, left="no answer")),
        *s.STORY,
        read(EXITS),
        jobs=(s.rayjob(final="FAILED"),),
    ),
    "failure-two-rayjobs": s.suite(
        s.done(Outcome.FAILURE, RAYJOB_FAILED),
        *s.STORY,
        jobs=(
            s.rayjob(final="SUCCEEDED"),
            s.rayjob(job_id="verl-9f8e7d6-2", final="FAILED", digest=s.OOM),
        ),
    ),
    "failure-pushed": unit(Outcome.FAILURE, RUN_FAILED, read(EXITS), number=None),
    "timed-out-limit": s.suite(
        s.done(Outcome.TIMED_OUT, LIMIT, **LONG_AGO, **STOPPED),
        *long_ago(*s.STORY),
        jobs=(AT_STEP,),
    ),
    "timed-out-stall": s.suite(
        s.done(Outcome.TIMED_OUT, STALLED, **HUNG, retry=Message("again_hung")),
        *s.STORY,
        jobs=(AT_STEP,),
    ),
    "timed-out-open-end": s.suite(
        s.done(Outcome.TIMED_OUT, LIMIT, **LONG_AGO, **STOPPED),
        *long_ago(*s.STORY),
        jobs=(replace(AT_STEP, progress=Progress(1200)),),
    ),
    "timed-out-github": unit(Outcome.TIMED_OUT, Message("run_timed_out")),
    "timed-out-by-hand": s.suite(
        s.done(
            Outcome.TIMED_OUT,
            Message("run_limit", minutes=240),
            suite="npu-unit",
            snapshot=UNIT,
            **LONG_AGO,
        ),
        *long_ago(*UNIT_STORY[:2]),
        UNIT_STORY[2],
    ),
    "timed-out-rayjob": s.suite(
        s.done(
            Outcome.TIMED_OUT,
            Message("rayjob_ended", status="TIMEOUT", source=NOTHING),
        ),
        *s.STORY,
        jobs=(s.rayjob(final="TIMEOUT"),),
    ),
    "cancelled-person": s.suite(
        s.done(
            Outcome.CANCELLED,
            Message("cancelled_by_person", by="carol"),
            stop_request=s.stop_request(StopReason.CANCEL, "carol"),
        ),
        *s.STORY,
        s.run_event("14:20", ev.CancelSent()),
        s.run_event("14:21", ev.RayJobsDeleted(1)),
        jobs=(s.rayjob(final="STOPPED"),),
    ),
    "cancelled-github": unit(Outcome.CANCELLED, Message("run_cancelled")),
    "cancelled-needs": unit(Outcome.CANCELLED, Message("run_needs_cancelled", job="build")),
    "cancelled-bare": s.suite(s.done(Outcome.CANCELLED, "")),
    "superseded": s.suite(s.done(Outcome.SUPERSEDED, Message("superseded_by", sha="0a1b2c3"))),
    "superseded-closed": s.suite(s.done(Outcome.SUPERSEDED, Message("drop_closed"))),
    "superseded-untrusted": s.suite(
        s.done(Outcome.SUPERSEDED, Message("drop_untrusted", why=Message("trust_author")))
    ),
    "broken-no-rayjob": s.suite(
        NO_RAYJOB, *UNIT_STORY[:2], s.run_event("14:25", ev.RayJobsDeleted(1)), read(ENDS_WELL, "")
    ),
    "broken-retried": s.suite(replace(NO_RAYJOB, retry=Message("again_broken")), *UNIT_STORY[:2]),
    "broken-unknown-end": s.suite(
        s.done(Outcome.BROKEN, UNKNOWN_END, retries=1, attempt=2, **LONG_AGO),
        *long_ago(*s.STORY),
        jobs=(s.rayjob(final="NOT_FOUND", digest=STOPS),),
    ),
    "broken-silent": s.suite(
        s.done(Outcome.BROKEN, Message("run_limit_unknown", why=SILENT_LONG), **LONG_AGO),
        *long_ago(*s.STORY),
        jobs=(s.rayjob(silent_since=s.at("13:41")),),
    ),
    "broken-unconfirmed": s.suite(
        s.done(
            Outcome.BROKEN,
            Message("run_limit_unknown", why=Message("rayjob_not_confirmed", job=NAME)),
            **LONG_AGO,
        ),
        *long_ago(*s.STORY),
        *long_ago(s.run_event("14:06", ev.RayJobForeign(NAME))),
        jobs=(s.rayjob(confirmed=False),),
    ),
    "broken-too-early": s.suite(
        s.done(Outcome.BROKEN, TOO_EARLY, suite="npu-unit", snapshot=UNIT, ended_at=s.at("14:05")),
        *UNIT_STORY[:2],
        s.run_event("14:05", ev.WorkflowRunEnded(1, "success")),
        read(ENDS_WELL, ""),
    ),
    "broken-idle": idle(Message("run_idle", label="linux-aarch64-a2b3-8")),
    "broken-idle-elsewhere": unit(
        Outcome.BROKEN, Message("run_idle", label="linux-aarch64-a2b3-8")
    ),
    "broken-no-job": unit(Outcome.BROKEN, Message("run_no_job", jobs=("unit", "e2e *"))),
    "skipped-by-condition": unit(Outcome.SKIPPED, Message("run_not_in")),
    "failure-needs": unit(Outcome.FAILURE, Message("run_needs", job="build"), read(FLAKY, "")),
    "failure-needs-unread": unit(Outcome.FAILURE, Message("run_needs", job="build")),
    "failure-of-jobs": unit(Outcome.FAILURE, Message("run_own_failed")),
    "broken-skipped": idle(Message("run_skipped")),
    "broken-startup": idle(Message("run_startup")),
    "broken-deleted": unit(Outcome.BROKEN, Message("run_deleted")),
    "broken-no-runner": s.suite(
        s.done(
            Outcome.BROKEN,
            Message("run_no_runner"),
            started_at=None,
            created_at=s.at("14:00") - timedelta(days=1),
            dispatched_at=s.at("14:25") - timedelta(days=1),
            stop_request=s.stop_request(StopReason.NO_RUNNER),
        ),
        s.STORY[0],
    ),
    "broken-not-taken": unsent(Message("run_not_taken", tries=3)),
    "broken-hidden": unsent(Message("run_hidden", workflow="npu_unit.yml")),
    "broken-hidden-rerun": unsent(Message("run_hidden_rerun", workflow="npu_unit.yml")),
    **{f"broken-{key.replace('_', '-')}": refused(key) for key in REFUSED},
    "broken-app-removed": unsent(Message("run_app_removed")),
    "broken-unasked": s.suite(
        s.done(Outcome.BROKEN, "", stop_request=s.stop_request(StopReason.CANCEL, "carol"))
    ),
    "done-without-outcome": s.suite(s.live(state=State.DONE)),
}
