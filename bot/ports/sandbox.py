"""Work whose cost an outsider decides: it is done in another process, within limits."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class StoppedBy(StrEnum):
    """The reason why work was given up."""

    TIME = "time"  # it took more processor time than allowed
    MEMORY = "memory"
    DIED = "died"  # its process was killed from outside, twice


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The result of work, and the processor time that it took."""

    value: T
    seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """Work that was given up. Work that took too long or too much does so again."""

    why: StoppedBy


class Sandbox(Protocol):
    """Processes that do such work, a few at once; who used least is served first."""

    async def run(self, owner: str, work: Callable[[*Ts], T], *args: *Ts) -> Done[T] | Stopped:
        """Call a function of a module with ``args`` in another process.

        ``owner`` names whose work it is, such as a log or a pull request. The result may hold only
        values of ``bot.core`` and plain ones. An error that the function raises is a
        ``RuntimeError`` here.
        """
