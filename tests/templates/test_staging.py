"""Staging a commit in a folder of its own, and clearing up after it."""

import hashlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.templates.job import COMMIT, SubmitJob
from tests.templates.standin import SCRIPTS

LAUNCHER, NODE = (
    hashlib.sha256((SCRIPTS / name).read_bytes()).hexdigest()
    for name in ("ascend_ci_launch.sh", "ascend_ci_node.py")
)


@pytest.fixture
def job(tmp_path: Path) -> SubmitJob:
    return SubmitJob(tmp_path).check_out()


def tree_by_git(folder: Path, scratch: Path) -> str:
    """Return the id that git itself gives to a folder's content."""
    git = ["git", f"--git-dir={scratch}", f"--work-tree={folder}", "-c", "core.autocrlf=false"]
    subprocess.run(
        ["git", "init", "-q", "--bare", "--object-format=sha256", scratch], check=True, timeout=60
    )
    subprocess.run([*git, "add", "--all", "--force", "."], check=True, timeout=60)
    done = subprocess.run([*git, "write-tree"], check=True, capture_output=True, timeout=60)
    return done.stdout.decode().strip()


def test_the_commit_lies_in_a_folder_whose_name_nobody_can_guess(job: SubmitJob) -> None:
    assert job.command("stage").returncode == 0
    assert list(job.shared.iterdir()) == [job.staged]
    assert re.fullmatch(r"77-1-[0-9a-f]{16}", job.staged.name)
    assert (job.staged / "repo" / "tests" / "run.sh").read_text() == "echo trained\n"
    assert not (job.staged / "repo" / ".git").exists()


def test_what_the_cluster_starts_is_the_trusted_launcher(job: SubmitJob) -> None:
    job.add(".github/scripts/ascend_ci_launch.sh", "echo mine\n")
    job.command("stage")
    assert job.outputs()["script"] == str(job.staged / "ascend_ci_launch.sh")
    for name in ("ascend_ci_launch.sh", "ascend_ci_node.py", "ascend_ci_nodes.py"):
        assert (job.staged / name).read_bytes() == (SCRIPTS / name).read_bytes()


def test_two_attempts_do_not_meet(job: SubmitJob) -> None:
    second = SubmitJob(job.folder, attempt="2")
    assert job.command("stage").returncode == 0
    assert second.command("stage").returncode == 0
    assert second.command("remove").returncode == 0
    assert job.staged.is_dir()


def test_only_its_user_can_enter_what_is_staged_whatever_the_umask(job: SubmitJob) -> None:
    before = os.umask(0)
    try:
        job.command("stage")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (job.shared, job.staged)] == [0o700] * 2


def test_a_staging_folder_that_everybody_may_change_is_refused(job: SubmitJob) -> None:
    job.shared.mkdir()
    job.shared.chmod(0o777)
    assert "`chmod o-w` or `chmod +t`" in job.command("stage").stderr
    job.shared.chmod(0o1777)
    assert job.command("stage").returncode == 0


def test_the_submission_carries_the_tree_id_that_git_computes(job: SubmitJob) -> None:
    for name in ("a", "a.b", "a-b/x", "a0", "ab/y/z", "é"):
        job.add(name, name)
    job.add("run", "#!/bin/sh\n").chmod(0o755)
    (job.pr / "link").symlink_to("./a//b/")
    job.command("stage")
    assert job.outputs()["args"][0] == tree_by_git(job.staged, job.folder / "scratch.git")


