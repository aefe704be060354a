"""Numbers and times read well; every sentence exists, is used, and states its facts calmly."""

import copy
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import get_args

import pytest
import yaml

from bot.core.commands.verbs import VERBS
from bot.core.digest import hints
from bot.core.digest.result import Unread
from bot.core.digest.signatures import ClassName
from bot.core.explain.explaining import Starts
from bot.core.messages import NOTHING, TABLES, Field, Message, Messages, from_plain, quote, to_plain
from bot.core.messages import words as english
from bot.core.messages.en import EN
from bot.core.messages.message import HAN
from bot.core.messages.zh import SIGNS, ZH
from bot.core.model.runs import Outcome, State
from bot.core.planning.head_trigger import HeadTrigger
from bot.core.policy import changes
from bot.core.policy.levels import Level
from bot.core.report.open_suites import Phase
from bot.core.report.standing import GateReason
from bot.ports.sandbox import StoppedBy
from tests.core.messages.uses import ROOT, Use, placeholders, uses, words

NOW = datetime(2026, 8, 22, 15, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "claimant"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (41.2, "41 s"),
        (60, "1 min"),
        (95, "1 min 35 s"),
        (599, "9 min 59 s"),
        (1_349, "22 min"),
        (3_600, "1 h"),
        (4_359, "1 h 12 min"),
        (86_399, "23 h 59 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, claimant: str) -> None:
    assert english.duration(seconds) == claimant


@pytest.mark.parametrize(
    ("seconds", "claimant"), [(41, "41 s"), (61, "2 min"), (328, "6 min"), (7_300, "2 h 2 min")]
)
def test_an_estimate_is_rounded_up_to_minutes(seconds: float, claimant: str) -> None:
    assert english.about(seconds) == claimant


def test_a_span_needs_both_ends() -> None:
    assert english.between(None, NOW) == english.between(NOW, None) == ""
    assert english.between(NOW.replace(hour=14), NOW) == "1 h"


@pytest.mark.parametrize(
    ("at", "claimant"),
    [
        (NOW.replace(hour=9, minute=5), "09:05 UTC"),
        (NOW.replace(day=3), "3 Aug 15:02 UTC"),
        (NOW.replace(year=2025), "2025-08-22 15:02 UTC"),
    ],
)
def test_a_time_has_its_date_only_when_it_is_not_today(at: datetime, claimant: str) -> None:
    assert english.clock(at, NOW) == claimant


@pytest.mark.parametrize(
    ("number", "claimant"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (102, "102nd"), (111, "111th")],
)  # fmt: skip
def test_ordinals(number: int, claimant: str) -> None:
    assert english.ordinal(number) == claimant


@pytest.mark.parametrize(
    ("value", "claimant"),
    [(32.0, "32"), (1200, "1,200"), (59.13, "59.1"), (0.01234, "0.012"), (-2.55, "-2.5")],
)
def test_numbers(value: float, claimant: str) -> None:
    assert english.number(value) == claimant


@pytest.mark.parametrize(
    ("items", "claimant"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_lists(items: list[str], claimant: str) -> None:
    assert english.listing(items) == claimant


def test_counts_and_cases() -> None:
    assert english.count(1, "suite") == "1 suite"
    assert english.count(1_300, "suite") == "1,300 suites"
    assert english.count(2, "retry is", "retries are") == "2 retries are"
    assert english.capital("") == ""
    assert english.capital("it ends") == "It ends"
    assert english.capital("rank 3 失败") == "rank 3 失败"
    assert [english.stop(text) for text in ("", "it ends", "已结束")] == [
        "",
        "it ends.",
        "已结束。",
    ]
    assert english.sentences("A.", "", "B.") == "A. B."
    assert english.sentences("甲。", "乙。") == "甲。乙。"
    assert english.lower("The RayJob") == "the RayJob"
    assert english.lower("RayJob") == "RayJob"


def test_another_language_says_in_english_what_it_lacks() -> None:
    tables = {"en": {"a": "one {n}", "b": "two"}, "zz": {"b": "zwei"}}
    messages = Messages("zz", tables)
    assert [messages("a", n=1), messages("b")] == ["one 1", "zwei"]
    assert Messages("none", tables)("b") == "two"
    assert messages.has("a")
    assert not messages.has("c")


BUTTONS = ("approve", "rerun_failed", "rerun")
GATE_KINDS = {"none", "looking", "draft", "command", "github"}
NAMED_TRIGGERS = {HeadTrigger.SYNCHRONIZE, HeadTrigger.FOUND_BY_LOOKING, HeadTrigger.REQUEST}

# Keys whose end is a value. Each value has its sentence, but those that have words of their own.
FAMILIES: dict[str, Iterable[str]] = {
    "row_": [*set(State) - {State.DONE}, *Outcome],
    "level_": Level,
    "starts_": Starts,
    "class_": get_args(ClassName),
    "count_": (
        *(
            "suite",
            "error",
            "change",
            "rule",
            "line",
            "run",
            "job",
            "npu",
            "changed_file",
            "retry",
            "step",
        ),
        "good_run",
    ),
    "button_": [name + end for name in BUTTONS for end in ("", "_why")],
    "help_": tuple(verb.name for verb in VERBS),
    "kind_": changes.Effect,
    "origin_pull_": (
        "opened",
        "reopened",
        "edited",
        "converted_to_draft",
        "ready_for_review",
        "closed",
    ),
    "gate_": (*(kind for kind in GateReason if kind in GATE_KINDS), *Phase),
    "gate_n_": ("passed", *(phase.short for phase in Phase)),
    "policy_stopped_": (*StoppedBy, "often"),
    "unread_": Unread,
    "phase_": (
        *("queued", "waiting", "runner", "preparing", "starting", "running", "training"),
        *("queued_since", "waiting_since", "preparing_since", "starting_since"),
        *("running_since", "training_since", "runner_at", "starting_at"),
    ),
    "wrong_unknown_": ("key", "label", "pool", "suite"),
}


def test_every_sentence_that_is_said_exists() -> None:
    named = {key: use.place for use in uses() for key in use.keys}
    built = {prefix + end: prefix for prefix, ends in FAMILIES.items() for end in ends}
    assert {use.prefix for use in uses()} - {""} <= FAMILIES.keys()
    assert {key: place for key, place in {**named, **built}.items() if key not in EN} == {}


def test_every_sentence_is_said_somewhere() -> None:
    built = {prefix + end for prefix, ends in FAMILIES.items() for end in ends}
    states = {str(item) for item in (*State, *Outcome)}
    assert EN.keys() - words() - built - states == set()


def test_each_call_passes_the_fields_of_its_sentence() -> None:
    assert [use.place for use in uses() if use.keys and not _fits(use)] == []


def _fits(use: Use) -> bool:
    """Return True if a call passes all that its sentence needs and nothing that none shows."""
    needs = [placeholders(EN[key]) for key in use.keys]
    whole = frozenset().union(*needs)
    return use.fields <= whole and (use.more or use.fields == whole)


@pytest.mark.parametrize("language", TABLES)
def test_each_sentence_can_be_said(language: str) -> None:
    messages = Messages(language)
    for key, text in EN.items():
        fields: dict[str, Field] = {name: _sample(text, name) for name in placeholders(text)}
        said = messages(key, **fields)
        assert said or key == "nothing"
        assert said == messages.render(Message(key, **fields))


def _sample(text: str, name: str) -> Field:
    """Return a value that a placeholder can show."""
    if f"{{{name}:%" in text:
        return NOW
    return 7 if name == "n" or f"{{{name}:" in text else f"<{name}>"


@pytest.mark.parametrize("language", TABLES)
def test_a_language_has_the_placeholders_of_english(language: str) -> None:
    table = TABLES[language]
    assert table.keys() == EN.keys()
    assert [key for key in table if placeholders(table[key]) != placeholders(EN[key])] == []


def test_a_message_is_its_english_text_and_is_said_in_another_language() -> None:
    tables = {
        "en": dict(EN),
        "zz": {"wrong_near": "oder `{word}`?", "wrong_known": "{names}{more}!"},
    }
    message = Message("wrong_known", names=("a", "b"), more=Message("wrong_near", word="c"))
    assert message == "; known: a, b; did you mean `c`?"
    assert Messages("zz", tables).render(message) == "a, boder `c`?!"
    assert Messages("zz", tables).render("plain") == "plain"


def test_a_message_has_a_form_for_one_and_a_form_for_more() -> None:
    one, many = (Message("policy_needs", n=n, npus=8, total=8 * n) for n in (1, 2000))
    assert (one, many) == ("1 node × 8 NPUs are 8", "2,000 nodes × 8 NPUs are 16000")


def test_a_message_is_kept_by_its_key_and_fields() -> None:
    inner = (Message("quote", text="x"), "y")
    message = Message("wrong_known", names=inner, more=NOTHING)
    dated = Message("quote", text=NOW)
    for item in (message, dated):
        kept = from_plain(json.loads(json.dumps(to_plain(item))))
        assert (kept, kept.key, kept.fields) == (item, item.key, item.fields)
        assert copy.deepcopy(item).fields == item.fields


def test_words_from_outside_are_a_message_once() -> None:
    assert quote("x").key == "quote"
    assert quote(NOTHING) is NOTHING


@pytest.mark.parametrize(
    ("key", "fields", "said"),
    [
        ("gate_failed_one", {"suite": "npu-unit"}, "npu-unit 失败"),
        ("gate_failed_one", {"suite": "夜间"}, "夜间失败"),
        ("row_why", {"state": "失败", "why": "exit 1"}, "失败：exit 1"),
        ("cost_short", {"npus": "8 卡", "hours": "1"}, "8 卡，最多 1 NPU 卡时"),
        ("wrong_kind", {"kind": "列表", "found": "`a`"}, "应为列表，而不是 `a`"),
        ("policy_holds", {"policy": "`x`"}, "合入之前，`x` 对所有 PR 生效，包括这个 PR。"),
        ("line_rayjob", {"job": "训练"}, "RayJob `训练`"),
    ],
)
def test_chinese_and_other_letters_have_a_space_between_them(
    key: str, fields: dict[str, Field], said: str
) -> None:
    assert Messages("zh")(key, **fields) == said


def test_chinese_has_units_order_and_lists_of_its_own() -> None:
    say = Messages("zh").render
    assert say(english.duration(4_359)) == "1 小时 12 分钟"
    assert say(english.clock(NOW.replace(day=3), NOW)) == "8 月 3 日 15:02 UTC"
    assert (
        say(english.clock(NOW.replace(year=2025), NOW, seconds=True)) == "2025-08-22 15:02:00 UTC"
    )
    assert say(english.ordinal(2)) == "第 2"
    assert say(english.listing(["a", "b", "c"])) == "a、b 和 c"
    assert say(english.listing(["a", "b", "c", "d"], 2)) == "a、b，另有 2 项"
    assert Messages("zh")("count_suite", n=1) == "1 个套件"


def _signs() -> set[str]:
    path = ROOT.parent / "config" / "signatures.yml"
    book = yaml.safe_load(path.read_text())["signatures"]
    return {entry[name] for entry in book for name in ("title", "hint") if entry.get(name)}


def _own_hints() -> set[str]:
    found = (*hints._HINTS.values(), *hints._SIGNALS.values(), *hints._CODES.values())
    return {*found, hints._IN_REPOSITORY, hints._COMPARED}


def test_every_title_and_hint_of_a_failure_is_said_in_chinese() -> None:
    own = {"Nothing in this log failed", "No cause found"}
    assert SIGNS.keys() == _signs() | _own_hints() | own


def test_a_failure_is_told_in_the_readers_language_with_its_cause_first() -> None:
    say, placed = Messages("zh").render, "RuntimeError in a/b.py:7: NPU out of memory"
    assert say("NPU out of memory") == say(quote("NPU out of memory")) == "NPU 显存不足"
    assert say(placed) == "NPU 显存不足（RuntimeError，a/b.py:7）"
    assert say("KeyError in a.py:7: 'x'") == "'x'（KeyError，a.py:7）"
    assert Messages("en").render(placed) == placed


ENGLISH = re.compile(r"(?:[A-Za-z]{2,}[ ,]+){3,}")


def test_no_english_sentence_is_left_in_chinese() -> None:
    table = {key: re.sub(r"`[^`]*`", "", text) for key, text in ZH.items()}
    assert {key: text for key, text in table.items() if ENGLISH.search(text)} == {}
    wide = re.compile(f"{HAN.pattern}[,;:!?]|{HAN.pattern} {HAN.pattern}")
    assert {key: text for key, text in table.items() if wide.search(text)} == {}


def test_buttons_fit_in_every_language() -> None:
    for messages in map(Messages, TABLES):
        for name in BUTTONS:
            assert len(messages(f"button_{name}")) <= 20
            assert len(messages(f"button_{name}_why")) <= 40
