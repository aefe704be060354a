"""A verb is complete: its file, its place in the list, its help and its test."""

import importlib
from pathlib import Path

from bot.core import commands
from bot.core.commands.verb import Verb
from bot.core.commands.verbs import VERBS
from bot.core.policy.values import COMMAND_WORDS
from tests.core.commands.commenting import MESSAGES

FOLDER = Path(commands.__path__[0])


def test_every_verb_of_a_file_is_listed_under_the_files_name() -> None:
    found = {
        (file.stem, value.name)
        for file in FOLDER.glob("*.py")
        if file.stem not in {"parser", "verbs"}
        for value in vars(importlib.import_module(f"bot.core.commands.{file.stem}")).values()
        if isinstance(value, Verb)
    }
    assert found == {(verb.name, verb.name) for verb in VERBS}


def test_every_verb_has_a_help_text_and_a_test_beside_its_name() -> None:
    for verb in VERBS:
        assert MESSAGES.has(f"help_{verb.name}"), verb.name
        assert Path(__file__).with_name(f"test_{verb.name}.py").exists(), verb.name


def test_no_suite_may_have_the_name_of_a_verb() -> None:
    assert {verb.name for verb in VERBS} == COMMAND_WORDS


def test_one_verb_is_implied() -> None:
    assert [verb.name for verb in VERBS if verb.implied] == ["run"]
