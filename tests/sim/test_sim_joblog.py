"""A job's log: workflow commands count, until a step stops them."""

from bot.sim import ManualClock
from bot.sim.process import JobLog


def written(*printed: str) -> list[str]:
    """Answer the log, without its times, of a step that prints these lines."""
    lines: list[str] = []
    log = JobLog(ManualClock(), lines, [])
    for line in printed:
        log.output(line)
    return [line.split(" ", 1)[1] for line in lines]


def test_stopped_commands_are_text_until_their_token_comes() -> None:
    assert written("::stop-commands::abc", "::error::x", "::abcd::", "::abc::", "::error::y") == [
        "::stop-commands::abc",
        "::error::x",
        "::abcd::",
        "::abc::",
        "##[error]y",
    ]


def test_a_command_that_is_not_known_is_refused_loudly() -> None:
    assert written("::save-state name=a::b") == [
        "##[error]workflow command ::save-state:: is not simulated"
    ]
