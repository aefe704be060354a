"""The RayJob's own wrapper: which commit runs where, how it ends, and what is left."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.core.digest.places import Places
from tests.templates.job import COMMIT, SubmitJob

CLUSTER = Path(__file__).parent / "cluster"


@dataclass(frozen=True, slots=True)
class RayJob:
    """A staged commit, and how the submitter starts what was staged."""

    job: SubmitJob

    @property
    def work(self) -> Path:
        return self.job.folder / "work"

    @property
    def checkout(self) -> Path:
        """Return where the commit is set up on a node."""
        return self.work / f"ascend-ci-{self.job.staged.name}" / "work" / "verl"

    def start(self, **more: str) -> subprocess.Popen[str]:
        out = self.job.outputs()
        home = self.job.folder / "home"
        home.mkdir(exist_ok=True)
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        env = {"PATH": path, "HOME": str(home), "ASCEND_CI_WORK_ROOT": str(self.work)}
        return subprocess.Popen(
            ["bash", "--", out["script"], *out["args"], *json.loads(more.pop("args", "[]"))],
            cwd=home,
            env={**env, **out["env"], "HOSTNAME": "head", **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, **more: str) -> tuple[int, str, str]:
        with self.start(**more) as process:
            out, said = process.communicate(timeout=60)
        return process.returncode, out, said

    def left(self) -> list[Path]:
        """Return what is left of the run, on the shared volume and on the node."""
        return [*self.job.shared.iterdir(), *(self.work.iterdir() if self.work.exists() else ())]


@pytest.fixture
def rayjob(tmp_path: Path) -> RayJob:
    return RayJob(SubmitJob(tmp_path).check_out())


def staged(rayjob: RayJob, script: str, **more: str) -> RayJob:
    rayjob.job.add("tests/run.sh", script)
    assert rayjob.job.command("stage", **more).returncode == 0
    return rayjob


def test_the_staged_script_runs_in_a_checkout_named_for_the_repository(rayjob: RayJob) -> None:
    staged(rayjob, 'pwd; printf "<%s>" "$@"; echo "$NNODES $NPUS_PER_NODE"\n', NPUS_PER_WORKER="16")
    code, out, _ = rayjob.run(args='["a b", "*", ""]')
    assert code == 0
    assert f"{rayjob.checkout}\n<a b><*><>2 16" in out
    place = str(rayjob.checkout / "verl" / "trainer.py").replace(str(rayjob.work), "/tmp")
    assert Places(()).path(place) == "verl/trainer.py"  # a digest finds its line in the diff


@pytest.mark.parametrize("code", [0, 1, 42])
def test_the_status_is_the_scripts_and_nothing_is_left(rayjob: RayJob, code: int) -> None:
    staged(rayjob, f"exit {code}\n")
    assert rayjob.run()[0] == code
    assert rayjob.left() == []


def test_the_folder_is_there_while_the_script_runs(rayjob: RayJob) -> None:
    staged(rayjob, 'cat "$STAGED/repo/tests/run.sh"\n')
    assert "$STAGED" in rayjob.run(STAGED=str(rayjob.job.staged))[1]


def changed(staged: Path, how: str) -> None:
    """Change what is staged in one of the ways that somebody could."""
    script, evil = staged / "repo" / "tests" / "run.sh", "echo trained evil\n"
    if how == "a file":
        script.write_text(evil)
    elif how == "a mode":
        script.chmod(0o755)
    elif how == "a new file":
        (staged / "repo" / "sitecustomize.py").write_text("print('trained evil')")
    elif how == "an empty folder":
        (staged / "repo" / "torch").mkdir()
    elif how == "a link":
        script.unlink()
        script.symlink_to("/etc/hostname")
    elif how == "a pipe":
        os.mkfifo(staged / "repo" / "pipe")
    elif how == "nothing is left":
        shutil.rmtree(staged / "repo")
    else:
        (staged / how).write_text(evil)


WAYS = [
    *("a file", "a mode", "a new file", "an empty folder", "a link", "a pipe", "nothing is left"),
    *("ascend_ci_setup.sh", "ascend_ci_nodes.py", "ascend_ci_node.py"),
    "ascend_ci_environment.py",
]


@pytest.mark.parametrize("how", WAYS)
def test_what_was_changed_after_it_was_staged_runs_nothing(rayjob: RayJob, how: str) -> None:
    staged(rayjob, "echo trained\n")
    changed(rayjob.job.staged, how)
    code, out, said = rayjob.run()
    assert code == 1
    assert re.search("than were submitted|was changed after it was staged|can't copy", said)
    assert "trained" not in out
    assert rayjob.left() == []


def test_a_folder_of_the_node_that_somebody_occupied_is_not_used(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    root = rayjob.checkout.parents[1]
    root.parent.mkdir(parents=True)
    root.symlink_to(rayjob.job.folder / "home")
    code, out, said = rayjob.run()
    assert code == 1
    assert f"has something of another user at {root}" in said
    assert "trained" not in out


def test_nobody_else_can_enter_the_folder_of_a_node(rayjob: RayJob) -> None:
    staged(rayjob, "stat -c %a ../..\n")
    assert rayjob.run()[1].splitlines()[-1] == "700"


def test_files_of_hostile_names_reach_the_node_as_they_are(rayjob: RayJob) -> None:
    names = ["-rf", "a b", "x\ny", "*", "$(id)", "--", ".hidden"]
    for name in names:
        rayjob.job.add(name, name)
    rayjob.job.add(
        "tests/run.sh", "find . -maxdepth 1 -type f -print0 | tr '\\0' '|'; cat -- -rf\n"
    )
    (rayjob.job.pr / "link").symlink_to("/etc/passwd")
    assert rayjob.job.command("stage").returncode == 0
    out = rayjob.run()[1]
    assert all(f"./{name}|" in out for name in names)
    assert "./link|" not in out


def test_what_lay_in_the_nodes_folder_before_is_gone(rayjob: RayJob) -> None:
    staged(rayjob, "ls\n")
    rayjob.checkout.mkdir(parents=True)
    (rayjob.checkout / "stale.py").write_text("")
    code, out, _ = rayjob.run()
    assert code == 0
    assert "stale.py" not in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_job_passes_the_signal_on_and_leaves_nothing(
    rayjob: RayJob, number: signal.Signals
) -> None:
    staged(rayjob, 'trap "echo stopping; exit 7" TERM\necho ready\nsleep 60 & wait\n')
    process = rayjob.start()
    assert process.stdout is not None
    lines = iter(process.stdout)
    assert "ready\n" in _until(lines, "ready\n")
    process.send_signal(number)
    assert process.wait(timeout=60) == 7
    assert rayjob.left() == []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the `sleep` of the script
    process.communicate()


def _until(lines: Iterator[str], wanted: str) -> list[str]:
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line == wanted:
            break
    return seen


def cluster(rayjob: RayJob, workers: dict[str, str], dead: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the environment of a Ray cluster: a head, and workers with what they see staged."""
    nodes = {"head": "", **workers}
    told = {name: {"alive": name not in dead, "sees": sees} for name, sees in nodes.items()}
    path = rayjob.job.folder / "nodes.json"
    path.write_text(json.dumps(told))
    return {"PYTHONPATH": str(CLUSTER), "RAY_NODES": str(path), "RAY_ADDRESS": "10.0.0.1:6379"}


