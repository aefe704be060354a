"""What a job survived is no cause, and a later line may explain a loss."""

# ruff: noqa: E501 - one line of a log is one line here

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from tests.core.digest.corpus import signatures

HEAD = "Traceback (most recent call last):"
RAISED = [HEAD, '  File "/verl/verl/a.py", line 3, in f', "ValueError: bad value"]
OTHER = [HEAD, '  File "/verl/verl/b.py", line 9, in g', "TypeError: bad type"]
NETWORK = (
    "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='hub.example.com'): Read timed out."
)
WORK = ["loading the tokenizer", "building the data set", "warming up"]
TIMEOUT = "RPC call to execute_model timed out."


def read(*lines: str) -> Digest:
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed("\n".join(["begins", *lines, ""]).encode())
    return digester.end()


@pytest.mark.parametrize("survived", [NETWORK, "fatal: unable to access 'https://x/'", TIMEOUT])
def test_an_error_that_is_tried_again_is_over_once_the_job_goes_on(survived: str) -> None:
    digest = read(survived, *WORK, *RAISED, "exit code 1")
    assert (digest.cause, digest.infra) == ("ValueError: bad value", False)


@pytest.mark.parametrize(
    "lines",
    [
        [NETWORK, *RAISED],  # nothing ordinary in between
        [NETWORK, *WORK, NETWORK],  # the same again
        [NETWORK, *WORK, "OSError: Can't load tokenizer for '/root/x'"],  # its consequence
        [NETWORK, *WORK, "Error: it failed"],  # nothing that is known
    ],
)
def test_an_error_that_nothing_shows_to_be_over_stays_the_cause(lines: list[str]) -> None:
    assert (read(*lines).root_cause_line, read(*lines).infra) == (2, True)


def test_a_download_that_failed_hours_before_the_runner_was_lost_is_over() -> None:
    lost = "##[error]The runner has received a shutdown signal."
    assert read(NETWORK, *WORK, lost).failure_class == "runner_lost"


def test_a_printed_exception_is_over_if_its_process_fails_of_another_much_later() -> None:
    work = [f"sample {'x' * n} scored" for n in range(20)]
    assert read(*RAISED, *work, *OTHER).cause == "TypeError: bad type"
    assert read(*RAISED, *WORK, *OTHER).cause == "ValueError: bad value"
    assert read(*RAISED, "exit code 1", *work, *OTHER).cause == "ValueError: bad value"
    other = [f"[rank3]: {line}" for line in OTHER]
    assert read(*RAISED, *work, *other).cause == "ValueError: bad value"


def test_of_several_attempts_the_last_one_counts() -> None:
    digest = read(
        f"attempt 1 of 3: {NETWORK}",
        "attempt 2 of 3: ConnectionResetError: [Errno 104] Connection reset by peer",
        "attempt 3 of 3: OSError: [Errno 28] No space left on device",
        "attempt 1 of 2: OSError: [Errno 122] Disk quota exceeded",
    )
    assert (digest.failure_class, digest.root_cause_line) == ("disk", 4)


@pytest.mark.parametrize(
    ("reason", "failure_class"),
    [
        ("      Reason:       OOMKilled", "oom_host"),
        ("Evicted: The node was low on resource: ephemeral-storage.", "disk"),
        ("ValueError: Failed to load the model", "cluster_scheduling"),
    ],
)
def test_a_later_reason_explains_a_loss(reason: str, failure_class: str) -> None:
    lost = "Failed to connect to GCS within 60 seconds. GCS may have been killed."
    assert read(lost, *WORK, reason).failure_class == failure_class


def test_an_abort_after_a_failed_collective_is_its_echo() -> None:
    watchdog = "[rank1]:[E1206 18:44:12.755 ProcessGroupHCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: x"
    aborted = "E1206 18:44:25.100000 140 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 0"
    assert read(watchdog, aborted).failure_class == "hccl_comm"
    assert read(aborted, watchdog).failure_class == "code_failure"


def test_what_the_watcher_told_before_the_job_ran_is_over() -> None:
    status = "[rayjob status] status=PENDING rayjob_status= deployment_status="
    digest = read(
        f"{status}Initializing pod x-worker Failed to pull image: httpReadSeeker: unexpected EOF",
        f"{status}Running",
        *RAISED,
    )
    assert digest.cause == "ValueError: bad value"


