"""Every report as it reads; set UPDATE_GOLDEN to write the files anew, and read the difference."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.core.digest.result import Digest, Progress
from bot.core.github.markdown import code
from bot.core.messages import Message, Messages, quote
from bot.core.model.ids import RunId
from bot.core.model.queue import Ahead, QueuePosition
from bot.core.model.run_events import LogRead
from bot.core.model.runs import Outcome, State, StopReason
from bot.core.model.views import CheckWrite, GateView, Reply, SuiteView
from bot.core.policy.changes import Comparison
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Tier
from bot.core.report.gate import gate_check
from bot.core.report.policy_change import render_policy_check
from bot.core.report.reply import reply_body
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.commands.commenting import offered
from tests.core.proposed import PROPOSED

GOLDEN = Path(__file__).parent / "golden"

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

AUTHOR = "the author may not start runs here"
PROTECTED = (
    "it changes `.github/x.yml`, which needs an author and a pusher who maintain this repository,"
    " or an approval"
)
ONE = s.selection(s.chosen(), s.UNIT, s.HEAVY, s.OFF)
GREEN = s.done(Outcome.SUCCESS, "The RayJob succeeded, as its stream says.")
RED = s.done(Outcome.FAILURE, "The RayJob ended FAILED")

GATES: dict[str, GateView] = {
    "none": s.gate(s.selection(s.OFF, s.OFF)),
    "none-optional": s.gate(s.selection(s.chosen(required=False), s.OFF)),
    "looking": s.gate(),
    "unknown": replace(s.gate(), unknown=Message("gate_unanswered", error="pull_files: 403 no")),
    "approval": s.gate(
        s.selection(s.chosen(), s.UNIT, s.HEAVY, trusted=False, trust_reason=AUTHOR)
    ),
    "approval-optional": s.gate(
        s.selection(s.chosen(required=False), trusted=False, trust_reason=AUTHOR)
    ),
    "approval-protected": s.gate(
        s.selection(s.chosen(), trusted=False, trust_reason=PROTECTED, approve=Level.MAINTAIN)
    ),
    "approval-run": s.gate(
        s.selection(s.chosen(), trusted=False, trust_reason="", policy_ref=""),
        runs=(s.run(state=State.NEEDS_APPROVAL),),
        check_ids={},
    ),
    "approved": s.gate(
        s.selection(s.chosen()),
        runs=(s.run(state=State.NEEDS_APPROVAL),),
        approvals=(s.APPROVAL,),
    ),
    "draft": s.gate(s.selection(s.chosen(), draft=True)),
    "command": s.gate(
        s.selection(s.chosen(auto=False, tier=Tier.HEAVY), s.chosen("b", auto=False))
    ),
    "dry-run": s.gate(s.selection(s.chosen(), s.UNIT, s.HEAVY, mode=Mode.DRY_RUN, trusted=False)),
    "dry-run-nothing": s.gate(s.selection(s.OFF, mode=Mode.DRY_RUN)),
    "policy": s.gate(
        policy_errors=("line 3, suites.a.paths: `[` is not closed @bob", "line 9: unknown key"),
    ),
    "closed": s.gate(ONE, closed="superseded by 0a1b2c3"),
    "running": s.gate(ONE, runs=(GREEN, s.other("npu-unit", s.QUEUED))),
    "passed": s.gate(ONE, runs=(GREEN, s.other("npu-unit", GREEN))),
    "passed-one": s.gate(s.selection(s.chosen()), runs=(GREEN,)),
    "failed-one": s.gate(ONE, runs=(RED, s.other("npu-unit", GREEN))),
    "failed-two": s.gate(
        ONE, runs=(RED, s.other("npu-unit", RED)), pulls=(s.PULL, replace(s.PULL, number=7014))
    ),
    "failed-cancelled": s.gate(
        s.selection(s.chosen()),
        runs=(
            s.done(
                Outcome.CANCELLED,
                "cancelled by carol",
                stop_request=s.stop_request(StopReason.CANCEL, "carol"),
            ),
        ),
    ),
    "failed-cancelled-github": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.CANCELLED, "cancelled on GitHub"),)
    ),
    "failed-broken": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.BROKEN, "no runner took the job"),)
    ),
    "failed-no-outcome": s.gate(s.selection(s.chosen()), runs=(s.live(state=State.DONE),)),
    "retried": s.gate(
        s.selection(s.chosen()),
        runs=(RED, replace(s.live(), attempt=2, id=RunId("01J6"))),
    ),
}


def _refusals() -> str:
    messages = Messages()
    return "\n\n".join(
        (
            messages(
                "refuse_level",
                suite=code("nightly-gspo-qwen3-8b"),
                tier=Tier.HEAVY,
                needed=Level.WRITE,
                level=Level.TRIAGE,
                todo=messages(
                    "ask_comment",
                    needed=Level.WRITE,
                    command=code("/ascend-e2e nightly-gspo-qwen3-8b --sha 9f8e7d6c5b4a"),
                ),
            ),
            messages(
                "refuse_moved",
                old="1111111",
                new="2222222",
                span="4 s",
                command=code("/ascend-e2e approve --sha 222222233333"),
            ),
            messages(
                "refuse_suite",
                suite=code("multinod-ppo"),
                guess=messages("guess", guess=code("multinode-ppo")),
            ),
        )
    )


def _show(check: CheckWrite) -> str:
    parts = [
        f"name: {check.name}",
        f"status: {check.status} {check.conclusion or ''}".rstrip(),
        f"title: {check.title}",
        f"details: {check.details_url}".rstrip(),
        *(f"button: {b.identifier} / {b.label} / {b.description}" for b in check.buttons),
        *(f"annotation: {a.path}:{a.line} {a.title} / {a.message}" for a in check.annotations),
    ]
    return "\n".join((*parts, "", "--- summary", check.summary, "", "--- text", check.text))


def _reply() -> str:
    runs = (
        s.done(Outcome.FAILURE, "NPU out of memory"),
        s.other("nightly-gspo-qwen3-8b", GREEN, started_at=s.at("13:33")),
        s.other("waits", s.QUEUED),
        s.other("goes", s.live(attempt=2)),
        s.other("starts", s.run(state=State.DISPATCHING)),
        s.other("old", s.done(Outcome.SUCCESS, "", started_at=None)),
        s.other("odd", s.live(state=State.DONE)),
    )
    head = Messages()(
        "reply_for", command=code("/ascend-e2e multinode-ppo nightly-gspo-*"), sha="9f8e7d6"
    )
    reply = Reply(s.REPO, 5, 7013, head, tuple(run.id for run in runs))
    return reply_body(reply, runs, {"01J5": 4711}, s.CTX, s.NOW)


def _suite(view: SuiteView) -> str:
    return _show(suite_check(view, s.CTX, s.NOW))


def _gate(view: GateView) -> str:
    return _show(gate_check(view, s.CTX, s.NOW))


def _policy(comparison: Comparison) -> str:
    ctx = replace(s.CTX, policy_ref="main", policy_sha=s.POLICY_SHA)
    return _show(render_policy_check(comparison, s.SHA, ctx, s.NOW))


CASES: dict[str, Callable[[], str]] = {
    **{f"suite-{name}": partial(_suite, view) for name, view in SUITES.items()},
    **{f"gate-{name}": partial(_gate, view) for name, view in GATES.items()},
    **{f"policy-{name}": partial(_policy, item) for name, item in PROPOSED.items()},
    "reply": _reply,
    "refusals": _refusals,
}


@pytest.mark.parametrize("name", CASES)
def test_a_report_reads_as_its_golden_file(name: str) -> None:
    made = CASES[name]().rstrip() + "\n"
    path = GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


def test_every_golden_file_is_a_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)


def test_each_command_of_a_report_can_be_typed() -> None:
    lines = [line for path in GOLDEN.iterdir() for line in offered(path.read_text("utf-8"))]
    assert len(lines) > 50


@pytest.mark.parametrize("name", CASES)
def test_no_report_shouts_or_shows_pictures(name: str) -> None:
    made = CASES[name]()
    assert "!" not in made.replace("<!--", "")
    assert not [char for char in made if ord(char) > 0x2FFF]
