"""What the app needs of GitHub: permissions and events, each with the feature that it is for."""

from collections.abc import Mapping
from dataclasses import dataclass

_RANKS = {"": 0, "read": 1, "write": 2, "admin": 3}

# A level and the key of the feature. The members of teams are optional: `trust.teams` says so.
PERMISSIONS = {
    "contents": ("read", "feature_policy"),
    "actions": ("write", "feature_workflows"),
    "checks": ("write", "feature_checks"),
    "pull_requests": ("write", "feature_files"),
    "issues": ("write", "feature_replies"),
    "merge_queues": ("read", "feature_groups"),
}
# The events of check runs come with the permission, those of installations always.
EVENTS = {
    "pull_request": "feature_pulls",
    "issue_comment": "feature_commands",
    "workflow_run": "feature_ends",
    "workflow_job": "feature_occupancy",
    "push": "feature_pushes",
    "merge_group": "feature_groups",
    "repository": "feature_renames",
}


@dataclass(frozen=True, slots=True)
class Grants:
    """What an app asks for, or what an owner granted it."""

    permissions: Mapping[str, str]
    events: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A permission or an event that is not granted, and the key of what does not work so."""

    what: str
    feature: str


def lacking(grants: Grants) -> tuple[Lacking, ...]:
    """Return what is not granted."""
    permissions = [
        Lacking(f"permission {name}: {level}", feature)
        for name, (level, feature) in PERMISSIONS.items()
        if _RANKS.get(grants.permissions.get(name, ""), 0) < _RANKS[level]
    ]
    events = [
        Lacking(f"event {name}", feature)
        for name, feature in EVENTS.items()
        if name not in grants.events
    ]
    return (*permissions, *events)
