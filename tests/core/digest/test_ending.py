"""The end of a failed step: the lines that a person reads where no cause is known."""

import pytest

from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest, Found
from tests.core.digest.corpus import signatures

STEP = b"""2026-08-22T14:02:01.1Z ##[group]Run bash tests/run.sh
2026-08-22T14:02:01.1Z \x1b[36;1mbash tests/run.sh\x1b[0m
2026-08-22T14:02:01.1Z shell: /usr/bin/bash -e {0}
2026-08-22T14:02:01.1Z ##[endgroup]
2026-08-22T14:02:02.1Z reading the reference

2026-08-22T14:02:09.1Z 12 checks done, 3 differ from the reference
2026-08-22T14:02:09.2Z ##[error]Process completed with exit code 1.
"""
AFTER = b"""2026-08-22T14:02:09.3Z ##[group]Run actions/upload-artifact@v4
2026-08-22T14:02:09.3Z with:
2026-08-22T14:02:09.4Z ##[endgroup]
2026-08-22T14:02:10.4Z uploaded 3 files
2026-08-22T14:02:10.5Z Post job cleanup.
2026-08-22T14:02:11.5Z Cleaning up orphan processes
"""
DIFFER = "12 checks done, 3 differ from the reference"


def read(log: bytes) -> Digest:
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed(log)
    return digester.end()


def test_a_step_that_only_fails_keeps_its_own_last_lines_not_those_of_later_steps() -> None:
    digest = read(STEP + AFTER)
    assert digest.tail == ("reading the reference", DIFFER)
    assert (digest.last, digest.found, digest.title) == (DIFFER, Found.EXIT_CODE, DIFFER)
    assert digest.cause == "Process completed with exit code 1."


def test_the_end_of_a_step_is_its_exit_not_an_earlier_annotation() -> None:
    mark = b"2026-08-22T14:02:02.1Z ##[error]check 3 is off\n"
    digest = read(STEP.replace(b"2026-08-22T14:02:02.1Z reading", mark + b"reading") + AFTER)
    assert digest.tail == ("check 3 is off", "reading the reference", DIFFER)


def test_thirty_lines_that_say_something_are_kept() -> None:
    lines = b"".join(b"check %d is fine\n\n" % n for n in range(70))
    tail = read(STEP.replace(b"reading the reference\n", lines)).tail
    assert (len(tail), tail[0], tail[-1]) == (30, "check 41 is fine", DIFFER)


def test_a_log_that_just_stops_keeps_its_last_lines() -> None:
    digest = read(b"step one\nloading\n[rayjob status] status=RUNNING rayjob_status= deployment_\n")
    assert digest.tail[:2] == ("step one", "loading")
    assert (digest.last, digest.found, digest.hint) == ("loading", Found.NOTHING, "")


@pytest.mark.parametrize("log", [b"", b"\n\n"])
def test_a_log_without_words_has_no_last_line(log: bytes) -> None:
    assert (read(log).tail, read(log).last) == ((), "")


def test_a_cause_is_found_as_before() -> None:
    assert read(STEP.replace(b"reading the reference", b"ValueError: x")).found is Found.CAUSE
