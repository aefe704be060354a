from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.model.rayjobs import ResumeState
from bot.core.rayjob.events import Event, Final, LogLine, RawText, StatusChange, WatchProblem
from bot.core.rayjob.resume import Resume

DONE = Final("SUCCEEDED")
RUNNING = StatusChange("RUNNING")


def logs(*texts: str) -> list[Event]:
    return [LogLine(text) for text in texts]


def numbered(start: int, stop: int) -> list[Event]:
    return [LogLine("same", seq) for seq in range(start, stop)]


def watched(resume: Resume, events: Sequence[Event], half: str = "") -> list[Event]:
    """One watch, its events one by one, the state written and read in between."""
    resume.connected()
    new = [out for event in events for out in resume.take([event])]
    return new + resume.disconnected(half)


def reloaded(resume: Resume) -> Resume:
    return Resume(msgspec.json.decode(msgspec.json.encode(resume.state()), type=ResumeState))


def after(*watches: Sequence[Event]) -> Resume:
    resume = Resume()
    for events in watches:
        watched(resume, events)
    return reloaded(resume)


def test_a_first_watch_is_all_new() -> None:
    events = [*logs("a", "a"), RUNNING, WatchProblem("w"), RawText("t"), DONE]
    resume = Resume()
    resume.connected()
    assert resume.take(events) == events
    assert resume.lines == 2


def test_a_replay_brings_only_what_follows() -> None:
    resume = after(logs("a", "b", "b"))
    assert watched(resume, [*logs("a", "b", "b", "b", "c"), DONE]) == [*logs("b", "c"), DONE]
    assert resume.lines == 5


def test_a_watch_that_goes_on_brings_everything() -> None:
    resume = after(logs("a", "b", "b"))
    assert watched(resume, [*logs("b", "b", "c"), DONE]) == [*logs("b", "b", "c"), DONE]


def test_a_watch_that_goes_on_with_the_first_line_is_found_out_by_the_second() -> None:
    resume = after(logs("a", "b", "c"))
    assert watched(resume, logs("a", "x")) == logs("a", "x")


def test_lines_that_repeat_themselves_are_shown_twice_rather_than_lost() -> None:
    resume = after(logs("50%", "50%"))
    assert watched(resume, logs("50%", "50%", "50%")) == logs("50%", "50%", "50%")


def test_a_replay_broken_off_brings_nothing_and_the_next_one_is_right() -> None:
    resume = after(logs("a", "b", "c"), logs("a", "b"))
    assert resume.lines == 3
    assert watched(resume, logs("a", "b", "c", "d")) == logs("d")


def test_lines_held_back_are_not_lost_when_the_watch_breaks_off_undecided() -> None:
    resume = after(logs("x", "x", "y"))
    assert watched(resume, logs("x")) == logs("x")


def test_a_final_takes_what_was_held_as_new() -> None:
    resume = after(logs("a", "b", "c"))
    assert watched(resume, [*logs("a"), DONE]) == [*logs("a"), DONE]


def test_numbers_decide_even_when_the_submitter_replays() -> None:
    resume = after(numbered(1, 4))
    assert resume.after == 3
    assert watched(resume, [*numbered(1, 6), DONE]) == [*numbered(4, 6), DONE]
    assert watched(resume, numbered(6, 8)) == numbered(6, 8)
    assert resume.take(numbered(7, 9)) == numbered(8, 9)


def test_a_restarted_submitter_that_numbers_anew_still_tells_the_end() -> None:
    resume = after(numbered(1, 4))
    final = Final("NOT_FOUND", "", 1)
    assert watched(resume, [final]) == [final]
    assert resume.after == 3


def test_numbers_decide_even_when_a_job_says_again_how_it_began() -> None:
    resume = after([LogLine("a", 1), LogLine("b", 2)])
    again = [LogLine("a", 3), LogLine("b", 4)]
    assert watched(resume, again) == again


def test_numbers_that_begin_late_are_compared_first() -> None:
    resume = after(logs("a", "b"))
    replay = [LogLine("a", 1), LogLine("b", 2), LogLine("c", 3)]
    assert watched(resume, replay) == replay[2:]
    assert resume.after == 3
    resume = after(logs("a", "b"))
    assert watched(resume, replay[:2]) == []
    assert resume.after == 2


def test_numbers_that_cease_are_compared() -> None:
    resume = after([LogLine("a", 1), LogLine("b", 2)])
    assert watched(resume, logs("a", "b", "c")) == logs("c")
    assert resume.after == 2


