"""Permission levels on a repository, from none to admin."""

from enum import StrEnum


class Level(StrEnum):
    """A permission on a repository, from ``user.permissions`` (custom roles included).

    It is written as GitHub's pages name it; the words of its API are read as well.
    """

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @classmethod
    def _missing_(cls, value: object) -> "Level | None":
        return {"pull": cls.READ, "push": cls.WRITE}.get(str(value))

    def at_least(self, other: "Level") -> bool:
        """Return True if this level grants all that ``other`` grants."""
        order = list(Level)
        return order.index(self) >= order.index(other)
