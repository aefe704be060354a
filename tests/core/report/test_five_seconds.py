"""What a reader stumbled over in five seconds, as rules for every text in both languages."""

import re
from dataclasses import replace
from functools import cache

import pytest

from bot.core.digest.result import Progress
from bot.core.messages import TABLES
from bot.core.messages.en import EN
from bot.core.messages.en.advice import ADVICE
from bot.core.messages.en.replies import REPLIES
from bot.core.messages.zh import ZH
from bot.core.model.runs import Outcome
from bot.core.model.views import CheckWrite
from bot.core.report.gate import gate_check
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.building import with_changes
from tests.core.report.suite_ends import ENDS
from tests.core.report.suite_waits import WAITS
from tests.core.report.test_golden_gates import GATES

COLONS = re.compile("：|:(?= )")
TIME = re.compile(r"\b\d\d:\d\d(?::\d\d)?(?! UTC|[\d:])")
NOTHING_TO_DO = {"en": "You need not do anything", "zh": "无需操作"}
HUNG = {"en": "probably hung after step 7 of 15", "zh": "可能卡在第 7/15 步之后"}
NOT_COUNTED = {"en": "does not count", "zh": "不计入门禁"}
# They follow another sentence, or what they tell of started nothing new.
NO_REFUSALS = {
    "refuse_pin",
    "refuse_head_now",
    "refuse_hours_when",
    "refuse_hours_force",
    "refuse_cancel_moved",
    "refuse_rate",
    "refuse_often",
}
TRANSLATED = ("越过", "得知", "跟踪 RayJob", "自身的", "以同样的方式", "已取消（")


@cache
def made(language: str) -> dict[str, CheckWrite]:
    ctx = replace(s.CTX, language=language)
    suites = {name: suite_check(view, ctx, s.NOW) for name, view in {**ENDS, **WAITS}.items()}
    gates = {f"gate {name}": gate_check(view, ctx, s.NOW) for name, view in GATES.items()}
    return {**suites, **gates}


@pytest.mark.parametrize("language", TABLES)
def test_no_title_has_two_colons(language: str) -> None:
    titles = [check.title for check in made(language).values()]
    assert [title for title in titles if len(COLONS.findall(title)) > 1] == []


@pytest.mark.parametrize("language", TABLES)
def test_no_summary_of_a_suite_says_its_title_again(language: str) -> None:
    checks = [made(language)[name] for name in {**ENDS, **WAITS}]
    assert [check for check in checks if check.title in check.summary.splitlines()] == []
    at_once = made(language)["running-at-once"]
    assert "14:03" in at_once.title
    assert "14:03" not in at_once.summary


@pytest.mark.parametrize("language", TABLES)
def test_a_proven_failure_of_the_infrastructure_is_told_in_the_titles(language: str) -> None:
    infra, acquitted = {
        "en": ("(infrastructure)", "not your change"),
        "zh": ("（基础设施故障）", "与本次改动无关"),
    }[language]
    assert infra in made(language)["failure-infra"].title
    assert acquitted in made(language)["gate failed-infra"].title
    assert infra not in made(language)["failure-environment"].title


@pytest.mark.parametrize("language", TABLES)
def test_a_failure_of_the_code_is_perhaps_of_the_change(language: str) -> None:
    perhaps = {"en": "**Perhaps your change** · ", "zh": "**可能与本次改动有关** · "}[language]
    assert made(language)["failure-theirs"].summary.startswith(perhaps)
    night = replace(ENDS["failure-theirs"].run, number=None)
    view = replace(ENDS["failure-theirs"], run=night)
    assert perhaps not in suite_check(view, replace(s.CTX, language=language), s.NOW).summary


@pytest.mark.parametrize("language", TABLES)
def test_an_end_that_only_the_submitter_could_tell_is_not_of_the_change(language: str) -> None:
    ours = {"en": "not because of your change**", "zh": "原因不在本次改动**"}[language]
    assert ours in made(language)["broken-silent"].summary
    assert ours not in made(language)["broken-unasked"].summary


@pytest.mark.parametrize("language", TABLES)
def test_a_gate_with_one_red_suite_says_the_next_step(language: str) -> None:
    step = {"en": "**Next**: ", "zh": "**下一步**："}[language]
    one = ("failed-one", "failed-broken", "failed-no-outcome", "failed-infra")
    assert [name for name in one if step not in made(language)[f"gate {name}"].summary] == []
    assert step not in made(language)["gate failed-two"].summary


