"""What workflow events lead to: facts of runs we know, and a cancel of runs we should not have."""

import re
from datetime import datetime

from bot.core import facts
from bot.core.events import ActionsJobChanged, ActionsRunChanged
from bot.core.model import Fact, Run, State
from bot.core.plan import Changes
from bot.ports.clock import Clock
from bot.ports.github import GitHub
from bot.ports.inbox import InboxStore

_ULID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")


class Actions:
    """Turns what Actions says into facts; the run's own step decides what they mean."""

    def __init__(self, store: InboxStore, github: GitHub, clock: Clock) -> None:
        self._store = store
        self._github = github
        self._clock = clock

    async def run_changed(self, event: ActionsRunChanged) -> Changes:
        """Return what a workflow run's event leads to."""
        run = await self._store.run_of_actions(event.repo.id, event.run_id)
        if run is None:
            await self._cancel_stray(event)
            return Changes(repo=event.repo)
        if run.state is State.DONE:
            await self._cancel_late(event, run)
            return Changes(repo=event.repo)
        return Changes(repo=event.repo, facts=(run_fact("webhook", event, run, self._clock.now()),))

    async def job_changed(self, event: ActionsJobChanged) -> Changes:
        """Return what a job's event leads to."""
        run = await self._store.run_of_actions(event.repo.id, event.run_id)
        if run is None or run.state is State.DONE:
            return Changes(repo=event.repo)
        data = {
            "id": event.job_id,
            "attempt": event.attempt,
            "status": event.action,
            "conclusion": event.conclusion,
            "runner": event.runner,
            "name": event.name,
        }
        return Changes(
            repo=event.repo, facts=(facts.job("webhook", run.id, self._clock.now(), data),)
        )

    async def _cancel_stray(self, event: ActionsRunChanged) -> None:
        """Cancel a run that carries our id and is not the one we follow (RULINGS C)."""
        if event.action == "completed" or event.event != "workflow_dispatch":
            return
        for dispatch_id in _ULID.findall(event.display_title):
            run = await self._store.run_of_dispatch(dispatch_id)
            if run is None or run.repo_id != event.repo.id:
                continue
            known = run.actions_run_id
            if run.state is State.DONE or (known is not None and known != event.run_id):
                await self._github.cancel(event.repo, event.run_id)

    async def _cancel_late(self, event: ActionsRunChanged, run: Run) -> None:
        """Cancel what still runs of a run that is done here."""
        if event.action != "completed" and event.attempt == run.actions_attempt:
            await self._github.cancel(event.repo, event.run_id)


def run_fact(source: str, event: ActionsRunChanged, run: Run, now: datetime) -> Fact:
    """Return what a webhook said of a run that is ours."""
    data = {
        "attempt": event.attempt,
        "status": event.action,
        "conclusion": event.conclusion,
        "url": event.html_url,
    }
    return facts.actions(source, run.id, now, data)
