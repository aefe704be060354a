"""The one comment of a pull request: when there is one, and how it reads."""

from dataclasses import replace
from typing import Any

import pytest

from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import size
from bot.core.messages import TABLES, Message, quote
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, StopReason
from bot.core.model.selections import SuiteSelection
from bot.core.model.views import GateView, PullComment
from bot.core.policy.models import Comment, Mode
from bot.core.report.comment import COMMENT_MARKER, pull_comments
from tests.core import views as s
from tests.core.commands.commenting import offered
from tests.core.report.goldens import golden
from tests.core.report.suite_views import RUN_FAILED, pad_for

GREEN = s.done(Outcome.SUCCESS, "")
RED = s.done(Outcome.FAILURE, RUN_FAILED, cause=quote("NPU out of memory"))
LOST = replace(RED, cause="CI runner lost", infra=True)
BOTH = (s.chosen(), s.UNIT)
IDS = {"01J5": 4711}


def unit(run: Run) -> Run:
    return s.other("npu-unit", run)


def view(
    *suites: SuiteSelection,
    runs: tuple[Run, ...] = (),
    mode: Comment = Comment.ON_FAILURE,
    **changes: Any,
) -> GateView:
    return s.gate(s.selection(*suites, comment=mode, **changes), runs=runs, check_ids=IDS)


CANCELLED = s.done(
    Outcome.CANCELLED,
    Message("cancelled_by_person", by="carol"),
    stop_request=s.stop_request(StopReason.CANCEL, "carol"),
)
SHOWN: dict[str, GateView] = {
    "failed": view(*BOTH, runs=(RED, unit(GREEN))),
    "failed, one still runs": view(*BOTH, runs=(RED, unit(s.live()))),
    "failed, one waits": view(*BOTH, runs=(RED, unit(s.run(why="paused by carol")))),
    "failed, not of the change": view(*BOTH, runs=(LOST, unit(GREEN))),
    "failed twice": view(*BOTH, runs=(RED, unit(replace(RED, attempt=2)))),
    "failed with a name of somebody else's": view(
        s.chosen(), runs=(s.done(Outcome.FAILURE, "@octo/all <img src=x> #12 | [a](b)"),)
    ),
    "cancelled": view(s.chosen(), runs=(CANCELLED,)),
    "not the change": view(
        s.chosen(), runs=(s.done(Outcome.BROKEN, Message("run_no_runner"), started_at=None),)
    ),
    "failed, for the app was removed": view(
        s.chosen(), runs=(s.done(Outcome.BROKEN, Message("run_app_removed")),)
    ),
    "all passed": view(*BOTH, runs=(GREEN, unit(GREEN))),
    "all passed, but for one that is not required": view(
        s.chosen(),
        replace(s.UNIT, required=False),
        runs=(GREEN, unit(RED)),
    ),
    "all passed, always": view(*BOTH, runs=(GREEN, unit(GREEN)), mode=Comment.ALWAYS),
    "first run": view(*BOTH, runs=(s.QUEUED,), mode=Comment.ALWAYS),
    "again": view(s.chosen(), runs=(RED, replace(s.live(), attempt=2, id=RunId("01J6")))),
    "a new head waits for an approval": view(
        *BOTH, trusted=False, trust_reason="the author may not start runs here"
    ),
    "a new head is a draft": view(s.chosen(), draft=True),
    "a new head waits for GitHub": view(
        s.chosen(native=True, auto=False), runs=(s.run(why=Message("waits_github")),)
    ),
    "a new head waits for a command": view(s.chosen(auto=False)),
    "a new head needs nothing": view(s.OFF),
}
SILENT: dict[str, GateView] = {
    "never": view(s.chosen(), runs=(RED,), mode=Comment.NEVER),
    "closed": replace(view(s.chosen(), runs=(RED,)), closed=Message("drop_closed")),
    "no selection yet": s.gate(),
    "policy errors": s.gate(policy_errors=("line 3: unknown key",)),
    "unknown": replace(s.gate(), unknown=Message("gate_unanswered", error="403")),
    "dry run": s.gate(s.selection(s.chosen(), mode=Mode.DRY_RUN, comment=Comment.ALWAYS)),
    "no pull request": replace(view(s.chosen(), runs=(RED,)), pulls=()),
    "a pull request of which nothing counts": replace(
        view(s.chosen(), runs=(RED,)), pulls=(replace(s.PULL, number=7014),)
    ),
}


