"""`/ascend-e2e help`: how it is typed, and that every verb is listed as it is typed."""

import pytest

from bot.core.commands.help import HelpCommand, help_text
from bot.core.commands.verbs import USAGES, VERBS
from tests.core.commands.commenting import COMMAND, MESSAGES, carried_out, commented, read


@pytest.mark.parametrize(("words", "topic"), [("help", None), ("help Run", "run")])
def test_the_reply_is_the_help(words: str, topic: str | None) -> None:
    assert isinstance(read(f"{COMMAND} {words}"), HelpCommand)
    said = carried_out(f"{COMMAND} {words}", commented()).said
    assert said == [help_text(MESSAGES, USAGES, topic)]


def test_help_lists_every_verb_or_explains_one() -> None:
    listed = help_text(MESSAGES, USAGES, None).splitlines()
    assert [f"`{verb.usage}`" in line for verb, line in zip(VERBS, listed, strict=True)] == [
        True
    ] * len(VERBS)
    assert help_text(MESSAGES, USAGES, "cancel").count("\n") == 0


@pytest.mark.parametrize(
    "usage",
    [
        f"{COMMAND} [run] [SUITE…] [--sha SHA] [--runner LABEL] [--set KEY=VALUE] [--force]",
        f"{COMMAND} rerun [SUITE…] [--sha SHA]",
        f"{COMMAND} cancel [SUITE…]",
        f"{COMMAND} approve [--sha SHA]",
        f"{COMMAND} explain [SUITE…]",
        f"{COMMAND} status",
        f"{COMMAND} help [VERB]",
    ],
)
def test_the_usage_is_what_may_be_typed(usage: str) -> None:
    assert f"- `{usage}`: " in help_text(MESSAGES, USAGES, None)


def test_help_of_what_is_no_command_says_so_first() -> None:
    whole = help_text(MESSAGES, USAGES, None)
    unknown = help_text(MESSAGES, USAGES, "zzz*")
    assert unknown == f"There is no command `zzz*`. The commands are:\n\n{whole}"
    near = help_text(MESSAGES, USAGES, "cancle")
    assert near.startswith(
        f"There is no command `cancle`. Did you mean `{COMMAND} help cancel`? The commands are"
    )
    assert near.endswith(whole)
