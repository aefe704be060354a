"""Every report as it reads; set UPDATE_GOLDEN to write the files anew, and read the difference."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from bot.core.digest.result import Digest, Progress
from bot.core.messages import Message, quote
from bot.core.model.queue import Ahead, QueuePosition
from bot.core.model.run_events import LogRead
from bot.core.model.runs import Outcome, State, StopReason
from bot.core.model.views import SuiteView
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.commands.commenting import offered
from tests.core.report.goldens import GOLDEN, show_check

SUITES: dict[str, SuiteView] = {
    "needs-approval": s.suite(s.run(state=State.NEEDS_APPROVAL)),
    "queued-place": s.suite(s.QUEUED),
    "queued-ahead": s.suite(
        s.run(
            queue_position=QueuePosition(
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
        )
    ),
    "queued-others": s.suite(
        s.run(queue_position=QueuePosition("linux-aarch64-a3-16", 2, others=2))
    ),
    "queued-capacity": s.suite(s.run(queue_position=QueuePosition("pool:a2-cluster", 0))),
    "queued-submitter": s.suite(s.run(why="submitter unreachable since 14:41")),
    "queued-bare": s.suite(
        s.run(origin="", snapshot=with_changes(s.SNAPSHOT, reason="", title=""))
    ),
    "dispatching": s.suite(s.run(state=State.DISPATCHING, why="looking for the dispatched run")),
    "dispatching-refused": s.suite(
        s.run(
            state=State.DISPATCHING,
            why=Message("waits_dispatch", since=s.at("14:02"), error="500 Server Error"),
        )
    ),
    "waiting-for-runner": s.suite(
        s.live(state=State.WAITING_FOR_RUNNER, started_at=None), s.STORY[0]
    ),
    "running-progress": s.suite(
        s.live(),
        *s.STORY,
        jobs=(
            s.rayjob(
                deployment="Running",
                last_line_at=s.at("14:31"),
                progress=Progress(7, 15, 41.0),
            ),
        ),
    ),
    "running-open-end": s.suite(
        s.live(), jobs=(s.rayjob(confirmed=False, digest=Digest(progress=Progress(1200))),)
    ),
    "running-no-progress": s.suite(s.live(), *s.STORY),
    "running-unknown-start": s.suite(s.live(started_at=None)),
    "running-silent": s.suite(
        s.live(why="submitter unreachable since 14:41"),
        *s.STORY,
        jobs=(s.rayjob(deployment="Running", silent_since=s.at("14:41")),),
    ),
    "cancelling-person": s.suite(
        s.live(
            state=State.CANCELLING,
            stop_request=s.stop_request(StopReason.CANCEL, "carol", "asked by carol"),
        )
    ),
    "cancelling-superseded": s.suite(
        s.live(
            state=State.CANCELLING,
            stop_request=s.stop_request(StopReason.SUPERSEDE, "", "superseded by 0a1b2c3"),
        )
    ),
    "cancelling-bare": s.suite(s.live(state=State.CANCELLING)),
    "finishing": s.suite(s.live(state=State.FINISHING, why="reading the log"), *s.STORY),
    "success": s.suite(
        s.done(Outcome.SUCCESS, "The RayJob succeeded, as its stream says."),
        *s.STORY,
        jobs=(s.rayjob(final="SUCCEEDED", final_from="watch"),),
    ),
    "success-bare": s.suite(s.done(Outcome.SUCCESS, "", started_at=None)),
    "failure-theirs": s.suite(
        s.done(Outcome.FAILURE, "The RayJob ended FAILED, as its stream says."),
        *s.STORY,
        jobs=(s.rayjob(final="FAILED", digest=s.OOM),),
    ),
    "failure-retried": s.suite(
        s.done(Outcome.FAILURE, "The Actions run failed.", retry="the infrastructure failed"),
        s.run_event("14:25", LogRead(1, digest=s.HCCL)),
    ),
    "failure-spent": s.suite(
        s.done(Outcome.FAILURE, "The Actions run failed.", attempt=2, retries=1),
        jobs=(s.rayjob(final="FAILED", digest=s.HCCL),),
    ),
    "failure-environment": s.suite(
        s.done(
            Outcome.FAILURE,
            "The Actions run failed.",
            snapshot=with_changes(s.SNAPSHOT, retryable=False),
        ),
        jobs=(s.rayjob(final="FAILED", digest=s.HCCL),),
    ),
    "failure-no-digest": s.suite(
        s.done(Outcome.FAILURE, "The Actions run failed."),
        s.run_event("14:25", LogRead(1, problem=quote("GitHub answered 410: the log has expired"))),
    ),
    "failure-nothing": s.suite(s.done(Outcome.FAILURE, "")),
    "failure-tail": s.suite(
        s.done(Outcome.FAILURE, "The Actions run failed."),
        jobs=(s.rayjob(final="FAILED", digest=s.NOTHING),),
    ),
    "failure-new-class": s.suite(
        s.done(Outcome.FAILURE, "The Actions run failed."),
        jobs=(
            s.rayjob(
                digest=Digest(failure_class="solar_flare", root_cause_line=7, title="Too bright")
            ),
        ),
    ),
    "timed-out-limit": s.suite(
        s.done(
            Outcome.TIMED_OUT,
            "",
            stop_request=s.stop_request(StopReason.TIME_OUT),
            started_at=s.at("10:25"),
        )
    ),
    "timed-out-stall": s.suite(
        s.done(
            Outcome.TIMED_OUT,
            "no output for 45 min",
            stop_request=s.stop_request(StopReason.STALL),
            retry="the job hung",
        ),
        jobs=(s.rayjob(digest=s.NOTHING),),
    ),
    "timed-out-github": s.suite(
        s.done(Outcome.TIMED_OUT, "The Actions run reached its time limit.")
    ),
    "cancelled-person": s.suite(
        s.done(
            Outcome.CANCELLED,
            "cancelled by carol",
            stop_request=s.stop_request(StopReason.CANCEL, "carol"),
        )
    ),
    "cancelled-github": s.suite(
        s.done(Outcome.CANCELLED, "The Actions run was cancelled on GitHub.")
    ),
    "cancelled-bare": s.suite(s.done(Outcome.CANCELLED, "")),
    "superseded": s.suite(s.done(Outcome.SUPERSEDED, "superseded by 0a1b2c3")),
    "superseded-closed": s.suite(s.done(Outcome.SUPERSEDED, "the pull request was closed")),
    "broken-retried": s.suite(
        s.done(
            Outcome.BROKEN,
            "the workflow ended without a RayJob",
            retry="it was not the change's fault",
        ),
        *s.STORY,
    ),
    "broken-unknown": s.suite(
        s.done(
            Outcome.BROKEN,
            "the RayJob's end is unknown: the submitter has not answered since 14:41",
            retries=1,
            attempt=2,
        ),
        jobs=(s.rayjob(digest=s.NOTHING, silent_since=s.at("14:41")),),
    ),
    "broken-unasked": s.suite(
        s.done(Outcome.BROKEN, "", stop_request=s.stop_request(StopReason.CANCEL, "carol")),
    ),
    "done-without-outcome": s.suite(s.live(state=State.DONE)),
}


def _suite(view: SuiteView) -> str:
    return show_check(suite_check(view, s.CTX, s.NOW))


CASES: dict[str, Callable[[], str]] = {
    f"suite-{name}": partial(_suite, view) for name, view in SUITES.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_report_reads_as_its_golden_file(name: str) -> None:
    made = CASES[name]().rstrip() + "\n"
    path = GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


def test_every_golden_file_is_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("suite-*")} == set(CASES)


def test_each_command_of_a_report_can_be_typed() -> None:
    lines = [line for path in GOLDEN.glob("suite-*") for line in offered(path.read_text("utf-8"))]
    assert len(lines) > 30


@pytest.mark.parametrize("name", CASES)
def test_no_report_shouts_or_shows_pictures(name: str) -> None:
    made = CASES[name]()
    assert "!" not in made.replace("<!--", "")
    assert not [char for char in made if ord(char) > 0x2FFF]
