"""What holds for every suite's check run, whatever its rows hold."""

from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as replace_fields

from bot.core.digest.result import Digest, Location, Progress, Unread
from bot.core.messages import Message, quote
from bot.core.model.queue import QueuePosition
from bot.core.model.run_events import LogRead, RayJobForeign, RayJobLogLost, RayJobsDeleted
from bot.core.model.runs import Outcome, Run, State, StopReason
from bot.core.model.views import CheckWrite, Reply, SuiteView
from bot.core.policy.models import Start
from bot.core.report.context import Context
from bot.core.report.failure import MESSAGE_BYTES
from bot.core.report.gate import gate_check
from bot.core.report.reply import reply_body, reply_marker
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.github.test_markdown import NASTY

TOKEN = "ghp_" + "a1" * 18
LONG = st.one_of(NASTY, NASTY.map(lambda text: text * 500))
PAIRS: list[tuple[State, Outcome | None]] = [
    *((state, None) for state in State),
    *((State.DONE, outcome) for outcome in Outcome),
]


# No text is in a strategy: each example would make it anew, with a repr as long as the text.
COUNTS = st.integers(0)
FLAGS = st.booleans()
THREE = st.integers(0, 2)


def drawn_digest(draw: st.DrawFn, text: str) -> Digest | None:
    """Draw a digest that holds a text wherever a log's own words can stand."""

    def words() -> str:
        return text if draw(FLAGS) else ""

    def lines() -> tuple[str, ...]:
        return (text,) * 30 if draw(FLAGS) else ()

    if draw(FLAGS):
        return None
    return Digest(
        failure_class=("unknown", "oom_device", text)[draw(THREE)],
        infra=draw(FLAGS),
        codes=lines(),
        root_cause_line=1 + draw(COUNTS) if draw(FLAGS) else None,
        cause=words(),
        title=words(),
        excerpt_lines=tuple(enumerate(lines())),
        traceback=words(),
        annotations=tuple(Location(f"{line}.py", 1, line) for line in lines()),
        hint=words(),
        lines=draw(COUNTS),
        progress=Progress(draw(COUNTS), metrics={text: 1.5}) if draw(FLAGS) else None,
        tail=lines(),
    )


PAIR = st.sampled_from(PAIRS)
STOP_REASON = st.sampled_from([None, *StopReason])
TWENTY = st.integers(0, 20)
JOBS = st.integers(0, 3)


@st.composite
def views(draw: st.DrawFn) -> SuiteView:
    text = draw(LONG)
    state, outcome = draw(PAIR)
    stop_request = draw(STOP_REASON)
    run = s.live(
        state=state,
        outcome=outcome,
        why=text if draw(FLAGS) else "",
        origin=text,
        label=text if draw(FLAGS) else None,
        queue_position=QueuePosition(text, 3) if draw(FLAGS) else None,
        stop_request=s.stop_request(stop_request, text if draw(FLAGS) else "", text)
        if stop_request
        else None,
        started_at=s.at("14:03") if draw(FLAGS) else None,
        snapshot=with_changes(s.SNAPSHOT, title=text, reason=quote(text)),
        actions_url=("", f"https://x/{text[:99]}", f"javascript:{text[:9]}")[draw(THREE)],
    )
    digest = drawn_digest(draw, text)
    run_events = tuple(
        s.run_event("14:25", what)
        for n in range(draw(TWENTY))
        for what in (LogRead(n, problem=quote(text)), RayJobLogLost(f"j-{n}", text))
    )
    job = s.rayjob(digest=digest, message=text, status=text, silent_since=s.NOW)
    return s.suite(run, *run_events, jobs=(job,) * draw(JOBS))


def assert_within_limits(check: CheckWrite) -> None:
    assert 0 < len(check.title) <= 255
    assert check.summary
    assert len(check.summary.encode()) <= 65_535
    assert len(check.text.encode()) <= 65_535
    assert len(check.annotations) <= 50
    for item in check.annotations:
        assert item.message
        assert len(item.message.encode()) <= MESSAGE_BYTES
        assert len(item.title) <= 255
    assert (check.status == "completed") == (check.conclusion is not None)
    assert not check.buttons or check.conclusion


@given(views())
@settings(max_examples=150, deadline=None)
def test_no_row_breaks_a_limit(view: SuiteView) -> None:
    assert_within_limits(suite_check(view, s.CTX, s.NOW))


@given(LONG, st.lists(LONG, max_size=3).map(tuple))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_gate(text: str, errors: tuple[str, ...]) -> None:
    choice = s.chosen(text, reason=text, cost=s.cost(where=text))
    picked = s.selection(choice, trusted=False, trust_reason=text)
    runs = (s.done(Outcome.FAILURE, text, suite=text),)
    for view in (
        s.gate(picked),
        s.gate(picked, runs=runs),
        s.gate(picked, policy_errors=errors),
        s.gate(picked, closed=text),
    ):
        check = gate_check(view, s.CTX, s.NOW)
        if check.title:
            assert_within_limits(check)


