"""What is wrong with the database: one line in the log when it begins, one when it is over."""

import time

import structlog
from sqlalchemy.exc import DBAPIError

from bot.ports.errors import DatabaseTrouble

log = structlog.get_logger()

AWAY, FULL, LOCKED = "can't be reached", "is full", "is locked by another process"
# A full disk still takes what fits on pages that are there: one write that succeeds proves little.
_CALM_S = 10.0
_FULL_STATE, _LOCKED_STATE = "53100", "55P03"  # of PostgreSQL
# PostgreSQL's classes of errors that are no fault of the statement: no connection, no resources,
# an operator's intervention, a broken disk.
_OUTSIDE = ("08", "53", "57", "58")
# Those of a connection that is refused: the password, no such database, one that lets nobody in.
_NOT_LET_IN = ("28", "3D", "55")


def sqlstate(error: BaseException | None) -> str:
    """Return PostgreSQL's code of an error; "" for none."""
    return str(getattr(error, "sqlstate", None) or "")


def is_outside(error: DBAPIError) -> bool:
    """Return True if the database refused for a reason that no statement is to blame for."""
    state = sqlstate(error.orig)
    if error.connection_invalidated or state == _LOCKED_STATE:
        return True
    return state.startswith(_OUTSIDE if error.statement else _OUTSIDE + _NOT_LET_IN)


def problem_of(error: BaseException) -> str:
    """Return in words what is wrong, for people; never a part of a query."""
    orig = getattr(error, "orig", None) or error
    words = str(orig)
    if sqlstate(orig) == _FULL_STATE or "disk is full" in words:
        return FULL
    if sqlstate(orig) == _LOCKED_STATE or "is locked" in words:
        return LOCKED
    return AWAY


def why_of(error: BaseException) -> str:
    """Return the database's own words, without the query that SQLAlchemy adds."""
    words = str(getattr(error, "orig", None) or error) or type(error).__name__
    return words.partition("\n")[0]


class TroubleLog:
    """Tells of the trouble of one database."""

    def __init__(self) -> None:
        self.calm_s = _CALM_S
        self._since: float | None = None
        self._failed_at = 0.0
        self._has_worked = False

    def failed(self, error: Exception) -> DatabaseTrouble:
        """Note a failure; return the error for the caller."""
        problem = problem_of(error)
        trouble = DatabaseTrouble(problem, why_of(error))
        if not self._has_worked:  # whoever starts the process says it
            return trouble
        self._failed_at = time.monotonic()
        if self._since is None:
            self._since = self._failed_at
            log.error("the database can't be used", problem=problem, why=trouble.why)
        trouble.is_told = True
        return trouble

    def worked(self) -> None:
        """Note that the database was reached."""
        self._has_worked = True

    def wrote(self) -> None:
        """Note a write that succeeded."""
        self._has_worked = True
        if self._since is None:
            return
        now = time.monotonic()
        if now - self._failed_at >= self.calm_s:
            log.info("the database can be used again", seconds=round(now - self._since))
            self._since = None
