"""Single mechanisms of the reference that the cases do not show, one small log each."""

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from tests.core.digest.corpus import signatures

TRACE = "Traceback (most recent call last):\n"


def read(log: str, *, roots: tuple[str, ...] = ("/verl",)) -> Digest:
    digester = Digester(signatures(), repo_roots=roots)
    digester.feed(log.encode())
    return digester.end()


def frame(path: str = "/verl/a.py", line: int = 3, code: str = "x()") -> str:
    return f'  File "{path}", line {line}, in f\n    {code}\n'


def test_a_later_link_names_the_class_of_an_origin_that_says_little() -> None:
    digest = read(
        TRACE + frame() + "OddError: reader stopped\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        + TRACE + frame() + "OSError: [Errno 28] No space left on device\n"
    )  # fmt: skip
    assert (digest.root_cause_line, digest.failure_class, digest.infra) == (4, "disk", True)


def test_an_origin_that_nobody_explains_stays_a_code_failure() -> None:
    digest = read(
        TRACE + frame() + "OddError: reader stopped\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        + TRACE + frame() + "OtherError: gave up\n"
    )  # fmt: skip
    assert (digest.root_cause_line, digest.failure_class) == (4, "code_failure")


def test_frames_without_an_exception_are_no_failure() -> None:
    words = "".join(f"word {i} of the log goes on here, truly\n" for i in range(12))
    digest = read(TRACE + frame() + words + "ValueError: far away\n")
    assert digest.root_cause_line == 16


def test_a_separator_ends_a_traceback_that_lost_its_exception() -> None:
    digest = read(
        TRACE + frame() + "During handling of the above exception, another exception occurred:\n"
        + TRACE + frame() + "ValueError: seen\n"
    )  # fmt: skip
    assert digest.cause == "ValueError: seen"


def test_a_separator_in_a_messages_stream_joins_the_chain() -> None:
    digest = read(
        TRACE + frame() + "KeyError: 'x'\n"
        "During handling of the above exception, another exception occurred:\n"
        + TRACE + frame() + "ValueError: no such model\n"
    )  # fmt: skip
    assert digest.cause == "ValueError: no such model"


def test_a_frame_alone_begins_a_traceback() -> None:
    log = "(W pid=1) ERROR: x\n" + frame(line=7) + "RuntimeError: cut off above\n"
    digest = read(log)
    assert (digest.root_cause_line, digest.annotations[0].line) == (4, 7)


def test_frames_inside_a_message_belong_to_it() -> None:
    digest = read(TRACE + frame(line=7) + "RuntimeError: while compiling\n" + frame(line=9) + "x\n")
    assert (digest.cause, digest.annotations[0].line) == ("RuntimeError: while compiling", 7)


def test_more_streams_than_are_kept_do_no_harm() -> None:
    many = "".join(f"(W pid={i}) Traceback (most recent call last):\n" for i in range(400))
    assert read(many + TRACE + frame() + "ValueError: last\n").cause == "ValueError: last"


def test_very_many_failures_leave_the_first_one_standing() -> None:
    tells = "".join(f"(W pid={i}) {TRACE}(W pid={i}) ValueError: no {i}\n" for i in range(300))
    assert read(tells).root_cause_line == 2


def test_very_many_error_lines_leave_the_first_one_standing() -> None:
    assert (
        read("".join(f"ERROR: {chr(97 + i % 26) * (i + 1)} is bad\n" for i in range(300))).infra
        is False
    )


def test_very_many_statuses_and_kills_leave_the_first_one_standing() -> None:
    log = "exited with code 3\n" * 300 + "##[error]The operation was canceled.\n" * 60
    assert read(log).root_cause_line == 301


def test_a_chain_of_links_without_a_word_ends_at_its_last() -> None:
    cause = "The above exception was the direct cause of the following exception:\n\n"
    digest = read(TRACE + frame() + "TimeoutError\n\n" + cause + TRACE + frame() + "OddError\n")
    assert digest.root_cause_line == 11


def test_a_failed_command_without_a_reason_is_better_than_the_exit_code() -> None:
    said = "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 2.\n"
    log = TRACE + frame() + said
    assert read(log + "##[error]Process completed with exit code 1.\n").root_cause_line == 4


def test_an_assertion_without_a_place_is_a_tests_own() -> None:
    digest = read("======= FAILURES =======\n_____ test_a _____\nE   AssertionError: one\n")
    assert (digest.root_cause_line, digest.failure_class) == (3, "test_assertion")