@given(LONG, st.integers(0, 400))
@settings(max_examples=40, deadline=None)
def test_no_reply_is_longer_than_a_comment(text: str, rows: int) -> None:
    reply = Reply(s.REPO, 5, 7013, text)
    runs = (s.done(Outcome.FAILURE, text[:300]),) * rows
    body = reply_body(reply, runs, {}, s.CTX, s.NOW)
    assert len(body.encode()) < 65_536
    assert body.endswith(reply_marker(5))


@pytest.mark.parametrize(
    ("outcome", "conclusion"),
    [
        (Outcome.SUCCESS, "success"),
        (Outcome.FAILURE, "failure"),
        (Outcome.TIMED_OUT, "timed_out"),
        (Outcome.CANCELLED, "cancelled"),
        (Outcome.SUPERSEDED, "cancelled"),
        (Outcome.BROKEN, "failure"),
    ],
)
def test_conclusions(outcome: Outcome, conclusion: str) -> None:
    check = suite_check(s.suite(s.done(outcome, "why")), s.CTX, s.NOW)
    assert check.conclusion == conclusion
    again = outcome not in {Outcome.SUCCESS, Outcome.SUPERSEDED}
    assert [b.identifier for b in check.buttons] == (["rerun"] if again else [])
    assert check.completed_at == s.at("14:25")


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (State.QUEUED, "queued"),
        (State.DISPATCHING, "queued"),
        (State.WAITING_FOR_RUNNER, "queued"),
        (State.RUNNING, "in_progress"),
        (State.CANCELLING, "in_progress"),
        (State.FINISHING, "in_progress"),
        (State.DONE, "completed"),
    ],
)
def test_statuses(state: State, status: str) -> None:
    assert suite_check(s.suite(s.run(state=state)), s.CTX, s.NOW).status == status


def test_a_check_run_without_a_dashboard_links_to_actions_alone() -> None:
    check = suite_check(s.suite(s.live()), Context("o/r"), s.NOW)
    assert check.details_url == s.live().actions_url
    assert check.external_id == "01J5"
    assert "timeline" not in check.summary


def test_an_external_id_of_the_row_is_taken() -> None:
    ctx = replace(s.CTX, external_id="row-1")
    assert suite_check(s.suite(s.live()), ctx, s.NOW).external_id == "row-1"


@pytest.mark.parametrize("key", ["cause", "title", "excerpt_lines", "traceback", "hint"])
def test_no_secret_of_a_log_is_shown(key: str) -> None:
    secret = f"x {TOKEN} hunter2secret"
    held = ((1, secret),) if key == "excerpt_lines" else secret
    digest = replace_fields(s.HCCL, **{key: held})
    check = suite_check(_leaky(digest), s.CTX, s.NOW)
    assert TOKEN not in str(check)
    assert "hunter2secret" not in str(check)
    assert "***" in unescape(str(check))


def test_no_secret_of_an_annotation_or_a_tail_is_shown() -> None:
    note = Location("a.py", 1, TOKEN)
    digest = Digest(title=TOKEN, root_cause_line=1, annotations=(note,), tail=(TOKEN,))
    check = suite_check(_leaky(digest), s.CTX, s.NOW)
    assert TOKEN not in str(check)
    assert [(a.message, a.title) for a in check.annotations] == [("***", "***")]


def _leaky(digest: Digest) -> SuiteView:
    snapshot = with_changes(s.SNAPSHOT, redact=("hunter2secret",))
    run = s.done(Outcome.FAILURE, f"why {TOKEN}", origin=TOKEN, snapshot=snapshot)
    return s.suite(
        run, s.run_event("14:01", RayJobsDeleted(1, TOKEN)), jobs=(s.rayjob(digest=digest),)
    )


def test_an_annotation_without_words_takes_the_title_or_the_path() -> None:
    note = Location("a.py", 1, "")
    for title, claimant in (("Broken", "Broken"), ("", "a.py")):
        digest = Digest(title=title, root_cause_line=1, annotations=(note,))
        check = suite_check(_leaky(digest), s.CTX, s.NOW)
        assert [item.message for item in check.annotations] == [claimant]


def test_a_long_story_keeps_its_start_and_its_end() -> None:
    run_events = [s.run_event(f"14:{n:02}", RayJobForeign(f"job-{n}")) for n in range(30)]
    summary = suite_check(s.suite(s.live(), *reversed(run_events)), s.CTX, s.NOW).summary
    assert (
        "14:00 UTC RayJob `job-0` is of another run: not read · 14:19 UTC RayJob `job-19`"
        in summary
    )
    assert "14:29 UTC RayJob `job-29`" in summary


def test_a_title_that_is_cut_keeps_the_news_of_the_retry() -> None:
    view = s.suite(
        s.done(Outcome.FAILURE, "x", retry="the infrastructure failed"),
        jobs=(s.rayjob(digest=replace_fields(s.HCCL, codes=("EJ0002",), title="x" * 400)),),
    )
    title = suite_check(view, s.CTX, s.NOW).title
    assert len(title) == 120
    assert title.endswith("… (infrastructure; attempt 2 follows)")


def _retried(run: Run, digest: Digest) -> bool:
    check = suite_check(s.suite(run, jobs=(s.rayjob(digest=digest),)), s.CTX, s.NOW)
    return "attempt 2 follows" in check.title


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.TIMED_OUT, Outcome.BROKEN])
def test_a_retry_is_announced_exactly_when_an_attempt_follows(outcome: Outcome) -> None:
    ended = s.done(outcome, "x")
    assert not _retried(ended, s.HCCL)
    assert _retried(replace(ended, retry=quote("the infrastructure failed")), s.HCCL)


def test_a_policy_without_retries_says_so() -> None:
    run = s.done(Outcome.BROKEN, "x", snapshot=with_changes(s.SNAPSHOT, infra_retries=0))
    summary = suite_check(s.suite(run), s.CTX, s.NOW).summary
    assert "not retried automatically (`infra_retries: 0`)" in summary


def test_what_cannot_be_an_address_is_no_link() -> None:
    run = s.live(actions_url="javascript:alert(1)")
    assert "javascript" not in suite_check(s.suite(run), s.CTX, s.NOW).summary
    run = s.live(actions_url="https://x/a> b|c")
    assert "(<https://x/a%3E%20b%7Cc>)" in suite_check(s.suite(run), s.CTX, s.NOW).summary


def test_what_github_has_not_started_is_said_once_and_was_started_by_nobody() -> None:
    native = with_changes(s.SNAPSHOT, start=Start.NATIVE, pool=None, rayjob=False)
    waits = s.run(state=State.QUEUED, snapshot=native, why=Message("waits_github"))
    check = suite_check(s.suite(waits), s.CTX, s.NOW)
    assert check.title == "Queued: waiting for GitHub to start it"
    assert "to start it" not in check.summary
    assert "Started by" not in check.summary
    started = replace(waits, state=State.RUNNING, actions_run_id=99, why=quote(""))
    assert "Started by a push" in suite_check(s.suite(started), s.CTX, s.NOW).summary


def test_a_training_without_times_says_how_many_steps_it_took() -> None:
    job = s.rayjob(final="SUCCEEDED", progress=Progress(1200))
    check = suite_check(s.suite(s.done(Outcome.SUCCESS, ""), jobs=(job,)), s.CTX, s.NOW)
    assert check.title == "Passed in 22 min: 1,200 steps"


def test_an_empty_reply_is_only_its_marker() -> None:
    reply = Reply(s.REPO, 5, 7013, "")
    assert reply_body(reply, (), {}, s.CTX, s.NOW).strip() == reply_marker(5)


def test_a_reply_that_is_no_sentence_of_ours_is_shown_as_a_block() -> None:
    body = reply_body(Reply(s.REPO, 5, 7013, "x " * 40_000), (), {}, s.CTX, s.NOW)
    assert len(body.encode()) <= 65_535
    assert body.startswith("```text\nx x")
    assert "shortened here" in body


def test_a_suite_without_a_pool_runs_on_its_label() -> None:
    snapshot = replace(s.SNAPSHOT, pool=None)
    for label, claimant in (("a3-16", "a3-16"), (None, "linux-aarch64-a2b3-8")):
        check = suite_check(s.suite(s.run(snapshot=snapshot, label=label)), s.CTX, s.NOW)
        assert f"on `{claimant}`." in check.summary


@pytest.mark.parametrize("unread", Unread)
def test_a_log_that_is_only_partly_read_says_so_and_shows_what_was_found(unread: Unread) -> None:
    found = suite_check(_leaky(replace_fields(s.HCCL, unread=unread)), s.CTX, s.NOW)
    assert "only partly read (" in found.summary
    assert s.HCCL.cause[1:20] in found.summary
    nothing = suite_check(_leaky(Digest(unread=unread)), s.CTX, s.NOW)
    assert "only partly read (0 lines)" in nothing.summary
    assert "only partly read" not in suite_check(_leaky(s.HCCL), s.CTX, s.NOW).summary
