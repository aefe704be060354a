"""Where a log goes on."""

from bot.core.model.rayjobs import ResumeState


def test_a_half_line_is_exchanged_and_the_place_stays() -> None:
    state = ResumeState(lines=7, seq=9, half="token=abc")
    assert state.with_half("token=***") == ResumeState(lines=7, seq=9, half="token=***")