def test_a_separator_at_the_start_of_a_log_joins_nothing() -> None:
    log = "The above exception was the direct cause of the following exception: (Error)\n"
    assert read(log + TRACE + frame() + "ValueError: x\n").root_cause_line == 5


def test_a_step_that_is_none_is_read_as_any_line() -> None:
    assert read("ERROR: failed in step:x of the plan\n").root_cause_line == 1


def test_a_repeated_line_with_another_exit_code_is_not_lost() -> None:
    digest = read("exited with code 3\n" * 300 + "exited with code 137\n")
    assert (digest.root_cause_line, digest.failure_class) == (301, "oom_host")


def test_a_failure_told_before_a_step_counts_again_after_it() -> None:
    told = "ERROR: the reward model gave no answer\n"
    digest = read(told * 3 + "step:1 - a:1\n" + told * 3)
    assert digest.root_cause_line == 5


def test_more_shapes_than_are_remembered_do_no_harm() -> None:
    words = ["".join(chr(97 + i // 26**k % 26) for k in range(3)) for i in range(4_200)]
    log = "".join(f"the exception {word} is expected\n" for word in words)
    assert read(log * 2 + "ERROR: real\n").cause == "ERROR: real"


def test_a_deep_recursion_keeps_the_deepest_frames() -> None:
    frames = "".join(frame(line=i) for i in range(1, 200))
    digest = read(TRACE + frames + "RecursionError: maximum recursion depth exceeded\n")
    assert digest.annotations[0].line == 199


def test_a_very_long_message_is_cut() -> None:
    message = "".join(f"  detail {i} of the failure\n" for i in range(80))
    digest = read(TRACE + frame() + "ValueError: many details\n" + message)
    assert (digest.root_cause_line, len(digest.excerpt_lines) <= 20) == (4, True)


def test_an_excerpt_of_huge_lines_is_cut_far_from_the_root() -> None:
    wide = "detail \u4e2d\U0001f600" * 60
    message = "".join(f"  {wide} {i}\n" for i in range(16))
    digest = read(TRACE + frame() + "ValueError: many details\n" + message)
    assert len(digest.excerpt.encode()) <= 14_000
    assert digest.excerpt_lines[-1][0] >= 4


def test_seven_prefixes_do_not_nest() -> None:
    digest = read("(a pid=1) " * 7 + "ERROR: deep\n")
    assert digest.cause == "(a pid=1) ERROR: deep"


def test_the_current_threads_frames_count_in_a_fatal_error() -> None:
    digest = read(
        "Fatal Python error: Segmentation fault\n\n"
        "Thread 0x0001 (most recent call first):\n"
        '  File "/verl/wait.py", line 5 in wait\n'
        "Current thread 0x0002 (most recent call first):\n"
        '  File "/usr/lib/python3.11/x.py", line 5 in x\n'
        '  File "/verl/a.py", line 7 in f\n'
        "Thread 0x0003 (most recent call first):\n"
        '  File "/verl/b.py", line 9 in g\n'
    )
    assert [(a.path, a.line) for a in digest.annotations] == [("a.py", 7)]


def test_the_first_threads_frames_count_when_none_is_current() -> None:
    digest = read(
        "Fatal Python error: Segmentation fault\n\n"
        "Thread 0x0001 (most recent call first):\n"
        '  File "/verl/a.py", line 7 in f\n'
        "Thread 0x0003 (most recent call first):\n"
        '  File "/verl/b.py", line 9 in g\n'
    )
    assert [(a.path, a.line) for a in digest.annotations] == [("a.py", 7)]


def test_a_nested_task_error_in_a_pytest_report_is_walked_to_its_end() -> None:
    digest = read(
        "======= FAILURES =======\n_____ test_a _____\n"
        "E   ray.exceptions.RayTaskError(TypeError): ray::W.f() (pid=3)\n"
        'E     File "/verl/a.py", line 3, in f\n'
        "E   TypeError: wrong kind\n\ntests/t.py:4: TypeError\n"
    )
    assert digest.cause == "TypeError: wrong kind"


def test_a_short_report_of_one_line_a_failure_is_read() -> None:
    digest = read(
        "======= FAILURES =======\n_____ test_a _____\n"
        "tests/t.py:4: AssertionError: one is not two\n"
    )
    assert (digest.root_cause_line, digest.failure_class) == (3, "test_assertion")


def test_a_summary_alone_is_read() -> None:
    digest = read(
        "===== short test summary info =====\n"
        "FAILED tests/t.py::test_a - AssertionError: one is not two\n"
        "FAILED tests/t.py::test_a - AssertionError: one is not two\n"
        "FAILED tests/t.py::test_b\nnot a summary line\n"
        "===== 2 failed in 1.00s =====\n"
    )
    assert (digest.root_cause_line, digest.failure_class) == (2, "test_assertion")


@pytest.mark.parametrize(
    ("log", "failure_class", "infra"),
    [
        ("run.sh: line 3: exited with code 127\n", "environment", False),
        ("bash: foo: command not found\n", "environment", False),
        ("bash: line 1: npu-smi: command not found\n", "environment", True),
        ("run.sh: 4: ninja: not found\n", "environment", False),
        ("bash: tests/run.sh: No such file or directory\n", "config_error", False),
        ("sh: 0: cannot open run.sh: No such file\n", "config_error", False),
        ("python: can't open file '/a.py': [Errno 2] No such file\n", "config_error", False),
        ("bash: ./run.sh: Permission denied\n", "config_error", False),
        ("/usr/bin/bash: line 3: ./run.sh: Permission denied\n", "config_error", False),
        ("cp: cannot create regular file '/models/x': Permission denied\n", "environment", True),
        ("command terminated with exit code 1\n", "unknown", False),
        ("exitcode  : -15 (pid: 3)\nexitcode  : 1 (pid: 4)\n", "unknown", False),
        ("exit code: 143\n", "unknown", False),
        ("exited with code 0\n##[error]Process completed with exit code 3.\n", "unknown", False),
        ("process 77 died with <Signals.SIGSEGV: 11>.\n", "code_failure", False),
        ("=== test session starts ===\nexited with code 4\n", "config_error", False),
        ("child-process gave up: it failed with status 3\n", "unknown", False),
        ("TimeoutError: no answer from the other side\n", "timeout_hang", True),
        (TRACE + frame() + "TimeoutError: no answer\n", "timeout_hang", True),
        (TRACE + frame() + "ray.exceptions.ObjectLostError: gone\n", "unknown", False),
    ],
)  # fmt: skip
def test_the_last_resorts(log: str, failure_class: str, *, infra: bool) -> None:
    digest = read(log)
    assert (digest.failure_class, digest.infra) == (failure_class, infra)


def test_what_kept_a_job_from_starting_is_over_once_it_runs() -> None:
    status = "[rayjob status] status=S rayjob_status=R deployment_status="
    digest = read(
        f"{status}Initializing pod x Unschedulable: 0/3 nodes are available\n"
        f"ERROR: something else\n{status}Running \nERROR: the job itself\n"
    )
    assert digest.cause == "ERROR: something else"


def test_an_information_line_is_no_cause() -> None:
    log = "INFO 01-01 00:00:00 [a.py:1] retry after: No space left on device\nERROR: real\n"
    assert read(log).cause == "ERROR: real"


def test_the_traceback_of_a_teardown_is_noise() -> None:
    log = "Exception ignored in: <function f>\n" + TRACE + frame() + "ValueError: teardown\n"
    assert read(log + "##[error]Process completed with exit code 1.\n").root_cause_line == 6


def test_a_teardown_repeat_of_a_device_error_is_noise() -> None:
    log = (
        "NPU warning, error code is 507899[Error]: \n[Error]: driver module.\n"
        " (function npuSynchronizeUsedDevices)\nERROR: real\n"
    )
    assert read(log).cause == "ERROR: real"


@pytest.mark.parametrize(("row", "infra"), [("java -jar other", True), ("ray::W.f", False)])
def test_who_ate_the_nodes_memory_decides_on_a_retry(row: str, *, infra: bool) -> None:
    digest = read(
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 1) where the task was running was 891.06GB / 937.50GB (0.95)\n"
        f"PID\tMEM(GB)\tCOMMAND\n9731\t801.22\t{row}\n9733\t3.87\tray::W.f\n"
    )
    assert (digest.failure_class, digest.infra) == ("oom_host", infra)


@pytest.mark.parametrize(
    ("wheel", "failure_class"),
    [
        ("ERROR: Failed building wheel for flash-attn\n", "dependency_install"),
        ("ERROR: Failed building editable for verl_npu\n", "code_failure"),
        ("ERROR: something\n", "code_failure"),
    ],
)
def test_whose_wheel_did_not_build_decides_on_the_class(wheel: str, failure_class: str) -> None:
    log = "csrc/ops.cpp:1:2: error: no such thing\n" + wheel
    assert read(log, roots=("/build/verl-npu",)).failure_class == failure_class


def test_the_units_of_a_suite_must_all_be_infrastructure() -> None:
    disk = TRACE + frame() + "OSError: [Errno 28] No space left on device\n"
    bug = TRACE + frame() + "ValueError: wrong\n"
    start = "[{}/2] START  tests/{}.py\n"
    both = read(start.format(1, "a") + disk + start.format(2, "b") + disk)
    mixed = read(start.format(1, "a") + disk + start.format(2, "b") + bug)
    assert (both.infra, mixed.infra) == (True, False)


def test_a_servers_requests_after_an_error_show_that_it_was_handled() -> None:
    served = '(APIServer pid=1) INFO:  1.2.3.4:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    engine = f"(EngineCore_DP0 pid=2) {TRACE}(EngineCore_DP0 pid=2) ValueError: one request\n"
    assert read(engine + served + "ERROR: the end\n").cause == "ERROR: the end"
    assert read(engine + "ERROR: the end\n").cause == "ValueError: one request"


def test_more_servers_than_are_kept_do_no_harm() -> None:
    lines = [f'(S pid={i}) "POST /v1/x HTTP/1.1" 200 OK\n' for i in range(100)]
    assert read("".join(lines * 2) + "ERROR: the end\n").cause == "ERROR: the end"


def test_throughput_before_the_kill_is_progress() -> None:
    def log(rate: str) -> str:
        at = "2026-01-01T{}:00.0000000Z "
        line = f"Engine 000: Avg generation throughput: {rate} tokens/s, Running: 3 reqs\n"
        early = "".join(at.format(f"00:{m}0") + "t.py::test PASSED\n" for m in range(3))
        return early + at.format("05:00") + line + at.format("05:01") + (
            "##[error]The job running on runner x has exceeded the maximum execution time of 5\n"
        )  # fmt: skip

    assert read(log("88.0")).infra is False
    assert read(log("0.0")).infra is True


def test_a_step_of_the_job_that_passed_explains_nothing() -> None:
    log = (
        "##[group]Run make\n##[endgroup]\nerror: optional thing failed\n"
        "##[group]Run test\n##[endgroup]\nquiet\n##[error]Process completed with exit code 1.\n"
    )
    assert read(log).root_cause_line == 7


def test_a_kill_for_memory_without_a_table_of_users_is_the_jobs_own() -> None:
    digest = read("run.sh: line 3: 44 Killed  python3 x.py\nERROR: late\nexit code 137\n")
    assert (digest.failure_class, digest.infra) == ("oom_host", False)


FAILED = "##[error]Process completed with exit code 1.\n"
SHORT = "ValueError: shapes differ\n"
CRASH = TRACE + frame(line=7) + SHORT


@pytest.mark.parametrize(
    "log",
    [
        "##[group]Run tests\n" + CRASH + FAILED,
        "##[group]Run tests\ncollecting\n" + CRASH + "##[endgroup]\n" + FAILED,
        "\x1b[33m##[group]Run tests\x1b[0m\nshell is bash\n" + CRASH + FAILED,
        "##[group]Run a.sh\na.sh\n" + CRASH + FAILED,  # a header whose end was lost
        "##[group]Run tests\ncollecting\n" + SHORT + FAILED,
        "##[group]Run a.sh\n\x1b[36;1ma.sh\x1b[0m\n##[error]" + SHORT + FAILED,
        "##[group]Run a.sh\n\x1b[36;1ma.sh\x1b[0m\n##[error]x\n" + CRASH + FAILED,
        "##[group]Run tests\n##[group]Run a.sh\nshell: bash\n##[endgroup]\n" + CRASH + FAILED,
    ],
)
def test_a_group_that_a_script_names_run_hides_no_failure(log: str) -> None:
    digest = read(log)
    assert (digest.cause, digest.infra) == ("ValueError: shapes differ", False)


@pytest.mark.parametrize(
    "body",
    [
        "error: it failed\n",
        "\x1b[36;1m# comment\x1b[0m\n\x1b[36;1merror: it failed\x1b[0m\n",
        "with:\n  text: x\nerror: it failed\n",
        "env:\n  A: b\nerror: it failed\n",
        "shell: /usr/bin/bash -e {0}\nerror: it failed\n",
    ],
)
def test_the_script_of_a_step_is_no_output(body: str) -> None:
    header = f"##[group]Run error: it failed\n{body}##[endgroup]\n"
    digest = read(header + "warning: this one counts\nERROR: real\n")
    assert digest.cause == "ERROR: real"
