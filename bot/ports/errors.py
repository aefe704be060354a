"""The two errors that cross a port: worth another try, or not."""


class Transient(Exception):  # noqa: N818  it is what STYLE's word for it says, in every `except`
    """The other side could not answer now; the same call may work later."""

    is_told = False
    """True if the log has a line that says so already."""

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s
        """Seconds the other side asked to wait; `None` when it named none."""


class Held(Transient):
    """Not sent, or refused, because of the other side's limits.

    The log has a line for each limit that was met; that calls wait for it, and for the pace of
    writes, is no trouble of their own.
    """

    is_told = True


class DatabaseTrouble(Transient):
    """The database can't be reached, or takes no writes."""

    def __init__(self, problem: str, why: str) -> None:
        super().__init__(f"the database {problem}")
        self.problem = problem
        """In words that may be shown: what follows "the database …"."""
        self.why = why
        """In the database's own words, for its operators."""


class Silent(Transient):
    """Nothing came over an open connection for longer than its read timeout."""


class LogMissing(Transient):
    """The log of a job is not there: not yet, or never, if its runner was lost."""


class Lost(Transient):
    """Sent, but no answer came: it may or may not have happened. Look for it by our id first."""


class ListenError(Exception):
    """A process can't listen where it should; raised at its start alone."""


class Permanent(Exception):  # noqa: N818  as above
    """The other side refused; the same call would be refused again."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        """The HTTP status it was refused with; `None` when there was none."""

    @property
    def is_gone(self) -> bool:
        """Return True if the thing is shown to nobody (any more)."""
        return self.status in {404, 410}


class SubmitterRefused(Permanent):
    """The submitter refused, and not GitHub."""

    @property
    def is_of_token(self) -> bool:
        """Return True if it refused who calls: the token is missing or another one."""
        return self.status in {401, 403}


def is_told(error: BaseException) -> bool:
    """Return True if the log has a line already that says it, of a group for each of its errors."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_told, error.exceptions))
    return isinstance(error, Transient) and error.is_told


def is_soon_over(error: Exception) -> bool:
    """Return True if a repetition at once may help; a named time is the caller's to wait for."""
    return isinstance(error, Transient) and error.retry_after_s is None