def comment(of: GateView, language: str = "en") -> PullComment:
    (only,) = pull_comments(of, replace(s.CTX, language=language), s.NOW)
    return only


@pytest.mark.parametrize("language", TABLES)
def test_each_comment_reads_as_its_golden_file(language: str) -> None:
    texts = {name: comment(of, language).body for name, of in SHOWN.items()}
    said, made = golden("comments", language, texts)
    assert made == said


@pytest.mark.parametrize("language", TABLES)
def test_each_command_of_a_comment_can_be_typed(language: str) -> None:
    lines = [line for of in SHOWN.values() for line in offered(comment(of, language).body)]
    assert len(lines) > 8


@pytest.mark.parametrize("name", SILENT)
def test_what_only_the_gate_tells_leaves_the_comment_as_it_is(name: str) -> None:
    assert pull_comments(SILENT[name], s.CTX, s.NOW) == ()


def test_a_comment_is_made_at_the_first_red_and_is_only_edited_by_other_states() -> None:
    made = {name for name, of in SHOWN.items() if comment(of).make}
    reds = {name for name in SHOWN if name.startswith(("failed", "cancelled", "not the"))}
    assert made == {*reds, "all passed, always", "first run"}


def test_under_always_a_pull_request_without_a_run_gets_no_comment() -> None:
    assert not comment(view(s.OFF, mode=Comment.ALWAYS)).make


def test_each_pull_request_of_a_head_gets_the_comment_that_its_own_policy_asks_for() -> None:
    other = replace(s.PULL, number=7014)
    never = replace(s.selection(s.chosen(), comment=Comment.NEVER), number=7014)
    of = view(s.chosen(), runs=(RED,))
    shared = replace(of, pulls=(s.PULL, other), selections=(*of.selections, never))
    assert [item.number for item in pull_comments(shared, s.CTX, s.NOW)] == [s.PULL.number]


def test_of_many_pull_requests_of_a_commit_only_some_get_a_comment_and_all_keep_theirs() -> None:
    of = view(s.chosen(), runs=(RED,))
    numbers = range(7020, 7010, -1)
    (chosen,) = of.selections
    many = replace(
        of,
        pulls=tuple(replace(s.PULL, number=number) for number in numbers),
        selections=tuple(replace(chosen, number=number) for number in numbers),
    )
    found = pull_comments(many, s.CTX, s.NOW)
    assert [item.number for item in found] == [*numbers]
    assert {item.number for item in found if item.make} == {7011, 7012, 7013, 7014}


def test_what_an_open_suite_waits_for_does_not_change_the_comment() -> None:
    texts = {
        comment(view(*BOTH, runs=(RED, unit(s.run(why=why))))).body
        for why in ("paused by carol", "2,004 of 2,000 NPU-hours are used")
    }
    assert len(texts) == 1


def test_a_comment_of_many_long_names_fits_and_keeps_its_marker() -> None:
    names = [f"{number:03}{'s' * 61}" for number in range(400)]
    runs = tuple(s.other(name, s.done(Outcome.FAILURE, "昇" * 900)) for name in names)
    body = comment(view(*map(s.chosen, names), runs=runs)).body
    assert size(body) <= TEXT_BYTES
    assert body.endswith(COMMENT_MARKER)


def test_a_comment_cut_just_before_a_row_leaves_room_for_its_marker() -> None:
    names = [f"{number:03}" for number in range(60)]
    runs = tuple(s.other(name, s.done(Outcome.FAILURE, "x" * 1_900)) for name in names)

    def made(pad: int) -> str:
        first = s.other("multinode-ppo", s.done(Outcome.FAILURE, "y" * (pad + 1)))
        return comment(view(s.chosen(), *map(s.chosen, names), runs=(first, *runs))).body

    assert size(made(pad_for(made(0)))) <= TEXT_BYTES
