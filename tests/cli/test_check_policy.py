from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.check_policy import command


def check(path: Path, text: str) -> Result:
    path.write_text(text)
    return CliRunner().invoke(command, [str(path)])


def test_every_error_is_one_line_with_file_line_and_path(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    result = check(path, "version: 1\nrunners: {a: {npus: x}}\nmoed: on\n")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f'{path}:2: runners.a.npus: is a whole number, not the text "x"',
        f"{path}:3: moed: unknown key `moed`; did you mean `mode`?",
    ]


def test_a_right_policy_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    suite = "suites: {s: {workflow: s.yml, runners: [a]}}\n"
    result = check(path, "version: 1\nrunners: {a: {}, b: {}}\n" + suite)
    assert result.exit_code == 0
    assert result.output == (
        f"{path}: OK, 1 suite, 2 runner labels, 0 pools, 0 nightly times, 0 warnings\n"
    )


def test_warnings_are_told_and_pass(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    result = check(path, "version: 1\nrunners: {a: {}}\n")
    assert result.exit_code == 0
    assert result.stderr == f"{path}:1: file: warning: has no suites, so nothing can run\n"
    assert result.stdout.endswith(" 1 warning\n")


@pytest.mark.parametrize("arguments", [[], ["no/such/file"]])
def test_wrong_use_ends_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code == 2
