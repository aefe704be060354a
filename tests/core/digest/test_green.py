"""A green end hides what a process died of; what was caught or expected is no alarm."""

from bot.core.digest.digester import Digester
from tests.core.digest.corpus import signatures
from tests.core.digest.green_cases import load_green


def test_no_log_of_a_job_that_passed_gives_a_false_alarm() -> None:
    innocent = [case for case in load_green() if case.hidden is None and not case.missed]
    assert len(innocent) >= 50
    assert [case.name for case in innocent if case.digest.hidden] == []


def test_what_a_process_died_of_is_found_with_its_line_and_its_step() -> None:
    wrong: list[object] = []
    for case in load_green():
        if case.hidden is None or case.missed:
            continue
        found = case.digest
        steps = [found.progress.step, found.progress.total] if found.progress else None
        if not found.hidden or found.root_cause_line != case.root:
            wrong.append((case.name, found.hidden, found.root_cause_line, case.root))
        if case.steps not in (None, steps):
            wrong.append((case.name, steps, case.steps))
    assert wrong == []


def test_nothing_is_hidden_in_an_empty_log() -> None:
    found = Digester(signatures()).end(passed=True)
    assert (found.hidden, found.root_cause_line) == (False, None)


_DIED = 'Traceback (most recent call last):\n  File "/w/a.py", line 3, in <module>\nValueError: x\n'
_STEP = "##[group]Run ./a\n##[endgroup]\n"


def _hidden(log: str) -> bool:
    digester = Digester(signatures())
    digester.feed(log.encode())
    return digester.end(passed=True).hidden


def test_what_a_green_session_of_tests_printed_before_its_end_is_no_alarm() -> None:
    assert _hidden(_DIED)
    assert not _hidden(_DIED + "3 passed in 0.12s\n")
    assert not _hidden(_DIED + "Ran 3 tests in 1.0s\n\nOK (skipped=1)\n")
    assert _hidden(_DIED + "1 failed, 2 passed in 0.12s\n")


def test_a_process_that_died_is_found_among_many_steps_unless_its_step_went_on() -> None:
    assert _hidden(_STEP + _DIED + _STEP * 300)
    assert not _hidden(_STEP + _DIED + "goes on\n" * 60 + _STEP * 300)
    assert not _hidden(_STEP * 300)
