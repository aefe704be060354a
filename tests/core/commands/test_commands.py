"""Commands in comments: what is one, what it asks for, and what is answered to a mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.commands import (
    MAX_COMMANDS,
    VERBS,
    Approve,
    Cancel,
    Explain,
    Help,
    Mistake,
    Rerun,
    Run,
    Status,
    help_text,
    parse,
)

N = "/ascend-e2e"
SHA = "0123456789ab"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (N, Run(N)),
        (f"{N} run unit", Run(f"{N} run unit", ("unit",))),
        (f"{N} a-* b", Run(f"{N} a-* b", ("a-*", "b"))),
        (f"{N} RERUN unit", Rerun(f"{N} RERUN unit", ("unit",))),
        (f"{N} rerun --sha {SHA}", Rerun(f"{N} rerun --sha {SHA}", (), SHA)),
        (f"{N} cancel", Cancel(f"{N} cancel")),
        (f"{N} approve --sha={SHA.upper()}", Approve(f"{N} approve --sha={SHA.upper()}", SHA)),
        (f"{N} explain unit", Explain(f"{N} explain unit", ("unit",))),
        (f"{N} status", Status(f"{N} status")),
        (f"{N} help", Help(f"{N} help")),
        (f"{N} help Run", Help(f"{N} help Run", "run")),
        (
            f"{N} unit --runner npu-8 --set script=a.sh --force",
            Run(
                f"{N} unit --runner npu-8 --set script=a.sh --force",
                ("unit",),
                None,
                "npu-8",
                (("script", "a.sh"),),
                True,
            ),
        ),
    ],
)
def test_a_command_is_read_as_it_is_meant(text: str, wanted: object) -> None:
    assert parse(f"请看一下\r\n{text}\r\n谢谢") == (wanted,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{N} aprove", "Did you mean `/ascend-e2e approve`?"),
        (f"{N} --she {SHA}", "Did you mean `--sha`?"),
        (f"{N} status --sha {SHA}", "`--sha` is not known here"),
        (f"{N} --sha", "has a value too few or too many"),
        (f"{N} --force=yes", "has a value too few or too many"),
        (f"{N} --sha 0123", "at least 12 hex digits"),
        (f"{N} --sha {'g' * 12}", "at least 12 hex digits"),
        (f"{N} --sha {SHA} --sha {SHA}", "given twice"),
        (f"{N} --runner a;b", "`a;b` is no name"),
        (f"{N} --set a=1 --set b=1 --set=a=2", "`--set a` is given twice"),
        (f"{N} --set novalue", "no KEY=VALUE"),
        (f"{N} $(rm)", "`$(rm)` is no name"),
        (f"{N} 谢谢", "`谢谢` is no name"),
        (f"{N}，谢谢", "`，谢谢` is no name"),
        (f"{N} status now", "`now` is one word too many"),
        (f"{N} {'x ' * 51}", "More than 50 words"),
        (f"{N} {'x' * 1000}", "more than 1000 characters"),
    ],
)
def test_a_mistake_is_answered_and_starts_nothing(text: str, told: str) -> None:
    (found,) = parse(text)
    assert isinstance(found, Mistake)
    assert told in found.text
    assert found.text.lower().endswith("nothing was started.")


@pytest.mark.parametrize(
    "text",
    [
        f"> {N}",
        f"> quoted\n{N}",
        f"```\n{N}\n```",
        f"````\n```\n{N}\n````",
        f"~~~sh\n{N}",
        f"    {N}",
        f"\t{N}",
        f"see `{N}`",
        f"a `code\n{N}\nspan`",
        f"- {N}",
        f"- item\n{N}",
        f"1. item\n{N}",
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
        f"{N}-old unit",
        f"ascend-e2e unit\n{N[1:]}",
    ],
)
def test_what_markdown_shows_as_something_else_is_no_command(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize(
    "before", ["> q\n\n", "- item\n\n", "```\nx\n```\n", "```a`b\n\n", "<!-- x -->\n", "`a` b\n"]
)
def test_a_command_after_a_block_that_has_ended_counts(before: str) -> None:
    assert parse(f"{before}{N}") == (Run(N),)


def test_a_mistake_stops_its_line_alone() -> None:
    bad, good = parse(f"{N} staus\n{N} status")
    assert isinstance(bad, Mistake)
    assert good == Status(f"{N} status")


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


def test_help_lists_every_verb_or_explains_one() -> None:
    assert all(f"`{N} {verb}" in help_text(None) for verb in VERBS if verb != "run")
    assert help_text("cancel").count("\n") == 0
    assert all(option in help_text("run") for option in ("--sha", "--runner", "--set", "--force"))


def test_help_of_what_is_no_command_says_so_first() -> None:
    whole = help_text(None)
    assert help_text("bogus*") == f"No command `bogus*`. What can be typed:\n\n{whole}"
    near = help_text("cancle")
    assert near.startswith(f"No command `cancle`. Did you mean `{N} help cancel`? What can be")
    assert near.endswith(whole)
