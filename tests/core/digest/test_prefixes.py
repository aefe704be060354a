"""Prefixes that nobody listed are learned from the log, and tell its writers apart."""

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.prefixes import Prefixes
from bot.core.digest.result import Digest
from tests.core.digest.corpus import signatures

HEAD = "Traceback (most recent call last):"


def read(lines: list[str]) -> Digest:
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed("\n".join([*lines, ""]).encode())
    return digester.end()


@pytest.mark.parametrize(
    ("prefix", "other", "writer"),
    [
        ("worker-1: ", "worker-0: ", "worker-1"),
        ("3: ", "12: ", "3"),
        ("[80746] ", "[80744] ", "80746"),
        ("suite-3\t", "suite-1\t", "suite-3"),
        ("[2026-05-10 00:18:27] ", "[2026-05-10 00:18:29] ", ""),
        ("#12 35.21 ", "#13 1.02 ", "#12"),
        ("npu-07 | ", "npu-12 | ", "npu-07"),
        ("launcher| ", "launcher| ", "launcher"),
        ("host-x7d2p [rank 3]: ", "host-9k [rank 0]: ", "host-x7d2p [rank 3"),
        ("3f1c> ", "4aa0> ", "3f1c"),
    ],
)
def test_a_traceback_shows_the_prefix_before_it(prefix: str, other: str, writer: str) -> None:
    learned = Prefixes()
    assert learned.learn(prefix + HEAD)
    assert learned.cut(f"{prefix}text", 0) == (len(prefix), writer)
    assert learned.cut(f"{other}text", 0)[0] == len(other)


@pytest.mark.parametrize(
    "line",
    [
        HEAD,
        f"ERROR: {HEAD}",
        f"E   {HEAD}",
        f">   {HEAD}",
        f"    {HEAD}",
        f'{{"log":"{HEAD}',
        f"{'x' * 70}: {HEAD}",
        "worker-1: loss 3.2",
    ],
)
def test_what_is_no_prefix_is_not_learned(line: str) -> None:
    learned = Prefixes()
    assert not learned.learn(line)
    assert learned.cut(line, 0) == (0, "")


def test_a_form_is_learned_once_and_only_a_few_are_kept() -> None:
    learned = Prefixes()
    told = [learned.learn(f"{chr(97 + n // 2)}-{n}: {HEAD}") for n in range(40)]
    assert sum(told) == 8


@pytest.mark.parametrize("prefix", ["worker-{}: ", "{}: ", "[{}] ", "suite-{}\t"])
def test_interleaved_writers_are_told_apart(prefix: str) -> None:
    one, other = prefix.format(1), prefix.format(2)
    digest = read(
        [
            f"{one}{HEAD}",
            f"{other}32 samples scored",
            f'{one}  File "/verl/verl/a.py", line 3, in f',
            f"{other}64 samples scored",
            f"{one}    g(x)",
            f"{other}{HEAD}",
            f"{one}ValueError: bad value",
            f'{other}  File "/verl/verl/b.py", line 9, in h',
            f"{other}TypeError: worse",
        ]
    )
    assert (digest.root_cause_line, digest.cause) == (7, "ValueError: bad value")
    assert [(a.path, a.line) for a in digest.annotations] == [("verl/a.py", 3)]


def test_a_report_of_pytest_with_a_prefix_is_read() -> None:
    report = [
        "=================================== FAILURES ===================================",
        "__________________________________ test_rope ___________________________________",
        ">       assert out == ref",
        "E       AssertionError: assert 1 == 2",
        "tests/test_rope.py:29: AssertionError",
    ]
    digest = read([*(f"suite-3\t{line}" for line in report), "suite-1\t4 passed in 2.0s"])
    assert (digest.failure_class, digest.root_cause_line) == ("test_assertion", 4)


def test_more_reports_than_are_kept_do_no_harm() -> None:
    rule = "=" * 20
    lines = [f"suite-{n}\t{rule} FAILURES {rule}" for n in range(40)]
    assert read([*lines, "suite-99\tE       AssertionError: x"]).lines == 41


def test_the_margin_of_a_childs_traceback_is_none_of_it() -> None:
    digest = read(
        [
            "  error: subprocess-exited-with-error",
            "  ╰─> [6 lines of output]",
            f"      {HEAD}",
            '        File "/tmp/pip-install-x/setup.py", line 15, in <module>',
            "          import cmake",
            "",
            "      ModuleNotFoundError: No module named 'cmake'",
            "      [end of output]",
            "  note: This error originates from a subprocess.",
            "error: metadata-generation-failed",
        ]
    )
    assert (digest.root_cause_line, digest.failure_class) == (7, "dependency_install")


def test_a_margin_that_ends_ends_the_traceback() -> None:
    digest = read([f"   {HEAD}", '     File "/verl/a.py", line 1, in f', "ValueError: x", "end"])
    assert digest.root_cause_line == 3
