"""A command line that a text offers is one of `ascend-ci`, with options that it has."""

import re

import click
import pytest

from bot.cli import main
from bot.core.messages import TABLES
from bot.core.report import policy_change

_OFFERED = re.compile(r"`(ascend-ci [a-z][^`]*)`")


def _lines() -> list[str]:
    texts = [text for table in TABLES.values() for text in table.values()]
    named = [value for value in vars(policy_change).values() if isinstance(value, str)]
    found = [line for text in texts for line in _OFFERED.findall(text)]
    return [*found, *(line for line in named if line.startswith("ascend-ci "))]


@pytest.mark.parametrize("line", _lines())
def test_each_command_line_that_is_offered_exists(line: str) -> None:
    _, name, *words = line.split()
    assert isinstance(main, click.Group)
    command = main.get_command(click.Context(main), name)
    assert command is not None, line
    known = {option for param in command.params for option in param.opts}
    assert {word for word in words if word.startswith("--")} <= known, line


def test_some_are_offered() -> None:
    assert len(_lines()) >= 2
