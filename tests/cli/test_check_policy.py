import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.check_policy import command
from bot.cli.repository import read_tree


def check(path: Path, text: str) -> Result:
    path.write_text(text)
    return CliRunner().invoke(command, [str(path)])


def test_every_error_is_one_line_with_file_line_and_path(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    result = check(path, "version: 1\nrunners: {a: {npus: x}}\nmoed: on\n")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f'{path}:2: runners.a.npus: must be a whole number, not the text "x"',
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


POLICY = """\
version: 1
branches: [main, dev]
runners: {a: {}}
suites:
  s:
    workflow: s.yml
    runners: [a]
    paths: [worksers/*, worker]
"""


def git(folder: Path, *arguments: str) -> None:
    words = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    subprocess.run(words, check=True, capture_output=True)


def checkout(folder: Path) -> Path:
    for name in (".github/workflows/s.yml", "workers/a.py", "worker/b.py", "ignored/worksers/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_names_that_a_checkout_does_not_have_are_warnings(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "repo")
    path = tmp_path / "p.yml"
    path.write_text(POLICY)
    result = CliRunner().invoke(command, ["--repo", str(folder), str(path)])
    assert result.exit_code == 0
    typo = "`worksers/*` matches no file; did you mean `workers/*`?"
    bare = "`worker` matches no file; did you mean `worker/**`?"
    assert result.stderr.splitlines() == [
        f"{path}:8: suites.s.paths[0]: warning: {typo}",
        f"{path}:8: suites.s.paths[1]: warning: {bare}",
    ]
    assert result.stdout.endswith(" 2 warnings\n")


def test_git_says_which_files_and_branches_there_are(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "repo")
    (folder / ".gitignore").write_text("ignored/\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "workers", ".github")
    git(folder, "commit", "-qm", "first")
    (folder / "workers" / "a.py").unlink()
    git(folder, "update-ref", "refs/remotes/origin/v1", "HEAD")
    tree = read_tree(folder)
    assert tree.files.all == {".gitignore", ".github/workflows/s.yml", "worker/b.py"}
    assert tree.branches is not None
    assert tree.branches.all == {"main", "v1"}
    git(tmp_path, "clone", "-q", "--depth", "1", folder.as_uri(), "shallow")
    assert read_tree(tmp_path / "shallow").branches is None


def test_a_broken_repository_is_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    result = CliRunner().invoke(command, ["--repo", str(tmp_path), "-"], input=POLICY)
    assert result.exit_code == 1
    assert "git ls-files: fatal: not a git repository" in result.stderr


LACKING = """
[extensions]
partialClone = origin
[core]
repositoryformatversion = 1
[remote "origin"]
url = .
promisor = true
uploadpack = touch {proof}; git-upload-pack
"""


def test_a_checkout_that_lacks_a_folder_starts_no_command_of_its_own(tmp_path: Path) -> None:
    folder, proof = checkout(tmp_path / "repo"), tmp_path / "proof"
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "sparse-checkout", "set", "--sparse-index", ".github")
    for tree in (folder / ".git" / "objects").glob("??/*"):
        if tree.stat().st_size < 100:  # of the folders that are left out, and empty files
            tree.unlink()
    with (folder / ".git" / "config").open("a") as config:
        config.write(LACKING.format(proof=proof))
    CliRunner().invoke(command, ["--repo", str(folder), "-"], input=POLICY)
    assert not proof.exists()
