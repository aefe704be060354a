"""What made us look at a head decides whether it is new, who pushed it, and why its runs start."""

from dataclasses import replace
from datetime import datetime

import pytest

from bot.core.github.events import PullRequestAction
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY
from bot.core.model.pulls import Head, Pull
from bot.core.planning.head_trigger import (
    HeadTrigger,
    LearnedHead,
    activities,
    former_heads,
    head_since,
)
from tests.accounts import account
from tests.core.building import OLD_SHA, SHA, a_pull, at

HEAD = Head(RepoId(7), 5, Sha(SHA), NOBODY, at())

FOUND = f"the head {SHA[:7]}, which the bot found on GitHub"


@pytest.mark.parametrize(
    ("trigger", "fresh", "is_push", "origin"),
    [
        (HeadTrigger.OPENED, True, False, "the pull request being opened"),
        (HeadTrigger.REOPENED, True, False, "the pull request being reopened"),
        (HeadTrigger.SYNCHRONIZE, True, True, f"a push of {SHA[:7]}"),
        (HeadTrigger.EDITED, False, False, "the pull request being edited"),
        (HeadTrigger.CLOSED, False, False, "the pull request being closed"),
        (
            HeadTrigger.CONVERTED_TO_DRAFT,
            False,
            False,
            "the pull request being converted to draft",
        ),
        (
            HeadTrigger.READY_FOR_REVIEW,
            False,
            False,
            "the pull request being ready for review",
        ),
        (
            HeadTrigger.FOUND_BY_LOOKING,
            True,
            False,
            FOUND,
        ),
        (HeadTrigger.DISPATCH, False, False, FOUND),
        (HeadTrigger.REQUEST, False, False, "the approval of ann"),
    ],
)
def test_what_a_trigger_means_for_a_head(
    trigger: HeadTrigger, fresh: bool, is_push: bool, origin: str
) -> None:
    assert trigger.may_be_fresh is fresh
    assert trigger.is_push is is_push
    assert LearnedHead(HEAD, trigger, account("ann"), fresh).origin == origin


def test_trust_is_asked_for_a_persons_request_and_before_a_dispatch() -> None:
    asking = {trigger for trigger in HeadTrigger if trigger.asks_for_trust}
    assert asking == {HeadTrigger.REQUEST, HeadTrigger.DISPATCH}


@pytest.mark.parametrize("action", PullRequestAction)
def test_every_action_of_a_pull_request_is_a_trigger(action: PullRequestAction) -> None:
    assert HeadTrigger(action).value == action.value


PULL = a_pull(created_at=at(-60), updated_at=at(0))
BEFORE = replace(PULL, head_sha=Sha("f" * 40), updated_at=at(-30))


@pytest.mark.parametrize(
    ("row", "trigger", "told_at", "since"),
    [
        (None, HeadTrigger.OPENED, at(0), at(-60)),
        (None, HeadTrigger.SYNCHRONIZE, at(0), at(-60)),
        (PULL, HeadTrigger.EDITED, at(0), at(-60)),
        (BEFORE, HeadTrigger.SYNCHRONIZE, at(0), at(-2)),
        (BEFORE, HeadTrigger.SYNCHRONIZE, None, at(-30)),  # GitHub's answer may be of later
        (BEFORE, HeadTrigger.FOUND_BY_LOOKING, at(0), at(-30)),
        (replace(BEFORE, head_sha=SHA, open=False), HeadTrigger.REOPENED, at(0), at(-2)),
        (replace(BEFORE, head_sha=SHA, open=False), HeadTrigger.EDITED, at(0), at(-30)),
    ],
)
def test_a_commit_was_not_the_head_before(
    row: Pull | None, trigger: HeadTrigger, told_at: datetime | None, since: datetime
) -> None:
    assert head_since(PULL, row, trigger, told_at) == since


def test_other_commits_that_an_event_tells_of_were_the_head_before() -> None:
    assert former_heads(HEAD, (None, Sha(SHA))) == ()
    (former,) = former_heads(HEAD, (Sha(OLD_SHA), Sha(SHA), Sha(OLD_SHA)))
    assert former.sha == OLD_SHA
    assert former.seen_at < HEAD.seen_at


OTHER = replace(HEAD, sha=Sha("b" * 40))


@pytest.mark.parametrize(
    ("trigger", "created_at", "others", "names"),
    [
        (HeadTrigger.OPENED, None, (), "opened reopened"),
        (HeadTrigger.SYNCHRONIZE, at(0), (), "reopened synchronize"),
        (HeadTrigger.EDITED, at(0), (OTHER,), "reopened synchronize"),
        (HeadTrigger.EDITED, at(-9), (), "opened reopened"),
        (HeadTrigger.FOUND_BY_LOOKING, at(-11), (), "opened reopened synchronize"),
        (HeadTrigger.FOUND_BY_LOOKING, None, (), "opened reopened synchronize"),
        (HeadTrigger.REOPENED, at(0), (OTHER,), "opened reopened synchronize"),
    ],
)
def test_a_head_came_by_being_opened_or_by_a_push(
    trigger: HeadTrigger, created_at: datetime | None, others: tuple[Head, ...], names: str
) -> None:
    pull = replace(a_pull(), created_at=created_at)
    assert sorted(activities(pull, HEAD, trigger, others)) == names.split()