def test_a_link_that_nobody_knows_does_not_beat_one_that_is_known() -> None:
    digest = read(
        HEAD,
        '  File "/usr/lib/python3.11/site-packages/torch/loader.py", line 3, in f',
        "RuntimeError: DataLoader worker (pid 9382) is killed by signal: Killed.",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        HEAD,
        '  File "/verl/verl/a.py", line 9, in g',
        "RuntimeError: DataLoader worker (pid(s) 9382) exited unexpectedly",
    )
    assert (digest.failure_class, digest.root_cause_line) == ("oom_host", 4)


def test_a_code_for_users_counts_also_behind_an_internal_one() -> None:
    digest = read(
        HEAD,
        '  File "/verl/verl/a.py", line 9, in g',
        "RuntimeError: ACL stream synchronize failed, error code:507018",
        "E39999: Inner Error!",
        "E39999: [PID: 1] 2026-02-10-10:31:02.118.201 An exception occurred during AICPU execution",
        "EL0004: [PID: 1] 2026-02-10-10:31:02.090.874 Failed to allocate memory.",
    )
    assert (digest.failure_class, digest.root_cause_line) == ("oom_device", 7)


@pytest.mark.parametrize(
    ("report", "root"),
    [
        (["- hook id: ruff", "- exit code: 1", "", "F401 [*] `os` imported but unused"], 6),
        (["- hook id: codespell", "", "docs/a.rst:88: successfull ==> successful"], 5),
        (["- hook id: license", "", "verl/a.py has no header"], 5),
        (["- hook id: mypy", "verl/a.py:3: error: Name 'x' is not defined  [name-defined]"], 4),
        (["- hook id: fmt", "- files were modified by this hook", "", "1 file reformatted"], 2),
        (["- hook id: fmt"], 2),
    ],
)
def test_a_failed_hook_is_the_wrapper_of_its_finding(report: list[str], root: int) -> None:
    digest = read("Ruff linter.......................Failed", *report, "isort......Passed")
    assert (digest.failure_class, digest.root_cause_line) == ("code_failure", root)


@pytest.mark.parametrize(
    ("lines", "root"),
    [
        (
            [
                "【显存】mem | A=49.13 B=49.20 | 差值=0.07",
                "【性能】perf/x | A=32.0 B=28.9 | 变化=-9.8%",
            ],
            3,
        ),
        (["【显存】mem | A=49.13 B=49.20 | 差值=0.07"], 3),
        (["【奖励】r | A=0 B=0 | 差值=0"], 3),
        (["Error: x", "【性能】perf/x | A=32.0 B=28.9 | 变化=-9.8%"], 3),
    ],
)
def test_a_failed_check_of_metrics_names_the_metric_that_moved(lines: list[str], root: int) -> None:
    digest = read(*lines, "指标校验失败", "exit code 1")
    assert (digest.failure_class, digest.root_cause_line) == ("baseline_regression", root)


@pytest.mark.parametrize(
    ("last", "infra"),
    [("layer 30 of 48", True), ("worker 80746 left, stopping the others", False)],
)
def test_a_log_that_just_stops_is_told_from_one_that_ended_badly(last: str, *, infra: bool) -> None:
    digest = read(*WORK, last)
    assert (digest.failure_class, digest.infra) == ("unknown", infra)


@pytest.mark.parametrize(
    "last",
    ["exit 0", "[after training is done] datetime: 2026-08-11 04:01:12", "Training completed.",
     "12 passed in 4.10s"],
)  # fmt: skip
def test_a_good_end_is_no_failure(last: str) -> None:
    digest = read(*WORK, last)
    assert (digest.root_cause_line, digest.infra) == (None, False)


@pytest.mark.parametrize(
    ("before", "infra"),
    [(WORK, False), (["http_code=201", '{"status": "PENDING"}'], True)],
)
def test_a_job_spoke_if_its_output_stands_before_the_watchers_end(
    before: list[str], *, infra: bool
) -> None:
    digest = read(*before, "[rayjob final] FAILED Job entrypoint failed with exit code 1")
    assert digest.infra is infra
