"""The day that `day_bench` plays: what is put in, the model of today, and how sides compare."""

import argparse
from collections.abc import Sequence
from dataclasses import astuple

import pytest

from tests.bench import day_policy
from tests.bench.day import Asked, Author, Job, Push, Spell, asked, natives, nights, pushes
from tests.bench.day_bench import compare
from tests.bench.day_compare import DEBOUNCE, FINISHED, NO_APPROVAL, WAITED, figures, reasons
from tests.bench.day_mix import TARGET, commits, selected, shares
from tests.bench.day_model import replay

POLICY = day_policy.load(day_policy.shipped(1))
WRITER = Author("writer")
LABEL = "linux-aarch64-a3-8"


def push(number: int, at: float, author: Author = WRITER) -> Push:
    return Push(at, 0, number, author, ("verl/a.py",))


def job(minutes: float = 60, end: str = "success", name: str = "unit") -> Job:
    return Job(name, name, LABEL, 8, minutes, end)


def ran(spells: Sequence[Spell]) -> list[tuple[float | None, float, str]]:
    return sorted((one.started_at, one.ended_at, one.end) for one in spells if one.started_at)


def test_the_mix_starts_what_the_target_project_does() -> None:
    found = shares(natives(POLICY), commits(100))
    assert astuple(found) == pytest.approx(astuple(TARGET), abs=0.03)


def test_a_day_has_four_pushes_an_hour_in_order() -> None:
    made = pushes(24, commits(20))
    assert len(made) == 96
    assert made == sorted(made, key=lambda item: item.at)
    assert sum(item.author.stranger for item in made) / 96 == pytest.approx(0.2, abs=0.1)


def test_both_forms_ask_for_the_same_jobs() -> None:
    form = day_policy.load(day_policy.dispatched(1))
    one = [push(1, 0)]
    before = {(item.job.name, item.job.minutes) for item in asked(natives(POLICY), one)}
    after = {(item.job.name, item.job.minutes) for item in asked(form, one)}
    assert len(before) == 16  # of 17: the trainer of its own asks for other paths
    assert {name for name, _ in after - before} == {"multinode-ppo"}
    assert before <= after
    assert len(nights(POLICY, 24)) == 15
    assert not nights(POLICY, 17)


def test_a_label_takes_its_slots_and_the_rest_waits() -> None:
    items = [Asked(1, push(1, 1), job(name=name)) for name in "abc"]
    assert ran(replay(items, {LABEL: 2})) == [
        (1, 61, "success"),
        (1, 61, "success"),
        (61, 121, "success"),
    ]


def test_a_newer_push_ends_what_its_pull_request_still_has() -> None:
    items = [Asked(at, push(number, at), job()) for number, at in ((1, 1), (2, 31))]
    spells = replay(items, {LABEL: 2})
    assert ran(spells) == [(1, 31, "cancelled"), (31, 91, "success")]
    found = figures(spells, items)
    assert (found.hours, found.stopped_hours, found.verdicts) == (12, 4, 1)


def test_a_job_whose_runner_broke_runs_again() -> None:
    spells = replay([Asked(1, push(1, 1), job(30, "broken"))], {LABEL: 1})
    assert ran(spells) == [(1, 31, "broken"), (31, 91, "success")]


@pytest.mark.parametrize(
    ("gap", "author", "why"),
    [
        (30.0, WRITER, WAITED),
        (0.5, WRITER, DEBOUNCE),
        (30.0, Author("stranger", True), NO_APPROVAL),
        (30.0, Author("stranger", True, None), NO_APPROVAL),
    ],
)
def test_each_job_left_out_has_its_reason(gap: float, author: Author, why: str) -> None:
    first, second = push(2, 10, author), push(3, 10 + gap, author)
    old = [Spell(Asked(10, first, job()), 10, 10 + gap, "cancelled")]
    new = [Spell(Asked(10 + gap, second, job()), 11 + gap, 71 + gap, "success")]
    found = reasons(old, new, [first, second], 60)
    assert found[why] == pytest.approx(-gap / 60 * 8)
    assert found[FINISHED] == 8
    assert sum(found.values()) == pytest.approx(8 - gap / 60 * 8)


def test_the_bot_plays_a_small_day_to_its_end() -> None:
    source = day_policy.dispatched(1)
    files = ("examples/grpo_trainer/run.sh",)
    assert selected(natives(POLICY), files) == ("e2e_ascend",)
    made = [Push(5.0 * number, 0, number, WRITER, files) for number in (1, 2)]
    options = argparse.Namespace(times=1, hours=1)
    answer = compare(source, made, options)
    assert answer["problems"] == []
    assert answer["today"].verdicts == answer["bot"].verdicts == 1
    assert answer["bot"].hours - answer["today"].hours == pytest.approx(sum(answer["why"].values()))
