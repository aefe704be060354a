"""Permission levels on a repository, from none to admin."""

from enum import StrEnum


class Level(StrEnum):
    """A permission on a repository, from ``user.permissions`` (custom roles included)."""

    NONE = "none"
    PULL = "pull"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def at_least(self, other: "Level") -> bool:
        """Return True if this level grants all that ``other`` grants."""
        order = list(Level)
        return order.index(self) >= order.index(other)
