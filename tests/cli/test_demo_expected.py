"""What counts as a difference between what was expected and what GitHub shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.demo.expected import (
    ExpectedCheck,
    ExpectedReply,
    differences,
    gate,
    suite,
    unexpected,
)
from bot.core.report.reply import reply_marker
from bot.sim import SimGitHub, SimOptions
from bot.sim.model import CheckRun

PASSED = {"conclusion": "success", "output": {"title": "Passed in 3 s", "summary": ""}}


class Shown:
    """A GitHub with one pull request, on which the bot and people write."""

    def __init__(self, folder: Path) -> None:
        self.github = SimGitHub(options=SimOptions(scripted=True, folder=folder))
        self.app = self.github.create_app()
        self.github.create_repo("octo/project", {"a": "1"})
        self.github.grant("mia", "maintain")
        self.pull = self.github.people.open_pull("mia", {"a": "2"})
        self.sha = self.pull.head_sha
        self.command = self.github.people.comment(self.pull, "mia", "/ascend-e2e unit").id
        self.reply = ExpectedReply(self.command, ("`unit`", "passed"))

    def check(self, name: str = "Ascend / unit", **fields: object) -> CheckRun:
        """Let the bot write a check run: one that passed, unless `fields` say otherwise."""
        assert self.app.bot is not None
        body = {**PASSED, "name": name, "head_sha": self.sha, **fields}
        return self.github.checks.create(self.pull.repo, self.app, body, self.app.bot)

    def says(self, body: str, *, by_bot: bool = True) -> None:
        """Let the bot, or a person, comment."""
        mia, people = self.github.state.user("mia"), self.github.people
        people.write_comment(self.pull, mia, body, self.app if by_bot else None)

    def answers(self, state: str) -> None:
        """Let the bot reply to the command."""
        self.says(f"`unit` {state} {reply_marker(self.command)}")

    def differences(self, *expected: ExpectedCheck | ExpectedReply) -> list[str]:
        """Return how this differs from what is expected."""
        return differences(expected, self.github)


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    return Shown(tmp_path)


def test_a_check_run_with_a_piece_of_the_title_is_as_expected(shown: Shown) -> None:
    shown.check()
    assert shown.differences(suite("unit", shown.sha, "success", "Passed")) == []


@pytest.mark.parametrize(
    "other", [{"conclusion": "failure"}, {"title": "Failed"}, {"status": "in_progress"}]
)
def test_each_part_that_differs_is_a_difference(shown: Shown, other: dict[str, str]) -> None:
    shown.check()
    expected = suite("unit", shown.sha, "success", "Passed")
    (line,) = shown.differences(replace(expected, **other))  # type: ignore[arg-type]
    assert f"Ascend / unit at {shown.sha[:7]}: expected" in line
    assert "is completed success, titled Passed in 3 s" in line


def test_a_check_run_that_is_not_there_is_named(shown: Shown) -> None:
    shown.check()
    for expected in (gate(shown.sha, "success", ""), suite("unit", "fedcba9", "success", "")):
        (line,) = shown.differences(expected)
        assert line.startswith(f"{expected.name} at {expected.sha[:7]}")
        assert line.endswith("there is none")


def test_the_newest_check_run_of_a_name_counts(shown: Shown) -> None:
    expected = suite("unit", shown.sha, "success", "Passed")
    shown.check(conclusion="failure")
    shown.check()
    assert shown.differences(expected) == []
    shown.check(conclusion="failure")
    assert shown.differences(expected) != []


def test_a_check_run_that_was_to_be_replaced_does_not_count(shown: Shown) -> None:
    old = shown.check()
    again = replace(suite("unit", shown.sha, "success", "Passed"), after=old.id)
    (line,) = shown.differences(again)
    assert line.endswith(f"there is none newer than {old.id}")
    shown.check()
    assert shown.differences(again) == []


def test_a_reply_with_all_pieces_is_as_expected(shown: Shown) -> None:
    shown.answers("passed")
    assert shown.differences(shown.reply) == []


def test_no_reply_and_a_second_one_are_differences(shown: Shown) -> None:
    shown.says(f"passed `unit` {reply_marker(shown.command)}", by_bot=False)
    shown.says(f"passed `unit` {reply_marker(shown.command + 1)}")
    for found in (0, 2):
        (line,) = shown.differences(shown.reply)
        assert line == (f"the reply to comment {shown.command}: expected one, there are {found}")
        shown.answers("passed")
        shown.answers("passed")


def test_a_reply_that_stops_short_is_a_difference_that_names_what_is_missing(shown: Shown) -> None:
    shown.answers("runs")
    (line,) = shown.differences(shown.reply)
    assert line.startswith(f"the reply to comment {shown.command}: expected passed; is `unit` runs")


def test_a_comment_of_the_bot_that_no_scene_expects_is_named(shown: Shown) -> None:
    shown.says("thanks", by_bot=False)
    shown.answers("passed")
    assert unexpected([shown.reply], shown.github) == []
    (line,) = unexpected([], shown.github)
    assert line.startswith("a comment on #1: no scene expects it; is `unit` passed")


def test_a_check_run_that_no_scene_expects_is_named(shown: Shown) -> None:
    expected = [suite("unit", shown.sha, "success", "Passed")]
    shown.check()
    assert unexpected(expected, shown.github) == []
    shown.check("ascend-ci", output={"title": "Looking", "summary": ""})
    assert unexpected(expected, shown.github) == [
        f"ascend-ci at {shown.sha[:7]}: no scene expects it; titled Looking"
    ]