def test_an_end_is_told_once() -> None:
    resume = after([*logs("a"), DONE])
    assert watched(resume, [*logs("a"), DONE]) == []
    assert watched(resume, [Final("FAILED")]) == [Final("FAILED")]


def test_a_status_that_repeats_the_last_is_dropped() -> None:
    resume = Resume()
    ended = StatusChange("FAILED")
    assert watched(resume, [RUNNING, RUNNING, ended, RUNNING]) == [RUNNING, ended, RUNNING]


def test_of_a_replays_statuses_only_a_new_last_one_counts() -> None:
    first = [StatusChange("PENDING"), *logs("a"), RUNNING, *logs("b")]
    resume = after(first)
    assert watched(resume, first) == []
    changed = StatusChange("FAILED")
    assert watched(resume, [*first[:-1], changed, *logs("b", "c")]) == [changed, *logs("c")]


def test_problems_of_the_watch_are_told_at_once() -> None:
    resume = after(logs("a", "b"))
    resume.connected()
    assert resume.take([WatchProblem("hiccup")]) == [WatchProblem("hiccup")]


def test_other_text_does_not_spoil_the_count_and_shows_once() -> None:
    resume = after([*logs("a"), RawText("ping"), *logs("b")])
    assert watched(resume, logs("a", "b", "c")) == logs("c")
    again = [*logs("a"), RawText("ping"), RawText("pong"), *logs("b", "c", "d")]
    assert watched(resume, again) == [RawText("pong"), *logs("d")]


def test_other_text_of_a_watch_that_goes_on_keeps_its_place() -> None:
    resume = after(logs("a", "b"))
    events = [RawText("ping"), *logs("c"), RawText("ping")]
    assert watched(resume, events) == events


LONG = [f"line {n}" for n in range(300)]


def test_a_long_replay_is_followed_by_count_and_its_end_is_compared() -> None:
    resume = after(logs(*LONG))
    assert watched(resume, logs(*LONG, "new")) == logs("new")


def test_a_replay_that_turns_out_another_log_is_shown() -> None:
    resume = after(logs(*LONG))
    second_try = logs(*LONG[:64], *(f"other {n}" for n in range(300)))
    assert watched(resume, second_try) == second_try


def test_a_replay_that_ends_before_its_time_loses_no_end() -> None:
    resume = after(logs(*LONG))
    events = [*logs(*LONG[:70], "Traceback"), Final("FAILED")]
    assert watched(resume, events) == events


def test_what_was_held_beyond_its_bound_is_told_as_not_shown() -> None:
    big = "x" * 100_000
    resume = after(logs(*LONG))
    other = logs(*LONG[:64], *(f"{big}{n}" for n in range(40)))
    problem, *shown = watched(resume, [*other, Final("FAILED")])
    assert isinstance(problem, WatchProblem)
    assert f"{len(other) - len(shown) + 1} of its lines" in problem.message
    assert shown == [*other[-len(shown) + 1 :], Final("FAILED")]
    assert len(shown) > 5


def test_lines_too_large_to_hold_are_taken_as_new_while_nothing_is_proved() -> None:
    big = "x" * 2_000_000
    resume = after(logs(big, big, "a"))
    resume.connected()
    assert resume.take(logs(big)) == logs(big)


def test_a_proved_replay_of_large_lines_is_dropped() -> None:
    big = "x" * 2_000_000
    resume = after([LogLine(big, None), *logs("a")])
    assert watched(resume, logs(big, "a", "b")) == logs("b")


def test_other_text_too_large_to_hold_is_taken_as_new() -> None:
    resume = after(logs("a"))
    resume.connected()
    text = RawText("x" * 2_000_000)
    assert resume.take([text]) == [text]


def test_sixty_four_lines_that_all_repeat_prove_nothing() -> None:
    resume = after(logs(*["same"] * 100))
    resume.connected()
    assert resume.take(logs(*["same"] * 63)) == []
    assert resume.take(logs("same")) == logs(*["same"] * 64)


def test_a_first_line_that_came_again_lately_proves_nothing() -> None:
    start = logs("a", *["same"] * 63)
    resume = after([*start, *logs("same", "a")])
    assert watched(resume, start) == start


def test_a_large_line_that_differs_is_not_given_up() -> None:
    big = "x" * 2_000_000
    resume = after(logs("a", "b"))
    assert watched(resume, logs("a", big)) == logs("a", big)


