"""The whole demo, once, as a user runs it; what the tests below look at is one run's answer."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.cli.demo.strays import left_by

LIMIT_S = 300


@dataclass(frozen=True)
class Ended:
    """How the command ended; `folder` was empty before and is its working folder."""

    folder: Path
    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Run `demo --once --json` from an empty folder, among settings that are none of its own."""
    folder, temporary = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("temporary")
    foreign = {"DATABASE_URL": "nonsense", "HTTP_PROXY": "http://127.0.0.1:9", "PORT": "none"}
    done = subprocess.run(
        [sys.executable, "-m", "bot", "demo", "--once", "--json"],
        cwd=folder,
        env={**os.environ, **foreign, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert list(temporary.iterdir()) == [], "the demo left files behind"
    return Ended(folder, done.returncode, done.stdout, done.stderr)


def test_every_scene_ends_as_expected(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    newest = {(one["name"], one["head_sha"]): one for one in ended.answer["check_runs"]}
    shown = Counter((one["name"], one["status"], one["conclusion"]) for one in newest.values())
    assert shown == {
        ("Ascend / nightly-unit", "completed", "success"): 1,
        ("Ascend / npu-unit", "completed", "success"): 1,
        ("Ascend / two-node-eval", "completed", "success"): 1,
        ("Ascend / two-node-ppo", "completed", "cancelled"): 1,
        ("Ascend / two-node-ppo", "completed", "failure"): 1,
        ("Ascend / two-node-ppo", "completed", "success"): 3,
        ("ascend-ci", "completed", "cancelled"): 1,
        ("ascend-ci", "completed", "failure"): 1,
        ("ascend-ci", "completed", "success"): 5,
    }


def test_a_click_on_re_run_adds_a_check_run_to_the_commit(ended: Ended) -> None:
    suites = [one for one in ended.answer["check_runs"] if one["name"] != "ascend-ci"]
    twice = [key for key, times in Counter(map(_of, suites)).items() if times > 1]
    (again,) = twice
    both = [one for one in suites if _of(one) == again]
    assert [one["conclusion"] for one in both] == ["failure", "failure"]
    assert all("trainer/rollout.py:12" in one["title"] for one in both)


def _of(check: dict[str, Any]) -> tuple[str, str]:
    return check["name"], check["head_sha"]


def test_a_command_has_one_reply_that_was_edited_to_the_end(ended: Ended) -> None:
    made = ended.answer["comments"]
    command, reply = (one for one in made if "ascend-ci: suites" not in one["body"])
    assert (command["user"], command["body"]) == ("mia", "/ascend-e2e nightly-unit")
    assert command["reactions"] == ["eyes"]
    assert (reply["user"], reply["pull"]) == ("ascend-ci[bot]", command["pull"])
    assert "| `nightly-unit` | passed" in reply["body"]


def test_a_failure_has_one_comment_that_was_edited_to_the_end(ended: Ended) -> None:
    (made,) = (one for one in ended.answer["comments"] if "ascend-ci: suites" in one["body"])
    assert made["user"] == "ascend-ci[bot]"
    assert "| `two-node-ppo` | failed (attempt 2) |" in made["body"]


def test_the_answer_has_the_promised_keys_and_stands_alone_on_stdout(ended: Ended) -> None:
    answer = ended.answer
    assert set(answer) == {"check_runs", "comments", "dispatches", "seconds"}
    keys = {"name", "head_sha", "status", "conclusion", "title"}
    assert all(set(one) == keys for one in answer["check_runs"])
    assert answer["seconds"] > 0


def test_it_prints_a_line_a_scene_with_the_result_and_where_to_look(ended: Ended) -> None:
    lines = ended.err.splitlines()[-6:]
    found = {line.partition("   ")[0]: line for line in lines}
    assert re.fullmatch(
        r"passes on two nodes +✓ Ascend / two-node-ppo +success +Passed in \d+ s: 8 steps +"
        r"http://127\.0\.0\.1:\d+/octo/project/pull/\d",
        found["passes on two nodes"],
    )
    failed = found["fails in its own file, run again"]
    assert re.search(
        r"✗ Ascend / two-node-ppo +failure +ValueError in trainer/rollout.py:12", failed
    )
    assert "⊘ Ascend / two-node-ppo" in found["a newer push supersedes a run"]
    assert sorted(line[-1] for line in lines) == ["1", "2", "3", "4", "5", "6"]


def test_each_suite_was_dispatched_once_a_commit_and_click(ended: Ended) -> None:
    dispatched = Counter(
        (one["workflow"].rpartition("/")[2], one["inputs"]["sha"])
        for one in ended.answer["dispatches"]
    )
    assert sorted(dispatched.values()) == [1, 1, 1, 1, 1, 1, 1, 2]
    assert Counter(workflow for workflow, _ in dispatched) == {
        "ascend_multinode.yml": 6,
        "ascend_nightly.yml": 2,
    }


def test_it_leaves_nothing_where_it_was_called(ended: Ended) -> None:
    assert list(ended.folder.iterdir()) == []


def test_it_leaves_no_process_behind(ended: Ended) -> None:
    started = ended.err.splitlines()[0].rpartition(" in ")[2]
    assert "ascend-ci-demo-" in started
    assert left_by(Path(started)) == []
