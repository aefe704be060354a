"""What keeps GitHub from starting a workflow is said, and asked for ever less often."""

from dataclasses import replace
from datetime import datetime

import pytest

from bot.core.messages import NOTHING, Message
from bot.core.model.runs import Run, State
from bot.core.policy.models import Start
from bot.core.report.gate import gate_check
from bot.core.runs.native import WAITS, on_github
from bot.core.runs.not_started import (
    UNKNOWN,
    StartFacts,
    ask_again,
    is_not_started,
    skip_mark,
    why_not_started,
)
from bot.core.runs.steps import AskWhyNotStarted, Wait
from tests.core import views
from tests.core.building import a_run, at, with_changes
from tests.core.runs.steps import step_of
from tests.core.runs.test_native import CTX, OWN, githubs, selected

WAITING = replace(a_run(), snapshot=with_changes(a_run().snapshot, start=Start.NATIVE), label=None)
CONFLICT = Message("unstarted_conflict")


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        (StartFacts("w.yml"), NOTHING.key),
        (StartFacts("w.yml", "active", "", True, "Fix"), NOTHING.key),
        (StartFacts("w.yml", "active", "", False, "[skip ci]"), "unstarted_conflict"),
        (StartFacts("w.yml", "active", "", None, "Fix [skip ci]"), "unstarted_skip"),
        (StartFacts("w.yml", "disabled_manually", "", False), "unstarted_disabled"),
        (StartFacts("w.yml", "disabled_fork"), "unstarted_disabled"),
        (StartFacts("w.yml", "disabled_inactivity"), "unstarted_inactive"),
        (StartFacts("w.yml", refused="403 Actions is disabled"), "unstarted_refused"),
    ],
)
def test_the_reason_is_what_somebody_has_to_mend_first(facts: StartFacts, key: str) -> None:
    assert why_not_started(facts).key == key


@pytest.mark.parametrize(
    ("message", "mark"),
    [
        ("Fix", ""),
        ("Fix [skip ci] it", "[skip ci]"),
        ("Fix\n\n[ci skip]", "[ci skip]"),
        ("[no ci]", "[no ci]"),
        ("[skip actions]", "[skip actions]"),
        ("[actions skip]", "[actions skip]"),
        ("skip ci", ""),
        ("Fix\n\n\nskip-checks: true", "skip-checks: true"),
        ("Fix\n\n\nskip-checks:true\n", "skip-checks:true"),
        ("Fix\n\nskip-checks: true", ""),  # two empty lines are needed
        ("Fix\n\n\nskip-checks: true\nmore", ""),
    ],
)
def test_a_commit_asks_for_no_runs_by_githubs_own_words(message: str, mark: str) -> None:
    assert skip_mark(message) == mark


@pytest.mark.parametrize(
    ("at_s", "step"),
    [
        (19, Wait(State.QUEUED, at(seconds=20), WAITS)),
        (20, AskWhyNotStarted(Wait(State.QUEUED, at(seconds=40), WAITS))),
        (540, AskWhyNotStarted(Wait(State.QUEUED, at(10), WAITS))),
        (600, AskWhyNotStarted(Wait(State.QUEUED, at(15), UNKNOWN))),
    ],
)
def test_it_is_asked_for_20_s_after_the_run_was_made(
    at_s: float, step: Wait | AskWhyNotStarted
) -> None:
    assert step_of(WAITING, at_min=at_s / 60) == step


@pytest.mark.parametrize(
    ("now", "again"),
    [
        (at(seconds=20), at(seconds=40)),
        (at(2), at(3)),
        (at(60), at(90)),
        (at(60 * 24 * 7), at(60 * 24 * 7 + 60)),
    ],
)
def test_it_is_asked_again_ever_less_often(now: datetime, again: datetime) -> None:
    assert ask_again(WAITING, now) == again


def waiting(why: Message, name: str = "own") -> Run:
    return githubs(name, state=State.QUEUED, why=why)


def test_a_run_that_somebody_has_to_help_waits_on_github() -> None:
    assert is_not_started(waiting(CONFLICT))
    assert on_github(waiting(CONFLICT))
    assert not on_github(waiting(WAITS))
    assert not on_github(replace(waiting(CONFLICT), snapshot=a_run().snapshot))


@pytest.mark.parametrize(
    ("whys", "title", "todo"),
    [
        (
            (CONFLICT,),
            "GitHub starts no workflow while the pull request has conflicts: own",
            "Resolve the conflicts and push",
        ),
        (
            (CONFLICT, CONFLICT),
            "GitHub starts no workflow while the pull request has conflicts: own and second",
            "Resolve the conflicts and push",
        ),
        (
            (CONFLICT, UNKNOWN),
            "Waiting for somebody to help on GitHub: own and second",
            "Push again, or close and reopen the pull request",
        ),
    ],
)
def test_the_gate_is_neither_red_nor_green_and_says_what_to_do(
    whys: tuple[Message, ...], title: str, todo: str
) -> None:
    names = ("own", "second")[: len(whys)]
    runs = tuple(waiting(why, name) for why, name in zip(whys, names, strict=True))
    chosen = (OWN, selected("second"))[: len(whys)]
    check = gate_check(views.gate(views.selection(*chosen), runs=runs), CTX, views.NOW)
    assert check.conclusion == "action_required"
    assert check.title == title
    assert todo in check.summary
    assert "approval" not in check.summary
