"""Follows the Actions runs that GitHub starts by its own path filters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bot.core.github.events import WorkflowJobEvent
from bot.core.messages import Message
from bot.core.model.ids import RunId, Sha
from bot.core.model.own_jobs import OwnJob, is_own
from bot.core.model.pulls import Pull, PullAt
from bot.core.model.repos import Repo
from bot.core.model.run_events import JobChanged, NativeRunUnclear, RunEvent, Source
from bot.core.model.runs import Run
from bot.core.model.views import GateDue
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning import attempts
from bot.core.planning.commits import speaks_for
from bot.core.planning.plan import Plan, joined
from bot.core.planning.pull_request import pr_source
from bot.core.policy.models import Mode
from bot.core.runs import native
from bot.core.runs.attribution import Attribution, attribute, is_mistaken
from bot.ports.errors import Permanent, Transient
from bot.services.events.pull_reader import PullReader
from bot.services.runs.apart import ApartRuns
from bot.services.runs.workflow_files import WorkflowFiles
from bot.services.workers import Deps, Service

_SOON_S = 1.0  # when to look again for the pull request
_REMEMBERED = 1000
_MOST_ASKED = 4  # pull requests of one branch with one commit, into different bases


@dataclass(frozen=True, slots=True)
class _Base:
    """A base, the suites that follow a workflow there, and its open pull requests at a commit."""

    at: attempts.PolicyAt
    suites: tuple[str, ...]
    pulls: tuple[Pull, ...]
    quiet: tuple[int, ...] = ()  # pull requests that the workflow run is not of
    own_jobs: Mapping[str, tuple[OwnJob, ...]] = field(default_factory=dict)  # of each suite

    def has_begun(self, name: str, runs: Iterable[Run], job: str) -> bool:
        """Return True if a suite has a part in the Actions run: a job of many may have none."""
        jobs = self.at.policy.suites[name].jobs
        if job:
            return bool(jobs) and is_own(jobs, self.own_jobs.get(name, ()), job)
        return not jobs or any(map(native.is_waiting, runs))


class Natives(Service):
    """Finds the pull requests of Actions runs that the bot did not start."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(deps)
        self._reader = PullReader(deps)
        self._files = WorkflowFiles(deps)
        self._apart = ApartRuns(deps, self._files)
        self._heard: dict[int, WorkflowRun] = {}  # that webhooks told of lately, by id

    async def job_seen(self, event: WorkflowJobEvent, changed: JobChanged) -> Plan:
        """Plan the runs of suites for whose jobs no run follows this Actions run yet."""
        repo, now = event.repo, self._clock.now()
        seen = self._heard.get(event.run_id)
        if seen is None or seen.attempt != event.attempt:
            if not await self._may_be_of_suite(repo, event.labels):
                return Plan(repo=repo)
            seen = await self._github.actions_run(repo, event.run_id)
        plan = await self.seen(repo, seen, Source.WEBHOOK, event.name)
        told = (RunEvent(run.id, Source.WEBHOOK, now, changed) for run, _ in plan.new_runs)
        return replace(plan, run_events=(*plan.run_events, *told))

    async def _may_be_of_suite(self, repo: Repo, labels: tuple[str, ...]) -> bool:
        """Return True if a job on these labels may be one that a suite names."""
        policy = await self._policies.known(repo.id, repo.default_branch)
        asked = {label.casefold() for label in labels}
        suites = policy.suites.values() if policy else ()
        return any(
            suite.jobs and not asked.isdisjoint(map(str.casefold, suite.runners))
            for suite in suites
        )

    async def seen(self, repo: Repo, seen: WorkflowRun, source: Source, job: str = "") -> Plan:
        """Plan the runs that follow an Actions run which no row follows yet.

        A suite that names its jobs waits for it, or begins with the first of them: ``job`` is one
        that was told of. Raises ``Transient`` while its pull request may only be late: webhooks
        overtake each other.
        """
        if len(self._heard) >= _REMEMBERED:
            self._heard.clear()
        self._heard[seen.id] = seen
        if seen.event in native.APART:
            return await self._apart.seen(repo, seen, source, job)
        if seen.event not in native.EVENTS:
            return Plan(repo=repo)
        known = await self._store.pulls.ever_at(repo.id, seen.head_sha)
        here = [item.pull for item in known if _is_here(item, seen.head_sha)]
        bases = await self._bases(repo, seen, here)
        if not bases:
            return Plan(repo=repo)
        if not here and source is Source.WEBHOOK:
            self._wait_for_pull(seen)
        found = await self._attribute(repo, seen, known)
        at_head = await self._store.runs.at(repo.id, seen.head_sha)
        runs = [item.run for item in at_head]
        if not found.doubted:
            bases = [await self._with_jobs(repo, seen, _only(base, found)) for base in bases]
        plans = [
            self._doubt(seen, base, found, runs, source)
            if found.doubted
            else self._follow(seen, base, runs, (source, job))
            for base in bases
        ]
        return joined(repo, plans)

    async def _bases(self, repo: Repo, seen: WorkflowRun, here: list[Pull]) -> list[_Base]:
        """Return the bases with suites that follow the workflow."""
        found = []
        for ref in sorted({pull.base_ref for pull in here}) or [repo.default_branch]:
            at = await self._policies.of(repo, ref)
            if not isinstance(at, attempts.PolicyAt) or at.policy.mode is not Mode.ON:
                continue
            if names := native.native_suites(at.policy, seen.path):
                own = tuple(pull for pull in here if pull.base_ref == ref)
                found.append(_Base(at, names, own))
        return found

    async def _with_jobs(self, repo: Repo, seen: WorkflowRun, base: _Base) -> _Base:
        """Return a base with what the workflow's file says of the jobs that its suites name.

        GitHub runs the file of the head, or of the base.
        """
        named = {name: jobs for name in base.suites if (jobs := base.at.policy.suites[name].jobs)}
        if not named or not base.pulls:
            return base
        ref = base.at.base or base.at.ref
        return replace(base, own_jobs=await self._files.own_jobs(repo, seen, ref, named))

    def _wait_for_pull(self, seen: WorkflowRun) -> None:
        """Raise ``Transient`` if the pull request's webhook may still be on its way."""
        young = seen.created_at and self._clock.now() - seen.created_at < native.LATE_PULL
        if young and seen.event != "push":  # most pushes belong to no pull request
            raise Transient("no pull request with this head is known yet", retry_after_s=_SOON_S)

    async def _attribute(
        self, repo: Repo, seen: WorkflowRun, known: tuple[PullAt, ...]
    ) -> Attribution:
        """Return of which pull requests an Actions run is; if in doubt, GitHub tells their state.

        Anything that can start a run changes the time of the pull request's last change. Of a
        branch with many pull requests nobody is asked: each of their runs tells of itself three
        times, and each time would cost a request for each pull request.
        """
        found = attribute(seen, known)
        doubted = {pull.number for pull in found.doubted if pull.open}
        if len(found.doubted) < 2 or len(doubted) > _MOST_ASKED:
            return found
        asked = [
            replace(item, pull=await self._as_now(repo, item.pull), asked=True)
            if item.pull.number in doubted
            else item
            for item in known
        ]
        return attribute(seen, asked)

    async def _as_now(self, repo: Repo, pull: Pull) -> Pull:
        try:
            answer = await self._github.pull(repo, pull.number)
        except Permanent as error:
            if not error.is_gone:
                raise
            return pull
        return self._reader.newer(pull, answer).after(pull)

    def _follow(
        self, seen: WorkflowRun, base: _Base, runs: list[Run], told_by: tuple[Source, str]
    ) -> Plan:
        """Let the suites of a base follow an Actions run, if it is of a pull request there."""
        now, (source, job) = self._clock.now(), told_by
        new_runs: list[attempts.NewRun] = []
        told: list[RunEvent] = []
        for name in base.suites if base.pulls else ():
            its = [run for run in runs if run.suite == name]
            request = _request(seen, base, name)
            same = [run for run in its if speaks_for(run, request.snapshot)]
            if not native.may_adopt(seen, same) or not base.has_begun(name, same, job):
                continue
            before = attempts.latest_runs(its).get(name)
            run, claimants = self._maker().make(replace(request, before=before))
            new_runs.append((run, claimants))
            told += [
                RunEvent(run.id, source, now, what)
                for what in (
                    native.as_seen(seen, base.quiet, base.own_jobs.get(name, ())),
                    native.as_change(seen),
                )
            ]
        gates = tuple(_gate(base, seen.head_sha) for _ in new_runs[:1])
        return Plan(new_runs=tuple(new_runs), run_events=tuple(told), gates=gates)

    def _doubt(
        self, seen: WorkflowRun, base: _Base, found: Attribution, runs: list[Run], source: Source
    ) -> Plan:
        """Tell the runs that wait for this Actions run that it may be of another base."""
        if not set(found.doubted) & set(base.pulls):
            return Plan()
        frozen = {name: attempts.freeze(base.at, name, native.UNREQUESTED) for name in base.suites}
        its = [run for run in runs if run.suite in frozen and speaks_for(run, frozen[run.suite])]
        what, now = NativeRunUnclear(seen.id, found.why), self._clock.now()
        told = (RunEvent(run.id, source, now, what) for run in its if native.is_waiting(run))
        return Plan(run_events=tuple(told))

    async def judge_anew(self, repo: Repo, sha: Sha, news: PullAt | None = None) -> Plan:
        """Plan to give up the runs at a commit that follow what is not surely of their base.

        ``news`` is what was just learned of a pull request with this head.
        """
        runs, followed = await self._store.runs.natives_at(repo.id, sha)
        if not followed:
            return Plan()
        known = {item.pull.number: item for item in await self._store.pulls.ever_at(repo.id, sha)}
        if news is not None:
            known[news.pull.number] = news.after(known.get(news.pull.number))
        wrong: dict[RunId, tuple[Run, Attribution]] = {}
        for told in followed.values():
            seen = native.as_it_was(told, sha)
            then = (replace(item, was_quiet=number in told.quiet) for number, item in known.items())
            found = await self._attribute(repo, seen, tuple(then))
            for run in (item.run for item in runs):
                follows = run.actions_run_id == seen.id and not run.mistaken
                if follows and is_mistaken(run, found):
                    wrong[run.id] = (run, found)
        pulls = [item.pull for item in known.values() if _is_here(item, sha)]
        left = [item.run for item in runs if item.run.id not in wrong]
        plans = [self._await_its_own(run, found, pulls, left) for run, found in wrong.values()]
        return replace(joined(None, plans), mistaken=tuple(wrong))

    def _await_its_own(
        self, run: Run, found: Attribution, pulls: list[Pull], others: list[Run]
    ) -> Plan:
        """Let a run wait for its base's own Actions run, where a mistaken one was followed."""
        its = [pull for pull in pulls if pull.base_ref == run.snapshot.ref]
        gate = GateDue(run.repo_id, run.sha, run.number or 0)
        has_other = any(speaks_for(other, run.snapshot) for other in others)
        if has_other or not its or run.snapshot.reason == native.UNREQUESTED:
            return Plan(gates=(gate,))
        request = replace(
            attempts.next_attempt(run, Message("origin_mistaken")),
            claims=tuple(attempts.Claim(pr_source(pull.number)) for pull in its),
        )
        new, claimants = self._maker().make(request)
        now = self._clock.now()
        told: tuple[RunEvent, ...] = ()
        if found.doubted and run.actions_run_id is not None:
            unclear = NativeRunUnclear(run.actions_run_id, found.why)
            told = (RunEvent(new.id, Source.RUNNER, now, unclear),)
        return Plan(new_runs=((new, claimants),), run_events=told, gates=(gate,))


def _only(base: _Base, found: Attribution) -> _Base:
    its = tuple(pull for pull in base.pulls if pull in found.pulls)
    return replace(base, pulls=its, quiet=found.quiet)


def _is_here(item: PullAt, sha: Sha) -> bool:
    return item.pull.open and item.pull.head_sha == sha


def _gate(base: _Base, sha: Sha) -> GateDue:
    pull = base.pulls[0]
    return GateDue(pull.repo_id, sha, pull.number, name=base.at.policy.gate.name)


def _request(seen: WorkflowRun, base: _Base, name: str) -> attempts.AttemptRequest:
    """Ask for a row of its own; the store takes a row that waits already instead."""
    pull = base.pulls[0]
    return attempts.AttemptRequest(
        repo_id=pull.repo_id,
        sha=seen.head_sha,
        number=pull.number,
        snapshot=attempts.freeze(base.at, name, native.UNREQUESTED),
        origin=Message("origin_github", event=seen.event),
        claims=tuple(attempts.Claim(pr_source(item.number), auto=False) for item in base.pulls),
    )