def test_every_worker_compares_the_commit_and_is_set_up(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    code, out, said = rayjob.run(**cluster(rayjob, {"w1": "", "w2": ""}))
    assert (code, said) == (0, "")
    at = f"runs commit {COMMIT} in {rayjob.checkout}"
    assert [line for line in out.splitlines() if "runs commit" in line] == [
        f"ascend-ci: {node} {at}" for node in ("head", "w1", "w2")
    ]
    told = [line.rpartition(" ")[2] for line in out.splitlines() if "environment of" in line]
    assert told == ["head", "w1", "w2"]
    assert out.endswith("trained\n")


def test_one_worker_with_other_files_stops_the_training(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    other = rayjob.job.folder / "other"
    shutil.copytree(rayjob.job.staged, other)
    changed(other, "a file")
    code, out, said = rayjob.run(**cluster(rayjob, {"w1": "", "w2": str(other)}))
    assert code == 1
    assert f"w2 sees other files in {other} than were submitted" in out
    assert "is not set up, exit code 1" in said
    assert "trained" not in out
    assert rayjob.left() == []


def test_a_worker_that_does_not_see_the_volume_stops_the_training(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    code, out, _ = rayjob.run(**cluster(rayjob, {"w1": "/no/where", "w2": ""}))
    assert code == 1
    assert "trained" not in out


def test_a_dead_node_is_neither_used_nor_counted(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    ray = cluster(rayjob, {"w1": "", "w2": "", "w3": ""}, dead=("w2",))
    out = rayjob.run(**ray)[1]
    assert "ascend-ci: w2 " not in out
    assert "w3 runs commit" in out


def test_too_few_workers_stop_the_training(rayjob: RayJob) -> None:
    staged(rayjob, "echo trained\n")
    ray = cluster(rayjob, {"w1": "", "w2": ""}, dead=("w2",))
    code, out, said = rayjob.run(**ray, ASCEND_CI_JOIN_SECONDS="0")
    assert code == 1
    assert "1 workers joined, 2 were asked for" in said
    assert "trained" not in out
