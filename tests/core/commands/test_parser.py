"""Commands in comments: what is one, and what is answered to a mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.commands.parser import MAX_COMMANDS, command_lines, parse
from bot.core.commands.run import RunCommand
from bot.core.commands.status import StatusCommand
from bot.core.commands.verb import Mistake, TypedLine
from bot.core.messages import quote
from bot.core.planning.plan_builder import PlanBuilder
from tests.core.commands.commenting import COMMAND, commented

N = COMMAND
SHA = "0123456789ab"


def test_a_command_is_a_line_among_others() -> None:
    assert parse(f"请看一下\r\n{N}\r\n谢谢") == (RunCommand(TypedLine(N)),)


def test_only_the_lines_of_commands_are_kept_of_a_comment() -> None:
    assert command_lines(f"my password is x\n{N} status\n```\n{N} cancel\n```") == (f"{N} status",)


@pytest.mark.parametrize("verb", ["run", "rerun", "approve"])
def test_a_command_says_which_commit_it_names(verb: str) -> None:
    named, of_the_head = parse(f"{N} {verb} --sha {SHA}\n{N} {verb}")
    assert (named.sha, of_the_head.sha) == (SHA, None)
    (status,) = parse(f"{N} status")
    assert status.sha is None


def test_a_mistake_is_refused_when_it_is_carried_out() -> None:
    builder = PlanBuilder()
    Mistake(TypedLine("line"), quote("what is wrong")).carry_out(commented(), builder)
    assert (builder.refusals, builder.said) == (1, ["what is wrong"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{N} aprove", "Did you mean `/ascend-e2e approve`?"),
        (f"{N} --she {SHA}", "Did you mean `--sha`?"),
        (f"{N} status --sha {SHA}", "There is no option `--sha`"),
        (f"{N} --sha", "`--sha` needs a value"),
        (f"{N} --sha 0123", "at least 12 hex digits"),
        (f"{N} --sha {'g' * 12}", "at least 12 hex digits"),
        (f"{N} --sha {SHA} --sha {SHA}", "given twice"),
        (f"{N} $(rm)", "`$(rm)` is not a suite's name"),
        (f"{N} 谢谢", "`谢谢` is not a suite's name"),
        (f"{N}，谢谢", "`谢谢` is not a suite's name"),
        (f"{N} {'x ' * 51}", "at most 50 words"),
        (f"{N} {'x' * 1000}", "at most 1,000 characters"),
    ],
)
def test_a_mistake_is_answered_and_starts_nothing(text: str, told: str) -> None:
    (found,) = parse(text)
    assert isinstance(found, Mistake)
    assert told in found.text
    assert found.text.startswith("Nothing was started")


@pytest.mark.parametrize(
    "text",
    [
        f"> {N}",
        f"> quoted\n{N}",
        f"**{N}**",
        f"_{N}_",
        f"「{N}」",
        f"```\n{N}\n```",
        f"````\n```\n{N}\n````",
        f"~~~sh\n{N}",
        f"    {N}",
        f"\t{N}",
        f" \t{N}",
        f"\ufeff    {N}",
        f"\ufeff> {N}",
        f"see `{N}`",
        f"a `code\n{N}\nspan`",
        f"- {N}",
        f"- item\n{N}",
        f"- item\n\n  {N}",
        f"- item\n{N}\n\n   {N}",
        f"1. item\n{N}",
        f"1. item\n\n   {N}",
        f"<!-- {N} -->",
        f"<!--\n\n{N}\n\n-->",
        f"<details>\n{N}\n</details>",
        f"<pre>\n\n{N}\n\n</div>\n\n{N}\n</pre>",
        f"<script>x</script> {N}",
        f"<?php\n\n{N}\n?>",
        f"<!DOCTYPE x\n\n{N}\n>",
        f"<![CDATA[\n\n{N}\n]]>",
        f"| a | b |\n{N}",
        f"a | b\n--- | ---\n{N}",
        f"{N}\n===",
        f"please {N}",
        f"{N}x",
        "/a\u017fcend-e2e",  # its capital is an S
        "/ascend\u200b-e2e",
        f"{N}-old unit",
        f"ascend-e2e unit\n{N[1:]}",
    ],
)
def test_what_markdown_shows_as_something_else_is_no_command(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize(
    "before",
    ["   ", "\u3000\u3000", "\xa0 ", " \u200b", "\u2060\u200e", "\ufeff", "\ufeff  ", "text\n "],
)
@pytest.mark.parametrize("name", [N, "/Ascend-E2E"])
def test_blanks_and_what_no_eye_sees_may_stand_before_a_command(before: str, name: str) -> None:
    assert parse(f"{before}{name} Status") == (StatusCommand(TypedLine(f"{N} Status")),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{N}。", ()),
        (f"{N} unit！", ("unit",)),
        (f"{N} unit、other，e", ("unit", "other", "e")),
        (f"{N} “unit”（other）\u200b", ("unit", "other")),
        (f"{N}：unit…", ("unit",)),
    ],
)
def test_chinese_punctuation_is_no_part_of_a_word(text: str, words: tuple[str, ...]) -> None:
    (found,) = parse(f"{text}，--sha={SHA}；")
    assert isinstance(found, RunCommand)
    assert (found.words, found.sha) == (words, SHA)
    assert found.line == " ".join((N, *words, f"--sha={SHA}"))


@pytest.mark.parametrize(
    "before",
    [
        "- a\n\nb\n\n  ",
        "> q\n\n",
        "- item\n\n",
        "```\nx\n```\n",
        "```a`b\n\n",
        "<!-- x -->\n",
        "`a` b\n",
    ],
)
def test_a_command_after_a_block_that_has_ended_counts(before: str) -> None:
    assert parse(f"{before}{N}") == (RunCommand(TypedLine(N)),)


def test_a_mistake_stops_its_line_alone() -> None:
    bad, good = parse(f"{N} staus\n{N} status")
    assert isinstance(bad, Mistake)
    assert good == StatusCommand(TypedLine(f"{N} status"))


def test_a_comment_holds_ten_commands_at_most() -> None:
    found = parse(f"{N}\n" * 20)
    assert len(found) == MAX_COMMANDS + 1
    assert isinstance(found[-1], Mistake)


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([N, " ", "`", "\n", "x", "--sha", "<"])).map("".join)
)
def test_no_text_breaks_the_parser_or_its_answers(text: str) -> None:
    for item in parse(f"{text}\n\n{N} {text}"):
        if isinstance(item, Mistake):
            assert "\n" not in item.text