def test_half_a_line_shows_when_the_watch_goes_on_without_it() -> None:
    resume = Resume()
    watched(resume, logs("a"), half="step 1")
    cut = LogLine("step 1 [cut off: connection lost]")
    assert watched(reloaded(resume), [RUNNING, *logs("step 2")]) == [RUNNING, cut, *logs("step 2")]


def test_half_a_line_does_not_show_when_it_comes_whole() -> None:
    for whole in (logs("a", "step 1 of 3"), logs("step 1 of 3")):
        resume = Resume()
        watched(resume, logs("a"), half="step 1")
        resume = reloaded(resume)
        assert watched(resume, [*whole, *logs("b")]) == logs("step 1 of 3", "b")
        assert resume.finish() == []


def test_half_a_line_is_not_counted() -> None:
    resume = Resume()
    watched(resume, logs("a"), half="half")
    watched(resume, logs("b"))
    assert resume.lines == 2
    assert watched(resume, logs("a", "b", "c")) == logs("c")


def test_half_a_line_shows_before_the_end_or_at_the_finish() -> None:
    cut = LogLine("half [cut off: connection lost]")
    resume = Resume()
    watched(resume, [], half="half")
    assert watched(resume, [WatchProblem("w"), DONE]) == [WatchProblem("w"), cut, DONE]
    watched(resume, [], half="half")
    watched(resume, [RUNNING])
    assert reloaded(resume).finish() == [cut]


def test_the_last_lines_are_remembered_whatever_their_size() -> None:
    lines = [str(number) * 300_000 for number in range(1, 10)]
    resume = Resume()
    resume.connected()
    for line in lines:
        resume.take(logs(line))
    assert resume.state() == after(logs(*lines)).state()
    assert len(resume.state().last) == len(lines)


def test_the_state_stays_small() -> None:
    resume = after([*logs(*LONG), *(RawText(str(n)) for n in range(1000))])
    assert watched(resume, [], half="x" * 1_000_000) == []
    assert len(msgspec.json.encode(resume.state())) < 4096


@dataclass(frozen=True)
class Watch:
    replays: bool
    upto: int
    reload: bool


_watches = st.lists(st.builds(Watch, st.booleans(), st.integers(0, 200), st.booleans()), max_size=6)


def followed(lines: list[Event], watches: list[Watch]) -> list[Event]:
    """Follow a job whose watches break off at any line, the last one never."""
    resume, sent, out = Resume(), 0, []
    for watch in [*watches, Watch(replays=True, upto=len(lines), reload=True)]:
        start = 0 if watch.replays else sent
        stop = min(len(lines), max(start, watch.upto))
        events = [*lines[start:stop], *([DONE] if stop == len(lines) else [])]
        out += watched(resume, events)
        sent = max(sent, stop)
        resume = reloaded(resume) if watch.reload else resume
    return out


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 200), _watches)
def test_lines_that_differ_come_exactly_once(count: int, watches: list[Watch]) -> None:
    lines = logs(*(f"line {n}" for n in range(count)))
    assert followed(lines, watches) == [*lines, DONE]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=200), _watches)
def test_numbered_lines_come_exactly_once(texts: list[str], watches: list[Watch]) -> None:
    lines: list[Event] = [LogLine(text, n) for n, text in enumerate(texts, 1)]
    assert followed(lines, watches) == [*lines, DONE]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from("aab"), max_size=150),
    st.lists(st.sampled_from("aab"), max_size=150),
)
def test_lines_that_all_repeat_are_never_lost(before: list[str], then: list[str]) -> None:
    before = [*before, *before]
    resume = after(logs(*before))
    assert watched(resume, logs(*then)) == logs(*then)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=150),
    st.lists(st.sampled_from("abcdefgh"), max_size=150),
)
def test_a_watch_that_goes_on_loses_lines_only_if_it_sends_how_the_job_began(
    before: list[str], then: list[str]
) -> None:
    start = before[:64]
    out = watched(after(logs(*before)), [*logs(*then), DONE])
    if not before or then[: len(start)] != start:
        assert out == [*logs(*then), DONE]
    else:
        assert out[-1] == DONE


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from("aaabc"), max_size=150),
    st.lists(st.sampled_from("aaabc"), max_size=150),
)
def test_a_replay_never_loses_what_follows(before: list[str], then: list[str]) -> None:
    out = watched(after(logs(*before)), [*logs(*before, *then), DONE])
    new = [*logs(*then), DONE]
    assert out in (new, [*logs(*before), *new])
