"""What an app lacks is named with its feature."""

import pytest

from bot.core.github.grants import EVENTS, PERMISSIONS, Grants, Lacking, lacking
from bot.core.messages import Message

ALL = Grants({name: level for name, (level, _) in PERMISSIONS.items()}, frozenset(EVENTS))


@pytest.mark.parametrize(
    ("permissions", "events", "lacks"),
    [
        ({}, frozenset(), ()),
        ({"checks": "read"}, frozenset(), (Lacking("permission checks: write", "feature_checks"),)),
        ({"contents": "write", "merge_queues": "admin"}, frozenset(), ()),
        ({"issues": "odd"}, frozenset(), (Lacking("permission issues: write", "feature_replies"),)),
        ({}, frozenset({"push"}), (Lacking("event push", "feature_pushes"),)),
    ],
)
def test_what_is_not_granted_is_named(
    permissions: dict[str, str], events: frozenset[str], lacks: tuple[Lacking, ...]
) -> None:
    granted = Grants({**ALL.permissions, **permissions}, ALL.events - events)
    assert lacking(granted) == lacks


def test_whatever_is_asked_for_has_a_feature_in_words() -> None:
    nothing = lacking(Grants({}, frozenset()))
    assert len(nothing) == len(PERMISSIONS) + len(EVENTS)
    assert all(str(Message(one.feature)) for one in nothing)
