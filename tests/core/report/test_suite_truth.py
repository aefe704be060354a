"""No suite's text contradicts itself or its rows, says a fact twice, or leaves a reader stuck."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace as with_fields

from bot.core.digest.result import UNKNOWN, Digest, Found, Location
from bot.core.github.markdown import size
from bot.core.messages import NOTHING, TABLES, Message, quote
from bot.core.model import run_events as ev
from bot.core.model.queue import QueuePosition
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run, State
from bot.core.model.views import CheckWrite, SuiteView
from bot.core.report.context import MarkdownWriter
from bot.core.report.gate import gate_check
from bot.core.report.suite import suite_check
from bot.core.report.words import row_state
from bot.core.runs.verdict import TRUSTED_ENDS
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.report.suite_ends import ENDS
from tests.core.report.suite_views import (
    ENDS_WELL,
    EXITS,
    NAME,
    RAYJOB_FAILED,
    RUN_FAILED,
    STOPS,
    SUCCEEDED,
    UNIT_STORY,
)
from tests.core.report.suite_waits import WAITS

WHYS = (
    NOTHING,
    RUN_FAILED,
    RAYJOB_FAILED,
    SUCCEEDED,
    Message("rayjob_none"),
    Message("run_too_early", ran=Message("span_min", n=2), minutes=5),
    Message("run_idle", label="a3-8"),
    Message("run_limit_stop", minutes=240),
    Message("run_leftover", why=RUN_FAILED, left="502 Bad Gateway"),
    Message("run_deleting", why=Message("run_cancelled"), left="502 Bad Gateway"),
    Message("github_said", why=Message("refused_disabled", workflow="x.yml"), said="no"),
)
DIGESTS = (None, s.OOM, s.HCCL, EXITS, STOPS, ENDS_WELL)
JOBS: tuple[tuple[RayJob, ...], ...] = (
    (),
    (s.rayjob(),),
    (s.rayjob(final="FAILED"),),
    (s.rayjob(final="STOPPED"),),
    (s.rayjob(silent_since=s.at("14:20")),),
)
RETRIES = (NOTHING, Message("again_infra"))
DELETED = s.run_event("14:24", ev.RayJobsDeleted(1))
SEEN = s.run_event("14:04", ev.RayJobSeen(NAME))


def _made(
    outcome: Outcome, why: Message, digest: Digest | None, jobs: tuple[RayJob, ...]
) -> SuiteView:
    log = (s.run_event("14:25", ev.LogRead(1, digest=digest, step="Run tests")),) if digest else ()
    seen = (SEEN,) if jobs else ()
    return s.suite(s.done(outcome, why), *UNIT_STORY, *seen, *log, DELETED, jobs=jobs)


@cache
def every_end() -> tuple[tuple[SuiteView, CheckWrite], ...]:
    """Return ends of each outcome, with all kinds of reasons, logs and RayJobs."""
    made = [_made(*case) for case in product(Outcome, WHYS, DIGESTS, JOBS)]
    return tuple((view, suite_check(view, s.CTX, s.NOW)) for view in [*made, *ENDS.values()])


def _said(check: CheckWrite) -> str:
    return f"{check.title}\n{check.summary}\n{check.text}"


def _digests(view: SuiteView) -> list[Digest]:
    logs = [item.what.digest for item in view.run_events if isinstance(item.what, ev.LogRead)]
    return [digest for digest in (*logs, *(job.digest for job in view.rayjobs)) if digest]


def test_a_failure_is_acquitted_only_by_a_cause_of_the_infrastructure() -> None:
    for view, check in every_end():
        if view.run.outcome in {Outcome.FAILURE, Outcome.TIMED_OUT}:
            causes = [item for item in _digests(view) if item.found is Found.CAUSE]
            proven = any(item.infra and item.failure_class != UNKNOWN for item in causes)
            assert proven or "Not your change" not in _said(check), _said(check)


@pytest.mark.parametrize("key", ["rayjob_none", "run_too_early", "run_idle", "run_skipped"])
def test_an_end_that_the_change_may_have_caused_is_not_acquitted(key: str) -> None:
    why = Message(key, ran=Message("span_min", n=2), minutes=5, label="a3-8")
    check = suite_check(s.suite(s.done(Outcome.BROKEN, why), *UNIT_STORY), s.CTX, s.NOW)
    assert "Not your change" not in _said(check)


def _no_evidence(view: SuiteView) -> bool:
    """Return True for a failed link between ranks of which no code names a card or a host."""
    causes = [item for item in _digests(view) if item.found is Found.CAUSE]
    return bool(causes) and all(item.codes == ("EI0006",) for item in causes)


def test_a_rank_that_waited_for_another_acquits_nobody_without_a_code_of_the_host() -> None:
    for view, check in every_end():
        if view.run.outcome is Outcome.FAILURE and _no_evidence(view):
            assert "Not your change" not in _said(check), _said(check)
    down = with_fields(s.HCCL, codes=("EJ0002",))
    for digest, blame in ((s.HCCL, "**Probably infrastructure**"), (down, "**Not your change**")):
        view = _made(Outcome.FAILURE, RUN_FAILED, digest, ())
        assert suite_check(view, s.CTX, s.NOW).summary.startswith(blame)


UNLEARNED = (
    NOTHING,
    Message("run_ended_with", conclusion="stale"),
    Message("rayjob_end_unknown", why=Message("submitter_says", state="NOT_FOUND")),
    Message("rayjob_not_confirmed", job=NAME),
    Message("run_limit_unknown", why=Message("submitter_silent", since=s.at("14:41"))),
)


@pytest.mark.parametrize("why", UNLEARNED, ids=lambda why: why.key)
def test_a_result_that_is_unknown_blames_and_acquits_nobody(why: Message) -> None:
    run = s.done(Outcome.BROKEN, why)
    check = suite_check(s.suite(run, *UNIT_STORY), s.CTX, s.NOW)
    gate = gate_check(s.gate(s.selection(s.chosen()), runs=(run,)), s.CTX, s.NOW)
    for text in (_said(check), _said(gate)):
        assert "Not your change" not in text
        assert "not your change" not in text
        assert "unknown" in text
    assert check.title.startswith("Result unknown: ")
    assert "| `multinode-ppo` | result unknown" in gate.summary


def test_a_retry_that_would_fail_again_is_never_offered_plainly() -> None:
    for _, check in every_end():
        said = check.summary
        if "would most likely" in said:
            assert "Re-run: " not in said, said
            again = ("To run this commit again, unchanged: ", "If it was still running, re-run ")
            assert any(words in said for words in again), said
        if "somebody has to fix this first" in said:
            assert "Re-run: " not in said, said
            assert ("After the fix: " in said) == bool(check.buttons), said


def test_githubs_words_stand_only_where_they_explain_more() -> None:
    for view, check in every_end():
        if view.run.why.key == "github_said":
            said = str(view.run.why.fields["said"])
            assert ("GitHub said" in check.summary) == said.startswith("Unexpected inputs")


def test_a_suite_of_a_repository_without_the_app_offers_no_re_run() -> None:
    check = suite_check(ENDS["broken-app-removed"], s.CTX, s.NOW)
    assert (check.buttons, "run" in check.summary.partition("**Next**")[2][:60]) == ((), False)
    assert "install" in check.summary


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        (
            "timed-out-open-end",
            "`timeout_minutes` of this suite (now 240) in `.github/ascend-ci.yml`",
        ),
        ("timed-out-by-hand", "`timeout_minutes` of this suite (now 240)"),
        ("timed-out-github", "`timeout-minutes` of its job in `npu_unit.yml`"),
        ("timed-out-rayjob", "the time limit of the RayJob in `ascend_multinode.yml`"),
    ],
)
def test_the_limit_that_fired_is_the_one_to_raise(name: str, limit: str) -> None:
    check = suite_check(ENDS[name], s.CTX, s.NOW)
    assert limit in check.summary
    assert _said(check).lower().count("timed out") == 1


def test_a_state_that_has_not_ended_says_for_what() -> None:
    for view in WAITS.values():
        title = suite_check(view, s.CTX, s.NOW).title
        unknown = view.run.state is State.CANCELLING and not view.run.stop_request
        assert unknown or title not in {"Queued", "Stopping", "Cancelling", "Finishing"}


@pytest.mark.parametrize(
    ("why", "word"),
    [
        (Message("drop_closed"), "stopped: the pull request was closed"),
        (Message("superseded_by", sha="0a1b2c3"), "superseded by 0a1b2c3"),
    ],
)
def test_a_run_that_nothing_replaced_was_stopped_and_not_superseded(
    why: Message, word: str
) -> None:
    assert row_state(MarkdownWriter(s.CTX), s.done(Outcome.SUPERSEDED, why), s.NOW) == word


def test_how_to_cancel_comes_last() -> None:
    for view in WAITS.values():
        summary = suite_check(view, s.CTX, s.NOW).summary
        assert "Cancel: " not in summary or summary.split("\n\n")[-1].startswith("Cancel: ")


def test_a_log_is_never_blamed_where_it_is_not_the_matter() -> None:
    for view, check in every_end():
        assert "does not say why" not in _said(check)
        if view.run.outcome in {Outcome.BROKEN, Outcome.CANCELLED} and not _digests(view):
            assert "The log" not in _said(check), _said(check)


def test_rayjobs_are_deleted_only_where_one_lived_and_left_only_where_one_may_live() -> None:
    for view, check in every_end():
        living = [job for job in view.rayjobs if job.final not in TRUSTED_ENDS]
        assert living or "RayJobs deleted" not in _said(check), _said(check)
        over = view.rayjobs and not living
        assert not over or "they may still run" not in _said(check), _said(check)
        both = "RayJobs deleted" in _said(check) and "they may still run" in _said(check)
        assert not both, _said(check)


def test_a_button_above_is_named_exactly_where_there_is_one() -> None:
    for _, check in every_end():
        assert bool(check.buttons) == ("button above" in check.summary), _said(check)


def test_no_button_is_offered_beside_an_attempt_that_follows_by_itself() -> None:
    view = ENDS["failure-retried"]
    check = suite_check(view, s.CTX, s.NOW)
    assert "attempt 2 follows" in check.title
    assert (check.buttons, "Re-run" in check.summary) == ((), False)


def test_no_summary_says_its_title_again() -> None:
    for _, check in every_end():
        detail = check.title.partition(": ")[2] or check.title
        if len(detail) > 12 and "…" not in detail:
            assert detail not in check.summary.replace("`", ""), _said(check)


def test_a_single_rayjob_is_named_once() -> None:
    for view, check in every_end():
        if len(view.rayjobs) == 1 and NAME not in str(view.run.why):
            foreign = any(isinstance(item.what, ev.RayJobForeign) for item in view.run_events)
            assert foreign or check.summary.count(NAME) == 1, _said(check)


def test_no_sentence_ends_twice() -> None:
    for _, check in every_end():
        for mark in (".;", "..", ".:", ": :", ". .", "`&#46; `"):
            assert mark not in f"{check.title} {check.summary}".replace("…", ""), _said(check)


def test_each_red_and_each_waiting_text_has_a_step_that_works() -> None:
    waits = [(view, suite_check(view, s.CTX, s.NOW)) for view in WAITS.values()]
    for view, check in [*every_end(), *waits]:
        goes_on = view.run.retry or view.run.state in {State.CANCELLING, State.FINISHING}
        if check.conclusion in {None, "failure", "timed_out"} and not goes_on:
            ways = (
                "Re-run: ",
                "**Next**: ",
                "Cancel: ",
                "To run this commit again",
                "After the fix: ",
            )
            assert any(way in check.summary for way in ways), _said(check)


def test_what_started_a_run_is_said_once() -> None:
    by_bob = with_changes(s.SNAPSHOT, reason=Message("selected_asked", who="bob"))
    asked = s.done(Outcome.SUCCESS, "", origin=quote("bob"), snapshot=by_bob)
    nightly = ENDS["success-nightly"]
    for view, name in ((s.suite(asked), "bob"), (nightly, "often")):
        assert suite_check(view, s.CTX, s.NOW).summary.count(name) == 1


@pytest.mark.parametrize(
    ("digest", "title"),
    [
        (EXITS, 'Failed in step "Run tests": 12 checks done, 3 differ from the reference'),
        (with_fields(EXITS, last=""), 'Failed in step "Run tests", which printed nothing'),
        (STOPS, 'Failed in step "Run tests"; its log stops at: loading weights'),
    ],
)
def test_a_failure_without_a_cause_is_titled_by_its_step_and_its_last_line(
    digest: Digest, title: str
) -> None:
    check = suite_check(_made(Outcome.FAILURE, RUN_FAILED, digest, ()), s.CTX, s.NOW)
    assert check.title == title
    assert "<details>" not in check.text
    assert check.text.startswith("The last 2 lines of step `Run tests`:\n\n```text\n")


def test_times_of_one_minute_are_told_with_seconds() -> None:
    twice = [s.run_event("14:20", ev.CancelSent()), s.run_event("14:20", ev.ForceCancelSent())]
    view = s.suite(s.live(state=State.CANCELLING), *twice)
    summary = suite_check(view, s.CTX, s.NOW).summary
    assert (
        "14:20:00 UTC asked GitHub to cancel · 14:20:00 UTC asked GitHub to cancel by force"
        in summary
    )
    alone = suite_check(s.suite(s.live(), twice[0]), s.CTX, s.NOW).summary
    assert "14:20 UTC asked GitHub to cancel" in alone


def test_a_reason_that_a_title_cuts_is_whole_in_the_summary() -> None:
    why = Message("submitter_refuses", since=s.at("14:41"), why="answered 401")
    check = suite_check(s.suite(s.run(why=why)), s.CTX, s.NOW)
    assert check.title.endswith("…")
    assert "SUBMITTER&#95;TOKEN" in check.summary or "SUBMITTER_TOKEN" in check.summary


LONG = "显存不足-" * 40
LONGEST = Digest(
    root_cause_line=7,
    title=f"RuntimeError in {LONG}.py:743: {LONG}",
    cause=LONG,
    hint=LONG,
    codes=(LONG,) * 12,
    annotations=(Location(f"{LONG}.py", 7, LONG),) * 50,
    excerpt_lines=tuple((n, LONG) for n in range(60)),
    traceback=LONG * 400,
    tail=(LONG[:300],) * 30,
    last=LONG,
)


def _long(view: SuiteView) -> SuiteView:
    """Return a view in which every name is as long as one can be."""
    run: Run = view.run
    snapshot = with_changes(run.snapshot, title=LONG, reason=quote(LONG))
    jobs = tuple(replace(job, digest=LONGEST, job_id=LONG[:200]) for job in view.rayjobs)
    place = run.queue_position and QueuePosition(f"label:{LONG}", 3)
    named = replace(
        run,
        suite=LONG[:100],
        snapshot=snapshot,
        why=quote(LONG) if run.why.key == "quote" else run.why,
        origin=quote(LONG),
        label=LONG if run.label else None,
        queue_position=place,
    )
    step = s.run_event("14:26", ev.LogRead(2, digest=LONGEST, step=LONG))
    return replace(view, run=named, rayjobs=jobs, run_events=(*view.run_events, step))


@pytest.mark.parametrize("language", TABLES)
def test_no_text_exceeds_its_limits_with_the_longest_names(language: str) -> None:
    ctx = replace(s.CTX, language=language)
    for view in (*ENDS.values(), *WAITS.values()):
        for shown in (view, _long(view)):
            check = suite_check(shown, ctx, s.NOW)
            assert len(check.title) <= 120, check.title
            assert size(check.title) <= 255, check.title
            assert size(check.summary) <= 65_535
            assert size(check.text) <= 65_535
