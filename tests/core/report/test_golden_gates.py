"""Every kind of gate as it reads."""

from dataclasses import replace
from typing import Any

import pytest

from bot.core.messages import NOTHING, TABLES, Message
from bot.core.messages.words import clock
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.selections import MergeGroup
from bot.core.model.views import GateView, waits_its_turn
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Tier
from bot.core.report.gate import gate_check
from tests.core import views as s
from tests.core.commands.commenting import offered
from tests.core.report.goldens import golden, show_check
from tests.core.report.suite_views import TOO_EARLY

AUTHOR = Message("trust_author")
PROTECTED = Message("trust_protected", path=".github/x.yml")
ONE = s.selection(s.chosen(), s.UNIT, s.HEAVY, s.OFF)
GREEN = s.done(Outcome.SUCCESS, Message("rayjob_succeeded", source=NOTHING))
RED = s.done(Outcome.FAILURE, Message("rayjob_ended", status="FAILED", source=NOTHING))
LOST = replace(RED, cause="CI runner lost", infra=True)

HOURS = Message(
    "waits_until",
    why=Message("waits_hours", spent="2,004", limit="2,000"),
    at=clock(s.at("16:56"), s.NOW),
)
PAUSED = Message(
    "waits_paused",
    what="linux-aarch64-a3-16",
    by="carol",
    until=Message("paused_until", at=clock(s.at("18:00"), s.NOW)),
    reason="new drivers",
)
FAILING = Message("waits_dispatch", since=s.at("14:02"), error="502 Bad Gateway")
NO_RUNNER = s.live(
    state=State.WAITING_FOR_RUNNER,
    why=Message("waits_offline", label="linux-aarch64-a3-16", since=clock(s.at("12:10"), s.NOW)),
)


def policy_error(line: int, path: str, word: str) -> Message:
    what = Message("wrong_unknown_key", word=word, hint=NOTHING)
    return Message(
        "policy_error_at",
        ref="main",
        error=Message("policy_error", line=line, path=path, message=what),
    )


def unit(**changes: Any) -> Run:
    return s.other("npu-unit", s.run(**changes))


