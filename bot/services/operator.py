"""Operators' commands on runs and resources. They work on rows, beside a running service."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bot.core.messages import Message
from bot.core.model.ids import RunId
from bot.core.model.people import Account
from bot.core.model.queue import label_resource
from bot.core.model.runs import Claimant, Run, State, StopReason, StopRequest
from bot.core.model.views import GateDue
from bot.core.planning.attempts import AttemptMaker, audit_of, next_attempt
from bot.core.planning.commits import claim_again
from bot.core.planning.plan import AuditEntry, Plan
from bot.core.planning.pull_request import pr_source
from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.queue.state import Pause
from bot.ports.clock import Clock
from bot.store import Store
from bot.store.run_reads import RunQuery, RunStory

RULE = "operator"  # in the audit: a person with access to the database may do this
MIN_ID = 4  # characters of an id: fewer name a run by accident
ALL = "all"
_NAMED = 5  # ids that a refusal lists
_ATTEMPTS = 200  # of all suites on one commit


@dataclass(frozen=True, slots=True)
class No:
    """The reason why nothing was done."""

    why: str


@dataclass(frozen=True, slots=True)
class Retried:
    """The new attempt and its claimants."""

    run_id: RunId
    attempt: int
    suite: str
    sources: tuple[str, ...]


class Operator:
    """Carries out the commands of one operator."""

    def __init__(self, store: Store, clock: Clock, new_id: Callable[[], str], who: str) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._who = who

    async def find(self, word: str) -> RunStory | No:
        """Return the run whose id begins with a word, with its story."""
        start = word.upper()
        if len(start) < MIN_ID:
            return No(f"{word!r} is too short: name a run by {MIN_ID} characters of its id or more")
        ids = await self._store.runs.ids_from(start, limit=_NAMED + 1)
        if not ids:
            return No(f"there is no run {word}, or no longer")
        if len(ids) > 1 and start not in ids:
            more = " and more" if len(ids) > _NAMED else ""
            return No(f"{word} begins several ids: {', '.join(ids[:_NAMED])}{more}")
        story = await self._store.runs.story(RunId(start) if start in ids else ids[0])
        return story or No(f"there is no run {word}, or no longer")

    async def cancel(self, word: str, reason: str) -> Run | No:
        """Request that a run stops, as a person's command does; return the run."""
        story = await self.find(word)
        if isinstance(story, No):
            return story
        run = story.run
        refusal = _not_to_cancel(run)
        if refusal:
            return refusal
        now = self._clock.now()
        stop_request = StopRequest(
            StopReason.CANCEL, self._who, Message("cancelled_for", by=self._who, reason=reason), now
        )
        entry = self._entry(f"cancel {run.suite} ({run.id}): {reason}", run)
        changes = Plan(stop_requests=((run.id, stop_request),), audit=(entry,))
        await self._store.commit(changes, now, done=None)
        after = await self._store.runs.story(run.id)
        if after is None or after.run.stop_request != stop_request:
            return No(f"{run.id} ({run.suite}) has ended in the meantime")
        return after.run

    async def retry(self, word: str) -> Retried | No:
        """Start the suite of an ended run again at its commit, with the same snapshot.

        A native suite continues its Actions run.
        """
        story = await self.find(word)
        if isinstance(story, No):
            return story
        run = story.run
        if story.repo is None or not story.repo.active:
            return No("the app is not installed in this repository, or no longer")
        latest = await self._latest(run)
        if latest.state is not State.DONE:
            return No(f"attempt {latest.attempt} of {run.suite} is not done: {latest.id}")
        if run.snapshot.native and latest.actions_run_id is None:
            return No(f"GitHub starts {run.suite} by itself, and has not at this commit")
        kept = [item for item in story.claimants if await self._still_holds(item, run)]
        again_id = self._new_id()
        pin = Claimant(run.id, f"pin:operator-{again_id}")
        request = replace(
            next_attempt(run, Message("origin_operator", who=self._who)),
            claims=tuple(
                claim_again(claimant, Account(0, self._who)) for claimant in kept or [pin]
            ),
            before=latest,
            continues=latest if run.snapshot.native else None,
        )
        again, claimants = AttemptMaker(self._clock.now(), lambda: again_id).make(request)
        sources = tuple(claimant.source for claimant in claimants)
        entry = self._entry(f"retry {run.suite} ({run.id}) as attempt {again.attempt}", run)
        changes = Plan(
            new_runs=((again, claimants),), gates=await self._gates(again, sources), audit=(entry,)
        )
        await self._store.commit(changes, again.created_at, done=None)
        return Retried(again.id, again.attempt, again.suite, sources)

    async def _latest(self, run: Run) -> Run:
        """Return the latest attempt of the suite at the commit of a run."""
        query = RunQuery(repo=str(run.repo_id), sha=run.sha, limit=_ATTEMPTS)
        found = [item.run for item in await self._store.runs.search(query)]
        same = [item for item in found if item.suite == run.suite]
        return max(same, key=lambda item: item.attempt, default=run)

    async def _still_holds(self, claimant: Claimant, run: Run) -> bool:
        """Return True unless it is a pull request that is closed or has another head by now."""
        number = claimant.number
        if number is None or claimant.source != pr_source(number):
            return True
        pull = await self._store.pulls.get(run.repo_id, number)
        return pull is not None and pull.open and pull.head_sha == run.sha

    async def _gates(self, run: Run, sources: tuple[str, ...]) -> tuple[GateDue, ...]:
        """Return the gate of the pull request that the new attempt counts for."""
        if run.number is None or pr_source(run.number) not in sources:
            return ()
        chosen = await self._store.pulls.selections(run.repo_id, run.sha)
        names = [item.data.gate for item in chosen if item.data.gate]
        return tuple(GateDue(run.repo_id, run.sha, run.number, name=name) for name in names[:1])

    async def pause(self, resource: str, reason: str, until: datetime | None) -> Pause | None:
        """Pause a resource; return the pause that this one replaces."""
        now = self._clock.now()
        ends = f" until {until:%Y-%m-%dT%H:%MZ}" if until else ""
        entry = self._entry(f"pause {resource}{ends}: {reason}")
        return await self._store.pauses.start(Pause(resource, self._who, reason, until, now), entry)

    async def resume(self, resource: str) -> Pause | No:
        """Let runs start on a resource again."""
        ended = await self._store.pauses.end(resource, self._entry(f"resume {resource}"))
        return ended or No(f"{'everything' if resource == 'all' else resource} is not paused")

    async def resource(self, word: str, extra: tuple[str, ...] = ()) -> str | No:
        """Return the resource that a word names: ``label:X``, ``pool:Y``, or X if only one is X.

        ``extra`` are policies that are not in the database: the server's own.
        """
        if word.startswith("pool:"):
            return word
        label = label_resource(word.removeprefix("label:"))
        if word.startswith("label:"):
            return label
        known = await self.known(extra)
        found = [name for name in (label, f"pool:{word}") if name in known]
        if len(found) == 1:
            return found[0]
        if found:
            return No(f"{word} is a label and a pool: name {' or '.join(found)}")
        names = ", ".join(known) or "none until a repository's policy is read"
        return No(f"no label or pool {word!r} is known; known: {names}")

    async def known(self, extra: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return every resource that a policy, a recent run or a pause names."""
        known = await self._store.pauses.known_resources()
        names = {pause.resource for pause in await self._store.pauses.in_force(self._clock.now())}
        for frozen in known.snapshots:
            names |= {label_resource(label.name) for label in frozen.labels}
            names |= {f"pool:{frozen.pool.name}"} if frozen.pool else set()
        for text in {*known.policies, *extra}:
            policy = load_policy(text.encode())
            if not isinstance(policy, PolicyErrors):
                names |= set(map(label_resource, policy.runners))
                names |= {f"pool:{name}" for name in policy.pools}
        return tuple(sorted(names - {ALL}))

    def _entry(self, what: str, run: Run | None = None) -> AuditEntry:
        """Return the audit entry of a deed, on a run or on all repositories."""
        now = self._clock.now()
        if run is None:
            return AuditEntry(now, self._who, what, True, RULE)
        return audit_of(run, what, RULE, now, who=self._who)


def _not_to_cancel(run: Run) -> No | None:
    named = f"{run.id} ({run.suite})"
    if run.state is State.DONE:
        return No(f"{named} is done: {run.outcome}")
    if run.state is State.FINISHING:
        return No(f"{named} has its result already; only its log is still being read")
    if run.stop_request is not None:
        return No(f"{named} is already being stopped: {run.stop_request.reason}")
    return None
