"""Of which pull requests a native run is, and when that can't be told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull, PullAt
from bot.core.model.runs import Run
from bot.core.policy.models import Start
from bot.core.runs.attribution import Attribution, attribute, is_mistaken
from tests.core.building import a_pull, a_run, at, with_changes
from tests.core.runs.seen import SEEN

PULL = a_pull()  # number 5
OTHER_SHA = Sha("f" * 40)
OLD = replace(PULL, number=6, base_ref="old")
OTHERS = replace(OLD, head_ref="theirs")


@pytest.mark.parametrize(
    ("changes", "pulls", "found"),
    [
        ({}, (PULL,), [5]),
        ({}, (PULL, replace(PULL, number=6)), [5, 6]),
        ({}, (PULL, OLD), []),
        ({"event": "push"}, (PULL, OLD), [5, 6]),
        ({"pulls": (6,)}, (PULL, OLD), []),
        ({"pulls": (6,)}, (PULL, replace(PULL, number=6)), [6]),
        ({"head_repo_id": 9}, (PULL, replace(OLD, head_repo_id=9)), [6]),
        ({"head_branch": "mine"}, (replace(PULL, head_ref="mine"), OTHERS), [5]),
        ({"head_branch": "theirs"}, (replace(PULL, head_ref="mine"), OTHERS), [6]),
        ({}, (PULL, replace(PULL, number=6, based_at=at(0))), []),
        ({}, (PULL, replace(PULL, number=6, based_at=at(0), updated_at=at(0), open=False)), []),
        ({}, (PULL, replace(OTHERS, updated_at=at(0), open=False)), []),
        ({}, (PULL, replace(OTHERS, updated_at=None, head_sha=OTHER_SHA)), []),
        ({"created_at": None}, (PULL, replace(OTHERS, updated_at=at(-1), open=False)), []),
        ({}, (PULL, replace(OTHERS, updated_at=at(-1), open=False)), [5]),
        ({}, (PULL, replace(OTHERS, updated_at=at(-1), head_sha=OTHER_SHA)), [5]),
        ({"event": "push"}, (PULL, replace(OTHERS, updated_at=at(0), open=False)), [5]),
        ({"head_repo_id": 9}, (PULL,), []),
        ({}, (replace(PULL, based_at=at(-1)),), [5]),
        ({}, (replace(PULL, based_at=at(0)),), []),
        ({"event": "push"}, (replace(PULL, based_at=at(0)),), [5]),
        ({"event": "push", "head_repo_id": 9}, (PULL,), []),
        ({"created_at": None}, (replace(PULL, based_at=at(0)),), [5]),
    ],
)
def test_an_actions_run_is_of_the_pull_requests_with_its_head_and_one_base(
    changes: dict[str, Any], pulls: tuple[Pull, ...], found: list[int]
) -> None:
    known = [PullAt(pull) for pull in pulls]
    told = attribute(replace(SEEN, **changes), known)
    assert [pull.number for pull in told.pulls] == found


def item(pull: Pull, *, since: float | None = None, asked: bool = False) -> PullAt:
    return PullAt(pull, None if since is None else at(since), asked)


def was_quiet(changed: float) -> PullAt:
    return PullAt(replace(PULL, updated_at=at(changed)), was_quiet=True)


QUIET = replace(PULL, updated_at=at(-10) - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("claim", "known", "found"),
    [
        ("the other one was not there yet", (item(PULL), item(OLD, since=0.1)), [5]),
        ("the other one had come just then", (item(PULL), item(OLD, since=0)), []),
        ("nothing happened to the first", (item(QUIET, asked=True), item(OLD, asked=True)), [6]),
        ("as GitHub tells now, not by a row", (item(QUIET), item(OLD)), []),
        (
            "ten minutes before",
            (item(replace(PULL, updated_at=at(-10)), asked=True), item(OLD, asked=True)),
            [],
        ),
        (
            "nothing happened to either",
            (item(QUIET, asked=True), item(replace(OLD, updated_at=at(-11)), asked=True)),
            [],
        ),
        ("it was quiet then", (was_quiet(1), item(OLD)), [6]),
        ("it was quiet then, and still is", (was_quiet(-11), item(OLD)), [6]),
        ("it was not: the answer was an old one", (was_quiet(-1), item(OLD)), []),
        ("it does not matter to one alone", (item(QUIET, asked=True),), [5]),
    ],
)
def test_a_run_is_of_no_pull_request_that_can_not_have_started_it(
    claim: str, known: tuple[PullAt, ...], found: list[int]
) -> None:
    assert [pull.number for pull in attribute(SEEN, known).pulls] == found, claim


def test_what_was_quiet_is_remembered() -> None:
    asked = (item(QUIET, asked=True), item(OLD, asked=True))
    assert attribute(SEEN, asked).quiet == (5,)
    assert attribute(SEEN, asked[:1]).quiet == ()
    no_time = (item(replace(QUIET, updated_at=None), asked=True), item(OLD, asked=True))
    assert attribute(SEEN, no_time).quiet == ()


def test_people_are_told_why_it_follows_nobody_and_what_to_do() -> None:
    two = attribute(SEEN, (PullAt(PULL), PullAt(OLD)))
    assert two.why == (
        "GitHub does not say into which base its run merges: it can be of #5 into `main`, "
        "#6 into `old`. Close all but one of them, then push again"
    )
    one = attribute(SEEN, (PullAt(replace(PULL, based_at=at(1))),))
    assert one.why == "GitHub's run can be older than the pull request's base: push again"


def of(base: str) -> Run:
    run = a_run()
    return replace(run, snapshot=with_changes(run.snapshot, start=Start.NATIVE, ref=base))


@pytest.mark.parametrize(
    ("found", "mistaken"),
    [
        (attribute(SEEN, (PullAt(PULL),)), False),
        (attribute(SEEN, (PullAt(replace(PULL, head_sha=OTHER_SHA)),)), False),
        (attribute(SEEN, (PullAt(OLD),)), True),
        (attribute(SEEN, (PullAt(PULL), PullAt(OLD))), True),
        (attribute(SEEN, (PullAt(replace(PULL, based_at=at(1))),)), True),
        (attribute(replace(SEEN, event="push"), (PullAt(OLD),)), False),
        (Attribution(), False),  # its pull request is forgotten
    ],
)
def test_a_run_that_follows_what_can_be_of_another_base_is_mistaken(
    found: Attribution, mistaken: bool
) -> None:
    assert is_mistaken(of("main"), found) is mistaken


def test_a_mistaken_run_says_nothing_for_any_suite() -> None:
    run = of("main")
    labels = [label.name for label in run.snapshot.labels]
    assert run.speaks_for(run.snapshot.essence, labels)
    assert not replace(run, mistaken=True).speaks_for(run.snapshot.essence, labels)
