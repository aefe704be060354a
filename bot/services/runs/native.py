"""Follows the Actions runs that GitHub starts by its own path filters."""

from dataclasses import replace

from bot.core.messages import Message
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.model.run_events import RunEvent, Source
from bot.core.model.views import GateDue
from bot.core.model.workflow_runs import WorkflowRun
from bot.core.planning import attempts
from bot.core.planning.commits import speaks_for
from bot.core.planning.plan import Plan
from bot.core.planning.pull_request import pr_source
from bot.core.policy.models import Mode
from bot.core.runs import native
from bot.ports.errors import Transient
from bot.services.workers import Service

_SOON_S = 1.0  # when to look again for the pull request


class Natives(Service):
    """Finds the pull requests of an Actions run that the bot did not start."""

    async def seen(self, repo: Repo, seen: WorkflowRun, source: Source) -> Plan:
        """Plan the runs that follow an Actions run which no row follows yet.

        Raises ``Transient`` while its pull request may only be late: webhooks overtake each other.
        """
        if seen.event not in native.EVENTS:
            return Plan(repo=repo)
        known = await self._store.pulls.ever_at(repo.id, seen.head_sha)
        pulls = native.pulls_of(seen, known)
        base = pulls[0].base_ref if pulls else repo.default_branch
        at = await self._policies.of(repo, base)
        if not isinstance(at, attempts.PolicyAt) or at.policy.mode is not Mode.ON:
            return Plan(repo=repo)
        names = native.native_suites(at.policy, seen.path)
        if not names:
            return Plan(repo=repo)
        here = any(pull.open and pull.head_sha == seen.head_sha for pull in known)
        if not here and source is Source.WEBHOOK:
            self._wait_for_pull(seen)
        if not pulls:
            return Plan(repo=repo)
        return await self._adopt(repo, seen, (at, names, pulls), source)

    def _wait_for_pull(self, seen: WorkflowRun) -> None:
        """Raise ``Transient`` if the pull request's webhook may still be on its way."""
        young = seen.created_at and self._clock.now() - seen.created_at < native.LATE_PULL
        if young and seen.event != "push":  # most pushes belong to no pull request
            raise Transient("no pull request with this head is known yet", retry_after_s=_SOON_S)

    async def _adopt(
        self,
        repo: Repo,
        seen: WorkflowRun,
        found: tuple[attempts.PolicyAt, tuple[str, ...], tuple[Pull, ...]],
        source: Source,
    ) -> Plan:
        at, names, pulls = found
        now = self._clock.now()
        maker = attempts.AttemptMaker(now, self._new_id)
        known = [item.run for item in await self._store.runs.at(repo.id, seen.head_sha)]
        new_runs: list[attempts.NewRun] = []
        told: list[RunEvent] = []
        for name in names:
            its = [run for run in known if run.suite == name]
            request = _request(seen, at, name, pulls)
            same = [run for run in its if speaks_for(run, request.snapshot)]
            if not native.may_adopt(seen, same):
                continue
            run, claimants = maker.make(
                replace(request, before=attempts.latest_runs(its).get(name))
            )
            new_runs.append((run, claimants))
            told += [
                RunEvent(run.id, source, now, what)
                for what in (native.as_seen(seen), native.as_change(seen))
            ]
        gate = GateDue(repo.id, seen.head_sha, pulls[0].number, name=at.policy.gate.name)
        return Plan(
            repo=repo,
            new_runs=tuple(new_runs),
            run_events=tuple(told),
            gates=(gate,) if new_runs else (),
        )


def _request(
    seen: WorkflowRun, at: attempts.PolicyAt, name: str, pulls: tuple[Pull, ...]
) -> attempts.AttemptRequest:
    """Ask for a row of its own; the store takes a row that waits already instead."""
    return attempts.AttemptRequest(
        repo_id=pulls[0].repo_id,
        sha=seen.head_sha,
        number=pulls[0].number,
        snapshot=attempts.freeze(at, name, native.UNREQUESTED),
        origin=Message("origin_github", event=seen.event),
        claims=tuple(attempts.Claim(pr_source(pull.number), auto=False) for pull in pulls),
    )