def test_the_submission_names_commit_script_data_and_sizes(job: SubmitJob) -> None:
    job.command("stage", TEST_DATA="gsm8k", NPUS_PER_WORKER="16", ASCEND_CI_STAGING_MOUNT="/mnt/x")
    out = job.outputs()
    assert out["script"] == f"/mnt/x/{job.staged.name}/ascend_ci_launch.sh"
    assert out["args"][1:] == [NODE, COMMIT, "tests/run.sh"]
    assert out["env"] == {
        "ASCEND_CI_DATA": "gsm8k",
        "ASCEND_CI_WORKERS": "2",
        "ASCEND_CI_CHECKOUT": "verl",
        "ASCEND_CI_SCRIPT_SHA256": LAUNCHER,
        "NNODES": "2",
        "NPUS_PER_NODE": "16",
        "NGPUS_PER_NODE": "16",
        "N_NPUS": "16",
    }
    assert [(patch["op"], patch["value"]) for patch in out["patches"]] == [("add", "16")] * 2
    ends = {patch["path"].rpartition("resources")[2] for patch in out["patches"]}
    assert ends == {f"/{kind}/huawei.com~1ascend-1980" for kind in ("requests", "limits")}


def test_the_repository_may_patch_more_and_name_another_resource(job: SubmitJob) -> None:
    own = '[{"op": "add", "path": "/metadata/labels/a", "value": "b"}]'
    more = {"ASCEND_CI_TEMPLATE_PATCHES": own, "ASCEND_CI_NPU_RESOURCE": "x.io/npu~a"}
    job.command("stage", NPUS_PER_WORKER="4", **more)
    patches = job.outputs()["patches"]
    assert patches[-1]["value"] == "b"
    assert patches[0]["path"].endswith("/x.io~1npu~0a")


def test_without_npus_the_template_stays_as_it_is(job: SubmitJob) -> None:
    job.command("stage")
    out = job.outputs()
    assert out["patches"] == []
    assert {"NPUS_PER_NODE", "NGPUS_PER_NODE", "N_NPUS"}.isdisjoint(out["env"])


NAMES = ["a b.sh", "-rf", "x\ny=z.sh", "$(id)`id`;.sh", "[1]*?.sh", "é.sh", "'\".sh"]


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_only_a_name(job: SubmitJob, name: str) -> None:
    job.add(name, "bytes")
    done = job.command("stage", TEST_SCRIPT=name)
    assert done.returncode == 0
    assert (job.staged / "repo" / name).read_text() == "bytes"
    assert job.outputs()["args"][2:] == [COMMIT, name]


def test_links_are_copied_not_followed(job: SubmitJob) -> None:
    (job.pr / "secret").symlink_to("/etc/passwd")
    (job.pr / "folder").symlink_to("/etc")
    (job.pr / "nowhere").symlink_to("../../../no/where")
    assert job.command("stage").returncode == 0
    for name in ("secret", "folder", "nowhere"):
        assert (job.staged / "repo" / name).is_symlink()