GATES: dict[str, GateView] = {
    "none": s.gate(s.selection(s.OFF, s.OFF)),
    "none-optional": s.gate(s.selection(s.chosen(required=False), s.OFF)),
    "none-optional-command": s.gate(
        s.selection(s.chosen(required=False), s.OFF),
        runs=(
            s.done(
                Outcome.SUCCESS,
                NOTHING,
                snapshot=replace(s.SNAPSHOT, altered=("script=a.sh",)),
            ),
        ),
    ),
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
    "closed-pull-request": s.gate(ONE, closed=Message("drop_closed")),
    "closed-group-dequeued": s.gate(ONE, closed=Message("group_dequeued")),
    "closed-group-merged": s.gate(ONE, closed=Message("group_merged")),
    "unknown-often": replace(s.gate(), unknown=waits_its_turn(12)),
    "unknown-policy-gone": replace(
        s.gate(),
        unknown=Message("gate_policy_gone", ref="main", path=".github/ascend-ci.yml"),
    ),
    "unknown-policy-renamed": replace(
        s.gate(),
        unknown=Message(
            "gate_policy_renamed",
            ref="main",
            path=".github/ascend-ci.yml",
            twin=".github/ascend-ci.yaml",
        ),
    ),
    "policy-one": s.gate(
        policy_errors=(policy_error(8, "suites.unit.path", "path"),),
    ),
    "policy": s.gate(
        policy_errors=(
            policy_error(3, "suites.a.@bob", "@bob"),
            policy_error(9, "suites.b.path", "path"),
        ),
    ),
    "closed": s.gate(ONE, closed=Message("superseded_by", sha="0a1b2c3")),
    "running": s.gate(ONE, runs=(GREEN, s.other("npu-unit", s.QUEUED))),
    "running-two": s.gate(
        ONE, runs=(s.live(), s.other("npu-unit", s.live(state=State.WAITING_FOR_RUNNER)))
    ),
    "running-step-and-queued": s.gate(ONE, runs=(s.live(), s.other("npu-unit", s.QUEUED))),
    "running-silent": s.gate(
        s.selection(s.chosen()),
        runs=(s.live(why=Message("submitter_silent", since=s.at("14:41"))),),
    ),
    "not-started-yet": s.gate(ONE),
    "starting-fails": s.gate(
        s.selection(s.chosen()),
        runs=(
            s.run(
                state=State.DISPATCHING,
                why=Message("waits_dispatch", since=s.at("14:02"), error="500 Server Error"),
            ),
        ),
    ),
    "starting": s.gate(ONE, runs=(GREEN, s.other("npu-unit", s.run(state=State.DISPATCHING)))),
    "waiting-for-runner": s.gate(
        s.selection(s.chosen()), runs=(s.live(state=State.WAITING_FOR_RUNNER, started_at=None),)
    ),
    "queued": s.gate(s.selection(s.chosen()), runs=(s.QUEUED,)),
    "queued-two": s.gate(ONE, runs=(s.QUEUED, s.other("npu-unit", s.QUEUED))),
    "waiting-npu-hours": s.gate(s.selection(s.chosen()), runs=(s.run(why=HOURS),)),
    "waiting-no-npu-hours": s.gate(
        s.selection(s.chosen()), runs=(s.run(why=Message("waits_no_hours")),)
    ),
    "waiting-paused": s.gate(s.selection(s.chosen()), runs=(s.run(why=PAUSED),)),
    "waiting-offline": s.gate(s.selection(s.chosen()), runs=(NO_RUNNER,)),
    "waiting-runs-of-pull": s.gate(
        ONE,
        runs=(s.live(), s.other("npu-unit", s.run(why=Message("waits_per_pull", n=1, most=1)))),
    ),
    "waiting-different": s.gate(
        ONE, runs=(s.run(why=PAUSED), s.other("npu-unit", s.run(why=HOURS)))
    ),
    "waiting-two": s.gate(ONE, runs=(s.run(why=PAUSED), unit(why=PAUSED))),
    "by-github": s.gate(
        s.selection(s.chosen(native=True, auto=False)),
        runs=(s.run(why=Message("waits_github")),),
    ),
    "cancelling-person": s.gate(
        s.selection(s.chosen()),
        runs=(
            s.live(
                state=State.CANCELLING,
                stop_request=s.stop_request(StopReason.CANCEL, "carol"),
                why=Message("waits_cancel"),
            ),
        ),
    ),
    "cancelling": s.gate(s.selection(s.chosen()), runs=(s.live(state=State.CANCELLING),)),
    "finishing": s.gate(s.selection(s.chosen()), runs=(s.live(state=State.FINISHING),)),
    "draft-one-passed": s.gate(s.selection(s.chosen(), s.UNIT, draft=True), runs=(GREEN,)),
    "dry-run-heavy": s.gate(s.selection(s.HEAVY, mode=Mode.DRY_RUN)),
    "group": s.gate(
        s.selection(s.chosen(), s.HEAVY, group=MergeGroup(7013)), runs=(RED,), pulls=()
    ),
    "group-none": s.gate(s.selection(s.OFF, group=MergeGroup(7013)), pulls=()),
    "same-files": s.gate(s.selection(s.chosen(passed_at="1a2b3c4d5e6f"))),
    "passed": s.gate(ONE, runs=(GREEN, s.other("npu-unit", GREEN))),
    "passed-but": s.gate(
        s.selection(s.chosen()),
        runs=(replace(GREEN, why=Message("died_at", cause="NPU out of memory", step=7, total=15)),),
    ),
    "passed-one": s.gate(s.selection(s.chosen()), runs=(GREEN,)),
    "failed-one": s.gate(ONE, runs=(RED, s.other("npu-unit", GREEN))),
    "failed-infra": s.gate(ONE, runs=(LOST, s.other("npu-unit", GREEN))),
    "failed-two": s.gate(
        ONE, runs=(RED, s.other("npu-unit", RED)), pulls=(s.PULL, replace(s.PULL, number=7014))
    ),
    "failed-cancelled": s.gate(
        s.selection(s.chosen()),
        runs=(
            s.done(
                Outcome.CANCELLED,
                Message("cancelled_by_person", by="carol"),
                stop_request=s.stop_request(StopReason.CANCEL, "carol"),
            ),
        ),
    ),
    "failed-cancelled-github": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.CANCELLED, Message("run_cancelled")),)
    ),
    "failed-too-early": s.gate(
        s.selection(s.chosen()),
        runs=(s.done(Outcome.BROKEN, TOO_EARLY),),
    ),
    "failed-broken": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.BROKEN, Message("run_no_runner")),)
    ),
    "failed-no-cause": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.FAILURE, Message("run_failed")),)
    ),
    "failed-app-removed": s.gate(
        s.selection(s.chosen()), runs=(s.done(Outcome.BROKEN, Message("run_app_removed")),)
    ),
    "failed-unknown-end": s.gate(
        s.selection(s.chosen()),
        runs=(
            s.done(
                Outcome.BROKEN,
                Message("run_ended_with", conclusion="stale"),
            ),
        ),
    ),
    "failed-no-outcome": s.gate(s.selection(s.chosen()), runs=(s.live(state=State.DONE),)),
    "held-up": s.gate(
        s.selection(s.UNIT),
        replace(s.selection(s.chosen(), s.UNIT, trusted=False, trust_reason=AUTHOR), number=7014),
        pulls=(s.PULL, replace(s.PULL, number=7014)),
    ),
    "retried": s.gate(
        s.selection(s.chosen()),
        runs=(RED, replace(s.live(), attempt=2, id=RunId("01J6"))),
    ),
}


def _texts(language: str) -> dict[str, str]:
    ctx = replace(s.CTX, language=language)
    return {name: show_check(gate_check(view, ctx, s.NOW)) for name, view in GATES.items()}


@pytest.mark.parametrize("language", TABLES)
def test_each_gate_reads_as_its_golden_file(language: str) -> None:
    said, made = golden("gates", language, _texts(language))
    assert made == said


@pytest.mark.parametrize("language", TABLES)
def test_each_command_of_a_gate_can_be_typed(language: str) -> None:
    lines = [line for text in _texts(language).values() for line in offered(text)]
    assert len(lines) > 20


def test_no_gate_shouts_or_shows_pictures() -> None:
    made = "".join(_texts("en").values())
    assert "!" not in made
    assert not [char for char in made if ord(char) > 0x2FFF]
