"""What operators' commands print of texts that others wrote."""

import json

import pytest

from bot.cli.operators.printing import print_json


def test_json_holds_nothing_that_acts_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A message of a RayJob comes from the code of a pull request."""
    message = {"message": "\x9b2J \x1b[2J \u202e \x7f 中文 é"}
    print_json(message)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x9b\x1b\u202e\x7f")
    assert "中文 é" in shown
    assert json.loads(shown) == message
