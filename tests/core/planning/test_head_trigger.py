"""What made us look at a head decides whether it is new, who pushed it, and why its runs start."""

import pytest

from bot.core.github.events import PullRequestAction
from bot.core.model.ids import RepoId, Sha
from bot.core.model.people import NOBODY
from bot.core.model.pulls import Head
from bot.core.planning.head_trigger import HeadTrigger, LearnedHead
from tests.accounts import account
from tests.core.building import SHA, at

HEAD = Head(RepoId(7), 5, Sha(SHA), NOBODY, at())


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
        (HeadTrigger.FOUND_BY_LOOKING, True, False, f"{SHA[:7]}, found as the head"),
        (HeadTrigger.DISPATCH, False, False, f"{SHA[:7]}, found as the head"),
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