REFUSED = {
    "another commit": ({"ASCEND_CI_SHA": "d" * 40}, "asked for was dddd"),
    "a branch": ({"ASCEND_CI_SHA": "main"}, "ASCEND_CI_SHA is 'main'"),
    "no script": ({"TEST_SCRIPT": "tests/none.sh"}, "no script 'tests/none.sh'"),
    "a folder": ({"TEST_SCRIPT": "tests"}, "no script 'tests'"),
    "outside": ({"TEST_SCRIPT": "../trusted/.github/scripts/ascend_ci_launch.sh"}, "no script"),
    "absolute": ({"TEST_SCRIPT": "/etc/passwd"}, "no script '/etc/passwd'"),
    "no workers": ({"WORKER_REPLICAS": "0"}, "WORKER_REPLICAS is '0'"),
    "no number": ({"NPUS_PER_WORKER": "4; id"}, "NPUS_PER_WORKER is '4; id'"),
    "no folder": ({"ASCEND_CI_STAGING_DIR": ""}, "ASCEND_CI_STAGING_DIR is missing"),
    "a relative folder": ({"ASCEND_CI_STAGING_DIR": "x"}, "ASCEND_CI_STAGING_DIR is 'x'"),
    "no JSON": ({"ASCEND_CI_TEMPLATE_PATCHES": "{"}, "is no JSON"),
    "no array": ({"ASCEND_CI_TEMPLATE_PATCHES": "{}"}, "is no JSON array"),
    "a new line": ({"ASCEND_CI_STAGING_MOUNT": "/a\nargs=[]"}, "the staging folder is"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_by_name(job: SubmitJob, case: str) -> None:
    more, said = REFUSED[case]
    done = job.command("stage", **more)
    assert done.returncode == 1
    assert said in done.stderr
    assert not job.shared.exists()
    assert not job.output.exists()


def test_a_script_that_is_a_link_out_of_the_commit_is_refused(job: SubmitJob) -> None:
    (job.pr / "out.sh").symlink_to("/etc/passwd")
    assert "no script" in job.command("stage", TEST_SCRIPT="out.sh").stderr


DAY_S = 24 * 3600
RANDOM = "0123456789abcdef"


def aged(folder: Path, days: float) -> Path:
    (folder / "repo").mkdir(parents=True)
    (folder / "repo" / "file").write_text("")
    when = time.time() - days * DAY_S
    os.utime(folder, (when, when))
    return folder


def test_folders_older_than_two_days_are_removed_before(job: SubmitJob) -> None:
    old = [aged(job.shared / f"{name}-{RANDOM}", 2.1) for name in ("5-1", "6-12", "7-1")]
    young = [aged(job.shared / f"{name}-{RANDOM}", 1.9) for name in ("8-1", "9-1")]
    foreign = [aged(job.shared / name, 9) for name in ("models", "5-1", "a b", f"-1-{RANDOM}")]
    done = job.command("stage")
    assert done.returncode == 0
    assert not any(folder.exists() for folder in old)
    assert all((folder / "repo" / "file").exists() for folder in [*young, *foreign])
    assert done.stdout.count("left by an old run") == 3


def test_the_sweep_does_not_follow_a_link(job: SubmitJob) -> None:
    kept = aged(job.folder / "precious", 9)
    job.shared.mkdir()
    link = job.shared / f"5-1-{RANDOM}"
    link.symlink_to(kept)
    when = time.time() - 9 * DAY_S
    os.utime(link, (when, when), follow_symlinks=False)
    assert job.command("stage").returncode == 0
    assert (kept / "repo" / "file").exists()


def test_an_old_folder_that_stays_hinders_nobody(job: SubmitJob) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may remove everything")
    old = aged(job.shared / f"5-1-{RANDOM}", 9)
    (old / "repo").chmod(0o500)
    done = job.command("stage")
    (old / "repo").chmod(0o700)
    assert done.returncode == 0
    assert "stays" in done.stderr
    assert job.staged.is_dir()


def test_remove_takes_the_folder_also_if_the_copy_was_aborted(job: SubmitJob) -> None:
    (job.pr / "pipe").parent.mkdir(exist_ok=True)
    os.mkfifo(job.pr / "pipe")
    assert job.command("stage").returncode != 0
    (job.shared / f"78-1-{RANDOM}").mkdir()
    assert job.staged.is_dir()
    assert job.command("remove").returncode == 0
    assert [path.name for path in job.shared.iterdir()] == [f"78-1-{RANDOM}"]
    assert job.command("remove").returncode == 0


def test_remove_fails_when_the_folder_is_still_there(job: SubmitJob) -> None:
    job.command("stage")
    job.command("remove")
    job.staged.write_text("no folder: rmtree leaves it")
    done = job.command("remove")
    assert done.returncode == 1
    assert "could not be removed" in done.stderr


@pytest.mark.parametrize("name", ["", "..", "models", "77-1", f"../shared/77-1-{RANDOM}"])
def test_remove_takes_nothing_else(job: SubmitJob, name: str) -> None:
    job.command("stage")
    assert job.command("remove", ASCEND_CI_STAGED=name).returncode == 1
    assert job.staged.is_dir()


@pytest.mark.parametrize("arguments", ["", "everything", "--help"])
def test_an_unknown_command_ends_with_the_known_ones(job: SubmitJob, arguments: str) -> None:
    done = job.command(arguments)
    assert done.returncode == 1
    assert "stage|stop|remove" in done.stderr
