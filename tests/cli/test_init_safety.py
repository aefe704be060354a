"""A checkout may be a stranger's: `init` neither reads nor writes outside of it."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli.init import command
from bot.cli.init.checkout import Checkout, RefusedError
from bot.cli.init.templates import Wanted

POLICY = ".github/ascend-ci.yml"
MULTINODE = ".github/workflows/ascend_multinode.yml"


def refused(folder: Path, *options: str) -> dict[str, str]:
    result = CliRunner().invoke(command, ["--force", "--json", *options, str(folder)])
    assert result.exit_code == 1
    files = json.loads(result.stdout)["files"]
    return {one["path"]: one["reason"] for one in files if one["status"] == "refused"}


@pytest.mark.parametrize("inside", [True, False])
def test_no_link_to_a_folder_is_followed(tmp_path: Path, inside: bool) -> None:
    checkout = tmp_path / "checkout"
    target = (checkout if inside else tmp_path) / "target"
    checkout.mkdir()
    target.mkdir()
    (checkout / ".github").symlink_to(target)
    reasons = refused(checkout)
    assert reasons[MULTINODE] == ".github is a symbolic link; none is followed"
    assert all(path.startswith(".github/") for path in reasons)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("exists", [True, False])
def test_no_link_to_a_file_is_followed(tmp_path: Path, exists: bool) -> None:
    checkout, outside = tmp_path / "checkout", tmp_path / "outside"
    (checkout / ".github").mkdir(parents=True)
    if exists:
        outside.write_text("theirs")
    (checkout / POLICY).symlink_to(outside)
    assert refused(checkout) == {POLICY: f"{POLICY} is a symbolic link; none is followed"}
    assert outside.exists() is exists
    assert (checkout / POLICY).is_symlink()


def test_the_folder_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    result = CliRunner().invoke(command, ["--yes", str(tmp_path / "link")])
    assert result.exit_code == 0
    assert (tmp_path / "real" / POLICY).is_file()


def test_what_is_no_file_or_no_folder_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "tests").write_text("a file")
    (tmp_path / POLICY).mkdir(parents=True)
    os.mkfifo(tmp_path / ".github/scripts")
    reasons = refused(tmp_path)
    assert reasons[POLICY] == f"{POLICY} is not a file"
    assert set(reasons.values()) == {
        f"{POLICY} is not a file",
        ".github/scripts is not a folder",
        "tests is not a folder",
    }
    assert (tmp_path / MULTINODE).is_file()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".github/workflows").mkdir(parents=True)
    os.mkfifo(tmp_path / MULTINODE)
    os.mkfifo(tmp_path / ".github/workflows/x.yml")
    assert refused(tmp_path, "--from-workflows") == {MULTINODE: f"{MULTINODE} is not a file"}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    name = "x" * 250  # the name fits, that of the file beside it does not
    with pytest.raises(RefusedError, match="file name too long"):
        Checkout(tmp_path).write(Wanted(name, b"new"))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_write_that_cannot_end_removes_what_it_began(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").touch()
    with pytest.raises(RefusedError, match="is a directory"):
        Checkout(tmp_path).write(Wanted("taken", b"new"))
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="file name too long"):
        Checkout(tmp_path).read("x" * 300)
