"""What a gate says is true of its suites, offers what is there, and leads on, in any state."""

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.messages import Message
from bot.core.model.ids import RunId
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.selections import MergeGroup
from bot.core.model.views import CheckWrite, GateView
from bot.core.policy.models import Mode, Tier
from bot.core.report.gate import gate_check
from tests.core import views as s
from tests.core.commands.commenting import offered
from tests.core.report.test_quarantine import ENDED, HELD, TESTS

LONG = "nightly-grpo-qwen3_5-35b-a3b-megatron-fully-async-multinode-x64"
NAMES = ("multinode-ppo", "npu-unit", LONG)
WHYS = (
    Message("nothing"),
    Message("run_failed"),
    Message("waits_no_hours"),
    Message("waits_github"),
    Message("run_too_early", ran=Message("span_min", n=2), minutes=5),
    Message("run_leftover", why=Message("run_failed"), left="`verl-1`"),
    Message("waits_dispatch", since=s.at("14:02"), error="502 Bad Gateway " * 20),
    Message("waits_offline", label="a3-16", since="12:10"),
)
UNANSWERED = Message("gate_unanswered", error="502")
RUNS = st.one_of(
    st.none(),
    st.builds(
        lambda state, why: s.live(state=state, why=why),
        st.sampled_from([state for state in State if state is not State.DONE]),
        st.sampled_from(WHYS),
    ),
    st.builds(
        lambda outcome, why, by: s.done(
            outcome, why, stop_request=s.stop_request(StopReason.CANCEL, by) if by else None
        ),
        st.sampled_from(Outcome),
        st.sampled_from(WHYS),
        st.sampled_from(["", "carol"]),
    ),
)
SUITE = st.fixed_dictionaries(
    {
        "required": st.booleans(),
        "auto": st.booleans(),
        "native": st.booleans(),
        "by_command": st.booleans(),
        "tier": st.sampled_from(Tier),
        "selected": st.booleans(),
        "quarantine": st.sampled_from([(), (HELD,), (ENDED,), (TESTS,)]),
    }
)
SELECTION = st.fixed_dictionaries(
    {
        "trusted": st.sampled_from([True, False, None]),
        "draft": st.booleans(),
        "mode": st.sampled_from([Mode.ON, Mode.ON, Mode.DRY_RUN]),
        "group": st.sampled_from([None, None, MergeGroup(7013)]),
        "protected": st.sampled_from([(), (".github/x.yml",)]),
        "policy_errors": st.sampled_from(
            [(), (), (Message("policy_error_at", ref="main", error=LONG * 3),)]
        ),
    }
)
STATE = st.fixed_dictionaries(
    {
        "closed": st.sampled_from(
            [Message("nothing")] * 3
            + [Message("superseded_by", sha="0a1b2c3"), Message("drop_closed")]
        ),
        "unknown": st.sampled_from(
            [Message("nothing")] * 3
            + [
                Message("gate_unanswered", error="502"),
                Message("gate_policy_gone", ref="m", path="p"),
            ]
        ),
    }
)


def _named(name: str, run: Run | None) -> tuple[Run, ...]:
    if run is None:
        return ()
    return (s.other(name, run) if name != run.suite else replace(run, id=RunId(f"01J-{name}")),)


@st.composite
def gates(draw: st.DrawFn) -> GateView:
    """Return a gate in any state that three suites and their commit can have."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    data = draw(SELECTION)
    suites = [draw(SUITE) for _ in names]
    if data["group"]:  # its suites start by themselves, and GitHub's own do not count
        data |= {"trusted": True, "draft": False, "protected": ()}
        suites = [suite | {"auto": True, "native": False} for suite in suites]
    chosen = [s.chosen(name, **suite) for name, suite in zip(names, suites, strict=True)]
    runs = tuple(run for name in names for run in _named(name, draw(RUNS)))
    known = draw(st.booleans())
    selections = (s.selection(*chosen, **data),) if known else ()
    return s.gate(*selections, runs=runs, **draw(STATE))


def _outcomes(view: GateView) -> dict[str, Run]:
    return {run.suite: run for run in view.runs}


def _check(view: GateView) -> CheckWrite:
    return gate_check(view, s.CTX, s.NOW)


@given(gates())
@settings(max_examples=60)
def test_a_title_is_short_and_not_the_start_of_the_summary(view: GateView) -> None:
    check = _check(view)
    assert 0 < len(check.title) <= 120
    assert not check.summary.startswith(check.title.rstrip("…"))


@given(gates())
@settings(max_examples=60)
def test_a_text_names_a_button_only_where_there_is_one(view: GateView) -> None:
    check = _check(view)
    buttons = {button.identifier for button in check.buttons}
    assert ("button above" in check.summary) == ("rerun_failed" in buttons)
    assert ("**Approve & run**" in check.summary) == ("approve" in buttons)


@given(gates())
@settings(max_examples=60)
def test_what_is_said_of_the_suites_is_true(view: GateView) -> None:
    title, runs = _check(view).title, _outcomes(view)
    if found := re.search(r"(\d+) passed$", title):
        green = [run for run in runs.values() if run.outcome is Outcome.SUCCESS]
        assert int(found[1]) <= len(green)
    if title.startswith("Running:"):
        assert any(run.state is State.RUNNING for run in runs.values())
    if "nothing started" in title:
        assert not runs
    if title.startswith("Draft"):
        names = title.removeprefix("Draft, not started: ").replace(" and ", ", ").split(", ")
        counted = {name for name, run in runs.items() if run.outcome is not Outcome.SUPERSEDED}
        assert counted.isdisjoint(names)
    if title.startswith("No Ascend suite needed"):
        assert not any(
            item.choice.selected and item.required
            for row in view.selections
            for item in row.data.suites
        )


@given(gates())
@settings(max_examples=60)
def test_only_commands_that_do_something_are_offered(view: GateView) -> None:
    lines = offered(_check(view).summary)
    data = [row.data for row in view.selections]
    if any(item.group for item in data):
        assert lines == []
    if data and all(item.mode is Mode.DRY_RUN for item in data):
        assert lines == []


def test_a_policy_error_is_of_the_branch_and_not_of_the_change() -> None:
    error = Message("policy_error_at", ref="release", error="line 8: no")
    check = _check(s.gate(policy_errors=(error,)))
    assert check.title == "Not your change: the policy of release has an error (line 8: no)"
    assert "A maintainer must fix `.github/ascend-ci.yml` on `release`." in check.summary


def test_a_gate_without_the_app_offers_no_re_run() -> None:
    gone = s.done(Outcome.BROKEN, Message("run_app_removed"))
    check = _check(s.gate(s.selection(s.chosen()), runs=(gone,)))
    assert (check.buttons, offered(check.summary)) == ((), [])
    assert "install the app again" in check.summary


def test_a_column_of_reasons_says_what_they_are_for() -> None:
    for trusted in (True, False):
        runs = (s.done(Outcome.CANCELLED, Message("run_cancelled")),) if trusted else ()
        check = _check(s.gate(s.selection(s.chosen(), trusted=trusted), runs=runs))
        assert "| selected because |" in check.summary


# What a person can do, or that nobody has to.
_WAY_ON = (
    "/ascend-e2e ",
    "button above",
    "install the app again",
    "then approve [Actions run]",
    "ready for review",
    "must fix",
    "has its own checks",
    "is reopened",
    "to the queue again",
    "asks again by itself",
    "put it back",
    "blocks nothing",
    "Nothing more runs",
)


@given(gates())
@settings(max_examples=60)
def test_a_gate_that_is_not_green_says_what_to_do(view: GateView) -> None:
    check = _check(view)
    if check.conclusion not in {None, "success"}:
        assert any(way in check.summary for way in _WAY_ON), check.summary


@given(gates())
@settings(max_examples=60)
def test_no_sentence_ends_twice(view: GateView) -> None:
    check = _check(view)
    for bad in (".;", ".,", "..", ".:", ": .", "  ", "()", "{", " . "):
        text = f"{check.title}\n{check.summary}".replace("|  |", "|")
        assert bad not in text, text
