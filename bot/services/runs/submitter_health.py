"""Whether the submitter answers: asked every few seconds at most, for all runs together."""

from datetime import datetime, timedelta

from bot.core.github.answers import in_words
from bot.core.messages import NOTHING, Message
from bot.ports.clock import Clock
from bot.ports.errors import SubmitterRefused, Transient
from bot.ports.rayjobs import Submitter

ASK_EVERY = timedelta(seconds=10)


class SubmitterHealth:
    """Remembers the last answer, and since when the submitter is down."""

    def __init__(self, rayjobs: Submitter, clock: Clock) -> None:
        self._rayjobs = rayjobs
        self._clock = clock
        self._asked_at: datetime | None = None
        self._down_since: datetime | None = None
        self._error: Transient | SubmitterRefused | None = None

    async def down(self) -> Message:
        """Return why and since when the submitter is down, "" if it is not."""
        now = self._clock.now()
        if self._asked_at is None or now - self._asked_at >= ASK_EVERY:
            self._asked_at = now
            self._error = await self._rayjobs.health()
            self._down_since = (self._down_since or now) if self._error else None
        if self._error is None or self._down_since is None:
            return NOTHING
        return Message(_key(self._error), since=self._down_since, why=_problem(self._error))


def _key(error: Transient | SubmitterRefused) -> str:
    of_token = isinstance(error, SubmitterRefused) and error.is_of_token
    return "submitter_refuses" if of_token else "submitter_down"


def _problem(error: Transient | SubmitterRefused) -> str:
    """Return what is wrong with the submitter, in words that follow its name."""
    return in_words(str(error)).removeprefix("the submitter ")
