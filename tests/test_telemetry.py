"""What the log shows of text from outside."""

import pytest
import structlog

from bot.telemetry import configure_logs, get_log


@pytest.mark.parametrize("style", ["console", "json"])
def test_nothing_that_others_wrote_acts_on_the_terminal_that_shows_the_log(
    style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = structlog.get_config()
    try:
        configure_logs("INFO", style)
        get_log("reporter").warning("left out", path="a\x1b[31m\x1b]0;x\x07.py")
    finally:
        structlog.configure(**before)
    told = capsys.readouterr().err
    assert "left out" in told
    assert told.strip().isprintable()
