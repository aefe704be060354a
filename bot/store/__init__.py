"""The store: everything the bot remembers, in one database, SQLite or PostgreSQL.

A transaction is one method that takes a value and answers a value; no connection or row object
leaves this package.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from bot.core.planning.plan import Plan
from bot.ports.wake import Topic, Wake
from bot.store.audit import Audit
from bot.store.checks import Checks
from bot.store.database import Database, DbConnection, NewId
from bot.store.deliveries import Deliveries, finish_delivery
from bot.store.due import read_due
from bot.store.health import HealthReads
from bot.store.ids import ulid
from bot.store.instance import open_instance
from bot.store.leases import Lease
from bot.store.logins import ListedLogins
from bot.store.migrate import migrate
from bot.store.pauses import Pauses
from bot.store.plans import topics, write_plan
from bot.store.polls import Polls
from bot.store.prune import prune_old
from bot.store.pull_comments import PullComments
from bot.store.pulls import Pulls, is_head
from bot.store.queue import Queue
from bot.store.rayjobs import RayJobs
from bot.store.replies import Replies
from bot.store.repos import Policies, Repos
from bot.store.runs import Runs
from bot.store.schedules import Schedules
from bot.store.tokens import Tokens
from bot.store.wake import LocalWake
from bot.store.workflow_jobs import WorkflowJobs

__all__ = ["Store", "migrate"]


class Store:
    """The parts of the store around one database; made by ``open``, ended by ``close``."""

    def __init__(self, db: Database, wake: Wake, new_id: NewId) -> None:
        self._db = db
        self._wake = wake
        self._new_id = new_id
        self.audit = Audit(db, wake, new_id)
        self.checks = Checks(db, wake, new_id)
        self.deliveries = Deliveries(db, wake, new_id)
        self.health = HealthReads(db, wake, new_id)
        self.listed_logins = ListedLogins(db, wake, new_id)
        self.pauses = Pauses(db, wake, new_id)
        self.policies = Policies(db, wake, new_id)
        self.polls = Polls(db, wake, new_id)
        self.pull_comments = PullComments(db, wake, new_id)
        self.pulls = Pulls(db, wake, new_id)
        self.queue = Queue(db, wake, new_id)
        self.rayjobs = RayJobs(db, wake, new_id)
        self.replies = Replies(db, wake, new_id)
        self.repos = Repos(db, wake, new_id)
        self.runs = Runs(db, wake, new_id)
        self.schedules = Schedules(db, wake, new_id)
        self.tokens = Tokens(db, wake, new_id)
        self.workflow_jobs = WorkflowJobs(db, wake, new_id)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        wake: Wake | None = None,
        new_id: Callable[[datetime], str] = ulid,
        executor: Executor | None = None,
    ) -> "Store":
        """Open a migrated database; raises ``Transient`` when it can't be reached.

        ``executor`` runs SQLite's transactions; without one they have threads of their own.
        """
        db = Database(url, executor)
        await db.read(_nothing)
        return cls(db, wake or LocalWake(), new_id)

    def instance(self, name: str) -> AbstractAsyncContextManager[str]:
        """Free what dead predecessors leased, and enter with the owner of this process's leases.

        ``name`` is this replica's, the same after each start; "": it has none.
        """
        return open_instance(self._db, name)

    @property
    def transactions(self) -> int:
        """Return how many write transactions were committed."""
        return self._db.transactions

    async def due(self, now: datetime) -> tuple[Topic, ...]:
        """Return the topics whose loops would claim something now."""
        return await self._db.read(lambda conn: read_due(conn, now))

    async def commit(
        self, plan: Plan, now: datetime, *, done: Lease | None, note: str = ""
    ) -> bool:
        """Write a plan and mark its delivery done, in one transaction.

        Returns False if nothing was written: the lease is lost, or the pull request that the plan
        was decided on has another head. ``done`` None: the plan is not from a delivery.
        """

        async def work(conn: DbConnection) -> bool:
            if plan.basis is not None and not await is_head(conn, plan.basis):
                return False
            if done is not None and not await finish_delivery(conn, done, note):
                return False
            await write_plan(conn, plan, now, self._new_id)
            return True

        written = await self._db.write(work)
        if written:
            self._wake.poke(*topics(plan))
        return written

    async def prune(self, before: datetime, *, limit: int) -> int:
        """Delete done deliveries, and runs with their rows, older than ``before``.

        Deletes at most ``limit`` rows of each kind, so that nobody waits long; returns how many.
        """
        return await prune_old(self._db, before, limit=limit)

    async def close(self) -> None:
        """Store what waits, then close every connection."""
        await self.deliveries.close()
        await self._db.close()


async def _nothing(_conn: DbConnection) -> None:
    """Find out whether the database can be reached."""
