"""Accounts on GitHub: people, organisations and bots."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Account:
    """An account, known by its number: a login can be changed, and taken by somebody else."""

    id: int  # 0: GitHub does not say, or no longer knows
    login: str = field(default="", compare=False)  # for show

    def __bool__(self) -> bool:
        """Return True if GitHub says who it is."""
        return bool(self.id)


NOBODY = Account(0)
