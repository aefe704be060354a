"""The command `ascend-ci submitter`: what it refuses and what it warns of."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.submitter import command
from bot.submitter.callers import digest_of
from bot.submitter.serve import is_loopback


def test_an_empty_token_is_wrong_use_not_an_open_door(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        command, ["--data-dir", str(tmp_path)], env={"SUBMITTER_TOKEN": " "}
    )
    assert result.exit_code == 2
    assert "SUBMITTER_TOKEN" in result.output


def test_the_first_start_makes_a_token_prints_it_once_and_keeps_its_digest_alone(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        argv = ["--data-dir", str(tmp_path), "--port", str(taken.getsockname()[1])]
        first, second = (CliRunner().invoke(command, argv) for _ in range(2))
    token = first.output.splitlines()[0].removeprefix("the token, shown only now: ")
    kept = tmp_path / "token.sha256"
    assert kept.read_text() == digest_of(token)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert token not in second.output
    assert "shown only now" not in second.output


def test_two_tokens_are_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a\n")
    argv = ["--data-dir", str(tmp_path), "--token-file", str(tmp_path / "token")]
    result = CliRunner().invoke(command, argv, env={"SUBMITTER_TOKEN": "b"})
    assert (result.exit_code, "not both" in result.output) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give jobs users of their own")
@pytest.mark.parametrize(
    ("options", "warns"),
    [([], True), (["--job-uids", "61000-61009"], False), (["--backend", "ray"], False)],
)
def test_who_starts_it_as_root_is_warned_that_jobs_run_as_root_and_a_taken_port_is_one_line(
    tmp_path: Path, options: list[str], *, warns: bool
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        argv = ["--data-dir", str(tmp_path), "--port", str(taken.getsockname()[1]), *options]
        result = CliRunner().invoke(command, argv)
    assert result.exit_code == 1
    assert "cannot serve" in result.output
    assert "Traceback" not in result.output
    told = [line for line in result.output.splitlines() if line.startswith("WARNING")]
    assert [("run as root" in line, "--job-uids" in line) for line in told] == [
        (True, True)
    ] * warns


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a/b": "c"}'])
@pytest.mark.parametrize("name", ["repositories.json", "token.sha256"])
def test_a_damaged_file_is_said_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    result = CliRunner().invoke(command, ["--data-dir", str(tmp_path), "--port", "0"])
    told = result.output.splitlines()
    assert (result.exit_code, len(told)) == (1, 1 if name == "token.sha256" else 3)
    assert f"{tmp_path / name} is damaged" in told[-1]
    assert (tmp_path / name).read_text() == text


def test_a_data_folder_in_use_is_said_with_the_option_for_another(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    with (tmp_path / "jobs" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = CliRunner().invoke(command, ["--data-dir", str(tmp_path), "--port", "0"])
    assert result.exit_code == 2
    assert "name another folder with --data-dir" in result.output
    assert "Errno" not in result.output


def test_a_cluster_that_does_not_answer_is_warned_of_with_its_address(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        argv = ["--data-dir", str(tmp_path), "--port", str(taken.getsockname()[1])]
        gone = ["--backend", "ray", "--ray-address", "http://127.0.0.1:9"]
        CliRunner().invoke(command, [*argv, *gone])
    assert "jobs will wait for http://127.0.0.1:9: the Ray cluster" in caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--backend", "ray", "--ray-address", "auto"], "--ray-address"),
        (["--backend", "ray", "--ray-address", "10.0.0.1:6379"], "--ray-address"),
        (["--workdir", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_an_option_that_can_t_be_meant_is_wrong_use(options: list[str], said: str) -> None:
    result = CliRunner().invoke(command, options)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_only_loopback_names_are_taken_on_loopback(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected
