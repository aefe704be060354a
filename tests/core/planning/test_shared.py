"""Several pull requests with one head: whose word the gate is, and which one a click means."""

from dataclasses import replace

import pytest

from bot.core.model.pulls import Pull
from bot.core.model.selections import MergeGroup, SelectionDetails, StoredSelection
from bot.core.planning.shared import Weighed, meant_pull, weigh
from tests.core.building import REPO, SHA, a_pull, at

WORDS: dict[str, bool | None] = {"yes": True, "no": False, "unknown": None}


def head(number: int, base: str) -> Pull:
    return replace(a_pull(), number=number, base_ref=base)


def row(number: int, word: str) -> StoredSelection:
    details = SelectionDetails(trusted=WORDS[word])
    return StoredSelection(REPO, SHA, number, "p", details)


@pytest.mark.parametrize(
    ("heads", "counting"),
    [
        (("main no",), [1]),
        (("main yes", "main no"), [1]),
        (("main unknown", "main no"), [1, 2]),  # nobody vouches for the first
        (("main yes", "main unknown"), [1]),
        (("old no", "main yes"), [2]),
        (("old yes", "old no"), [1]),
        (("old yes", "main no"), [1, 2]),  # the old base may need less than main
        (("old yes", "new no"), [1, 2]),
        (("old yes", "main yes"), [1, 2]),
        (("old yes", "main yes", "old no", "main no"), [1, 2]),
    ],
)
def test_an_untrusted_pull_request_does_not_count_beside_a_trusted_one(
    heads: tuple[str, ...], counting: list[int]
) -> None:
    words = [text.split() for text in heads]
    pulls = tuple(head(number, base) for number, (base, _) in enumerate(words, 1))
    rows = tuple(row(number, word) for number, (_, word) in enumerate(words, 1))
    weighed = weigh(pulls, rows, "main")
    assert [item.number for item in weighed.selections] == counting
    assert [pull.number for pull in weighed.overruled] == [
        pull.number for pull in pulls if pull.number not in counting
    ]


def test_what_is_closed_counts_only_while_nothing_is_open() -> None:
    closed, going = row(1, "no"), row(2, "no")
    assert weigh((), (closed, going), "main") == Weighed((closed, going))
    assert weigh((head(2, "main"),), (closed, going), "main") == Weighed((going,))
    assert weigh((head(3, "main"),), (closed, going), "main") == Weighed(())


def test_a_merge_group_counts_alone_while_it_waits() -> None:
    pulls, theirs = (head(1, "main"),), row(1, "yes")
    group = replace(row(0, "yes"), data=SelectionDetails(group=MergeGroup(1)))
    assert weigh(pulls, (group, theirs), "main") == Weighed((group,), pulls)
    over = replace(group, data=SelectionDetails(group=MergeGroup(1, at())))
    assert weigh(pulls, (over, theirs), "main") == Weighed((theirs,))
    assert weigh((), (over,), "main") == Weighed((over,))
    assert meant_pull(pulls, (group, theirs), "main", approves=False) is None


def test_a_click_means_a_trusted_pull_request_and_an_approval_one_that_is_not() -> None:
    pulls = (head(1, "old"), head(2, "main"), head(3, "old"))
    rows = (row(1, "no"), row(2, "no"), row(3, "yes"))
    for approves, number in ((False, 3), (True, 2)):
        found = meant_pull(pulls, rows, "main", approves=approves)
        assert found is not None
        assert found.number == number
    assert meant_pull((), rows, "main", approves=True) is None