@pytest.mark.parametrize("language", TABLES)
def test_a_gate_with_one_red_suite_says_whose_it_may_be(language: str) -> None:
    whose = {
        "en": (
            "Your change may be the cause",
            "It is not known whether your change",
            "ask `carol`",
        ),
        "zh": ("可能与本次改动有关", "尚不清楚是否与本次改动有关", "询问 `carol`"),
    }[language]
    gates = ("failed-one", "failed-unknown-end", "failed-cancelled")
    for words, name in zip(whose, gates, strict=True):
        assert words in made(language)[f"gate {name}"].summary
        assert words not in made(language)["gate failed-infra"].summary


@pytest.mark.parametrize("language", TABLES)
def test_every_time_of_day_is_said_to_be_utc(language: str) -> None:
    texts = [f"{check.title}\n{check.summary}" for check in made(language).values()]
    assert sum(" UTC" in text for text in texts) > 20
    assert [text for text in texts if TIME.search(text)] == []


@pytest.mark.parametrize("language", TABLES)
def test_no_bold_word_says_again_only_that_it_failed(language: str) -> None:
    texts = [check.summary for check in made(language).values()]
    assert [text for text in texts if text.startswith(("**Failed** ", "**失败** "))] == []


@pytest.mark.parametrize("language", TABLES)
def test_whoever_sees_a_run_that_is_retried_is_told_to_do_nothing(language: str) -> None:
    retried = [name for name, view in ENDS.items() if view.run.retry]
    assert len(retried) > 3
    for name in retried:
        assert NOTHING_TO_DO[language] in made(language)[name].summary


@pytest.mark.parametrize("language", TABLES)
def test_a_wait_that_ends_by_itself_leaves_nothing_to_do(language: str) -> None:
    for name in ("queued-submitter", "queued-paused", "queued-hours", "queued-per-pull"):
        assert NOTHING_TO_DO[language].lower() in made(language)[name].summary.lower(), name


@pytest.mark.parametrize("language", TABLES)
def test_the_title_of_a_run_that_passed_says_that_it_does_not_count(language: str) -> None:
    said = made(language)["success-by-command"]
    assert NOT_COUNTED[language] in said.title
    assert "`/ascend-e2e npu-unit`" in said.summary.partition("\n")[0]
    altered = with_changes(s.SNAPSHOT, triggers=())
    run = s.done(Outcome.SUCCESS, "", snapshot=replace(altered, altered=("size=3",)))
    check = suite_check(s.suite(run), replace(s.CTX, language=language), s.NOW)
    assert "/ascend-e2e multinode-ppo" not in check.summary  # no command starts it


@pytest.mark.parametrize("language", TABLES)
def test_a_pace_that_shows_a_hang_raises_no_limit(language: str) -> None:
    view = ENDS["timed-out-limit"]
    check = made(language)["timed-out-limit"]
    assert HUNG[language] in check.title
    assert "timeout_minutes" not in check.summary
    slow = replace(view.rayjobs[0], progress=Progress(7, 15, 1_500.0))
    moved = suite_check(replace(view, rayjobs=(slow,)), replace(s.CTX, language=language), s.NOW)
    assert HUNG[language] not in moved.title
    assert "timeout_minutes" in moved.summary


@pytest.mark.parametrize("table", [EN, ZH])
def test_a_refusal_begins_with_what_was_not_done(table: dict[str, str]) -> None:
    begins = re.compile(r"\{\w+\} was not |Nothing was |没有")
    said = [key for key in REPLIES if key.startswith("refuse_") and key not in NO_REFUSALS]
    assert len(said) > 20
    assert [table[key] for key in said if not begins.match(table[key])] == []


def test_advice_says_who_asks_a_maintainer() -> None:
    alone = [text for key, text in ADVICE.items() if re.search(r"(^|\. )A maintainer ", text)]
    assert alone == [EN["wait_approval"]]


def test_chinese_is_not_translated_word_by_word() -> None:
    assert [text for text in ZH.values() if any(word in text for word in TRANSLATED)] == []
