"""A reader who does not know the product learns what happened, whose it is, and what is next."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from bot.core.digest.result import Digest, Found
from bot.core.messages import NOTHING, TABLES, Message, Messages
from bot.core.model.runs import Outcome
from bot.core.model.selections import MergeGroup
from bot.core.model.views import CheckWrite, GateView, SuiteView
from bot.core.policy.models import Comment
from bot.core.report.comment import pull_comments
from bot.core.report.gate import gate_check
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.commands.commenting import offered
from tests.core.report.suite_ends import ENDS
from tests.core.report.suite_views import (
    EXITS,
    RUN_FAILED,
    UNIT_STORY,
    read,
    unit,
)
from tests.core.report.suite_waits import WAITS
from tests.core.report.test_golden_gates import GATES, HOURS

RED = s.done(Outcome.FAILURE, RUN_FAILED)

ACTIONS = {"en": "[Actions run](<https://", "zh": "[Actions 运行](<https://"}
NEXT = {"en": "**Next**: ", "zh": "**下一步**："}
NO_JOB = UNIT_STORY[::2]  # no runner took a job
EMPTY = read(Digest(found=Found.NOTHING))
EMPTY_UNKNOWN = read(Digest(found=Found.NOTHING), "")
EXITS_SILENTLY = read(with_fields(EXITS, last="", tail=()))


def check(view: SuiteView, language: str = "en") -> CheckWrite:
    return suite_check(view, replace(s.CTX, language=language), s.NOW)


def gate(view: GateView, language: str = "en") -> CheckWrite:
    return gate_check(view, replace(s.CTX, language=language), s.NOW)


def next_of(made: CheckWrite, language: str) -> str:
    """Return the paragraph that says what is next."""
    found = [part for part in made.summary.split("\n\n") if part.startswith(NEXT[language])]
    return found[0] if found else ""


def of_step(name: str) -> Iterator[tuple[str, CheckWrite, str]]:
    for language in TABLES:
        made = check(ENDS[name], language)
        yield language, made, next_of(made, language)


def test_no_title_says_only_that_it_failed() -> None:
    for language in TABLES:
        titles = {check(view, language).title for view in ENDS.values()}
        assert titles.isdisjoint({"Failed", "失败"})


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("en", "Failed before its RayJob started, and its log could not be read"),
        ("zh", "RayJob 启动之前就已失败，日志无法读取"),
    ],
)
def test_a_failure_without_a_log_says_that_no_rayjob_had_started(language: str, title: str) -> None:
    for why in (NOTHING, RUN_FAILED):
        assert check(s.suite(s.done(Outcome.FAILURE, why), *UNIT_STORY), language).title == title
    begun = s.suite(s.done(Outcome.FAILURE, RUN_FAILED), *s.STORY)
    named = s.suite(s.done(Outcome.FAILURE, RUN_FAILED), jobs=(s.rayjob(),))
    assert title not in {check(view, language).title for view in (begun, named)}


@pytest.mark.parametrize(
    "name", ["failure-unread", "failure-no-log", "failure-nothing", "failure-hidden"]
)
def test_whoever_has_no_log_here_is_led_to_the_actions_run(name: str) -> None:
    for language, made, said in of_step(name):
        assert ACTIONS[language] in said, made.summary


def test_an_actions_run_without_an_address_is_named_all_the_same() -> None:
    made = check(unit(Outcome.FAILURE, RUN_FAILED, actions_url=""))
    assert "Open the Actions run" in next_of(made, "en")


@pytest.mark.parametrize(
    ("language", "title"),
    [
        (
            "en",
            ("Green after 2 min, below the suite's minimum of 5 min, so it probably ran nothing"),
        ),
        ("zh", "2 分钟就显示通过（下限 5 分钟），可能没有真正运行测试"),
    ],
)
def test_an_end_that_is_too_early_says_that_it_was_green_and_what_the_minimum_is(
    language: str, title: str
) -> None:
    view = ENDS["broken-too-early"]
    assert check(view, language).title == title
    said = next_of(check(view, language), language)
    assert "`npu_unit.yml`" in said
    assert ACTIONS[language] in said
    whole = gate(GATES["failed-too-early"], language)
    assert {"en": "did not pass: ", "zh": "未通过："}[language] in whole.title
    assert {"en": "| not passed: ", "zh": "| 未通过："}[language] in whole.summary


OVERLAP = ("printed nothing", "no output", "stops without an error", "no infrastructure failure")


@pytest.mark.parametrize("log", [EMPTY, EMPTY_UNKNOWN, EXITS_SILENTLY])
def test_an_empty_log_is_told_once_and_leads_to_the_actions_run(log: object) -> None:
    view = s.suite(unit(Outcome.FAILURE, RUN_FAILED).run, *UNIT_STORY, log)  # type: ignore[arg-type]
    made = check(view)
    told = f"{made.title}\n{made.summary}"
    assert sum(told.count(words) for words in OVERLAP) == 1, told
    assert made.title not in {"Failed: the Actions run failed", "Failed"}
    for language in TABLES:
        assert ACTIONS[language] in next_of(check(view, language), language)


def test_a_log_that_stops_has_a_next_step() -> None:
    for language, made, said in of_step("failure-stops"):
        assert said, (language, made.summary)


@pytest.mark.parametrize(
    ("language", "whose", "todo"),
    [
        ("en", "CI's RayJob submitter", "You need not do anything"),
        ("zh", "CI 的 RayJob 提交服务", "无需操作"),
    ],
)
def test_a_silent_submitter_is_cis_and_nothing_for_the_author_to_do(
    language: str, whose: str, todo: str
) -> None:
    for name in ("running-silent", "queued-submitter"):
        made = check(WAITS[name], language)
        assert whose in made.title
        assert todo in made.summary
    made = gate(GATES["running-silent"], language)
    assert whose in made.title
    assert todo in made.summary


@pytest.mark.parametrize("language", TABLES)
def test_an_unknown_result_has_its_reason_and_a_next_step(language: str) -> None:
    reason = {"en": "CI got no final state", "zh": "没有拿到运行的最终状态"}[language]
    for name in ("done-without-outcome", "broken-unasked", "broken-deleted"):
        made = check(ENDS[name], language)
        to_open = ACTIONS[language] in next_of(made, language)
        assert to_open == (name != "broken-deleted"), made.summary  # GitHub has no page of that
    made = gate(GATES["failed-no-outcome"], language)
    assert reason in made.title
    assert reason in made.summary
    assert offered(made.summary)


IDLE = Message("run_idle", label="linux-aarch64-a3-8")


@pytest.mark.parametrize("why", [IDLE, Message("run_skipped")])
@pytest.mark.parametrize("language", TABLES)
def test_the_conditions_of_a_job_are_looked_at_first_by_whom_the_change_concerns(
    language: str, why: Message
) -> None:
    idle = s.suite(unit(Outcome.BROKEN, why).run, *NO_JOB)
    said = next_of(check(idle, language), language)
    whose = {"en": ("If your change touched `npu_unit.yml`", "ask a maintainer"),
             "zh": ("如果本次改动涉及 `npu_unit.yml`", "请联系维护者")}[language]  # fmt: skip
    assert all(words in said for words in whose), said
    assert "`if:`" in said


def test_no_condition_is_blamed_where_a_job_ran() -> None:
    for language in TABLES:
        made = check(unit(Outcome.BROKEN, IDLE), language)
        assert "`if:`" not in made.summary
        assert ACTIONS[language] in next_of(made, language)


@pytest.mark.parametrize("key", ["run_idle", "run_skipped"])
def test_what_ran_nothing_is_not_said_to_have_run(key: str) -> None:
    why = Message(key, label="linux-aarch64-a3-8")
    made = check(s.suite(unit(Outcome.BROKEN, why).run, *NO_JOB))
    assert "unning 22 min" not in made.summary
    assert "Actions run 22 min" in made.summary
    assert "linux-aarch64-a2b3-8`, 22 min" not in made.summary


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("run_leftover", "superseded; deleting its RayJobs failed (503): they may still run"),
        ("run_deleting", "superseded; deleting its RayJobs failed (503) and is tried again"),
    ],
)
def test_rayjobs_that_are_left_are_told_in_the_order_of_english(key: str, said: str) -> None:
    assert Message(key, why=Message("row_superseded"), left="503") == said


def test_what_is_left_of_an_end_is_told_in_the_order_of_english() -> None:
    summary = check(ENDS["failure-left"]).summary
    assert "CI could not delete its RayJobs (no answer) and no longer tries" in summary
    summary = check(WAITS["cancelling-superseded"]).summary
    assert "CI still tries to delete its RayJobs (503)" in summary


OPTIONAL = s.chosen(required=False)
ALTERED = s.done(Outcome.SUCCESS, NOTHING, snapshot=replace(s.SNAPSHOT, altered=("size=3",)))


@pytest.mark.parametrize(
    ("language", "title", "start"),
    [
        ("en", "No suite is required (optional: multinode-ppo)", "To start it, comment "),
        ("zh", "没有必需的套件（非必需：multinode-ppo）", "要启动它，请评论 "),
    ],
)
def test_a_gate_that_needs_nothing_names_what_is_optional_and_how_to_start_it(
    language: str, title: str, start: str
) -> None:
    draft = s.gate(s.selection(OPTIONAL, s.OFF, draft=True))
    for view in (draft, s.gate(s.selection(OPTIONAL, s.OFF), runs=(ALTERED,))):
        made = gate(view, language)
        assert made.title == title
        assert f"{start}`/ascend-e2e multinode-ppo`" in made.summary
        assert "/ascend-e2e multinode-ppo" in offered(made.summary)


@pytest.mark.parametrize(
    "view",
    [
        s.gate(s.selection(OPTIONAL, group=MergeGroup(7013)), runs=(ALTERED,), pulls=()),
        s.gate(s.selection(OPTIONAL)),
        s.gate(s.selection(OPTIONAL), runs=(s.live(),)),
        s.gate(s.selection(replace(OPTIONAL, native=True))),
        s.gate(s.selection(replace(OPTIONAL, by_command=False), draft=True)),
    ],
)
def test_no_start_is_offered_where_none_works(view: GateView) -> None:
    made = gate(view)
    assert made.title == "No suite is required (optional: multinode-ppo)"
    assert "To start it" not in made.summary


def test_a_heavy_suite_alone_needs_nothing_and_its_line_starts_it() -> None:
    made = gate(s.gate(s.selection(s.HEAVY)))
    assert made.title == "No Ascend suite needed"
    assert offered(made.summary) == ["/ascend-e2e explain", f"/ascend-e2e {s.HEAVY.choice.suite}"]


def test_a_suite_that_will_start_by_itself_is_starting() -> None:
    view = s.gate(s.selection(s.chosen()))
    assert "| `multinode-ppo` | starting |" in gate(view).summary
    draft = s.gate(s.selection(s.chosen(), draft=True))
    assert "| `multinode-ppo` | not started |" in gate(draft).summary


WAITING = {
    "needs-approval": "comments `/ascend-e2e approve --sha 9f8e7d6c5b4a`",
    "queued-paused": "starts by itself when the pause ends",
    "queued-hours": "comments `/ascend-e2e multinode-ppo --force --sha 9f8e7d6c5b4a`",
    "queued-per-pull": "starts by itself when one of them has ended",
    "queued-small": "Ask a maintainer to raise `npus`",
    "queued-native-approval": "Somebody with write permission approves it",
    "dispatching-refused": "You need not do anything",
}


@pytest.mark.parametrize("name", WAITING)
def test_a_suite_that_waits_says_how_the_wait_ends(name: str) -> None:
    assert WAITING[name] in check(WAITS[name]).summary
    assert check(WAITS[name], "zh").summary.count("。") > 2


def test_a_limit_of_hours_is_overridden_only_by_a_command_that_works() -> None:
    quiet = with_changes(s.SNAPSHOT, triggers=())
    for run in (s.run(why=HOURS, number=None), s.run(why=HOURS, snapshot=quiet)):
        summary = check(s.suite(run)).summary
        assert "It starts by itself" in summary
        assert "--force" not in summary
    none = check(s.suite(s.run(why=Message("waits_no_hours")))).summary
    assert "Ask a maintainer to raise `npu_hours_per_day` in `.github/ascend-ci.yml`." in none


def test_a_gate_says_how_a_wait_ends_that_all_its_suites_share() -> None:
    for name in ("waiting-paused", "waiting-two"):
        assert "starts by itself when the pause ends" in gate(GATES[name]).summary
    assert "by itself" not in gate(GATES["waiting-different"]).summary
    beside = gate(GATES["waiting-runs-of-pull"]).summary
    assert "\n\n`npu-unit`: It starts by itself when one of them has ended;" in beside
    assert "`multinode-ppo`: It starts" not in gate(GATES["waiting-paused"]).summary
    assert "A maintainer looks" not in gate(GATES["approved"]).summary


def test_a_refused_token_is_for_whoever_runs_the_bot() -> None:
    why = Message("submitter_refuses", since=s.at("14:41"), why="answered 401")
    assert "tell whoever runs the bot" in check(s.suite(s.run(why=why))).summary


def test_a_comment_says_what_the_gate_says_of_optional_suites() -> None:
    draft = s.gate(s.selection(OPTIONAL, comment=Comment.ALWAYS, draft=True))
    (only,) = pull_comments(draft, s.CTX, s.NOW)
    assert only.body.startswith("**No suite is required (optional: multinode-ppo)** at ")
    assert "`/ascend-e2e multinode-ppo`" in only.body


def test_buttons_fit_in_bytes() -> None:
    for language in TABLES:
        say = Messages(language)
        for name in ("approve", "rerun_failed", "rerun"):
            assert len(say(f"button_{name}").encode()) <= 20
            assert len(say(f"button_{name}_why").encode()) <= 40


def test_each_red_end_has_a_next_step() -> None:
    for language in TABLES:
        for name, view in ENDS.items():
            made = check(view, language)
            if made.conclusion in {"failure", "timed_out"} and not view.run.retry:
                assert next_of(made, language), (name, made.summary)


def test_a_green_run_without_a_rayjob_says_both() -> None:
    made = check(ENDS["broken-no-rayjob"])
    assert (
        made.title
        == "The Actions run is green, but CI saw no RayJob, so the test probably did not run"
    )
    assert "If your change touched `ascend_multinode.yml`" in next_of(made, "en")


def test_a_suite_that_is_not_started_says_first_what_the_author_can_do() -> None:
    said = check(WAITS["queued-native-unknown"]).summary
    assert said.startswith("Push again, or close and reopen the pull request. If that does not ")


def test_a_replaced_run_leaves_nothing_to_do() -> None:
    assert check(ENDS["superseded"]).summary.startswith("You need not do anything: ")
    assert check(ENDS["superseded"], "zh").summary.startswith("无需操作：")


def test_a_state_in_a_table_is_a_state() -> None:
    for language, state in (
        ("en", "not passed, not your change: "),
        ("zh", "未通过，与本次改动无关："),
    ):
        assert f"| {state}" in gate(GATES["failed-broken"], language).summary
    assert "| starting |" in gate(GATES["approved"]).summary


def test_a_state_that_says_failed_has_no_reason_that_says_it_again() -> None:
    for language, row in (("en", "| failed |"), ("zh", "| 失败 |")):
        assert row in gate(GATES["failed-no-cause"], language).summary


def test_a_change_that_waits_for_its_turn_has_nothing_for_its_author_to_do() -> None:
    for language, todo in (("en", "You need not do anything. "), ("zh", "无需操作；")):
        assert todo in gate(GATES["unknown-often"], language).summary


def test_the_comment_says_how_many_suites_did_not_pass() -> None:
    for runs, language, head in (
        ((RED,), "en", "**1 of 1 suite did not pass** at `9f8e7d6`"),
        ((RED,), "zh", "**1/1 个套件未通过**，提交 `9f8e7d6`"),
        ((s.live(),), "en", "**0 of 1 suite passed so far** at `9f8e7d6`"),
        ((s.live(),), "zh", "**已通过 0/1 个套件**，提交 `9f8e7d6`"),
    ):
        view = s.gate(s.selection(s.chosen(), comment=Comment.ALWAYS), runs=runs)
        (only,) = pull_comments(view, replace(s.CTX, language=language), s.NOW)
        assert only.body.startswith(head)
        assert "The Actions run failed" not in only.body
