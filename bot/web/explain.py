"""The explanation of a pull request as JSON, the same as `/ascend-e2e explain`."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from bot.core.explain import explaining
from bot.core.model.runs import Run, State
from bot.core.model.selections import StoredSelection
from bot.core.planning.attempts import latest_runs
from bot.core.policy.models import Policy
from bot.store import Store
from bot.store.pulls import PullStory
from bot.web import answers
from bot.web.guard import refuse

PULL = r"{owner:[\w.-]{1,100}}/{name:[\w.-]{1,100}}/{number:[0-9]{1,9}}"


# Returns the policy in a text, None if it has errors; the second text says what it is read for.
Check = Callable[[bytes, str], Awaitable[Policy | None]]


class ExplainApi:
    """The handler for one pull request's explanation."""

    def __init__(self, store: Store, check: Check, default: bytes | None) -> None:
        """Set it up; ``default`` is the server's policy for repositories without one."""
        self._store = store
        self._check = check
        self._default = default

    async def get(self, request: web.Request) -> web.Response:
        """Answer which suites the head's files select, who may start them, and their runs."""
        info = request.match_info
        full_name = f"{info['owner']}/{info['name']}"
        told = await self._store.pulls.story(full_name, int(info["number"]))
        if told is None:
            return refuse(404, "this pull request is not known here")
        return web.json_response(self._told(told, await self._policy(told)))

    def _told(self, told: PullStory, policy: Policy | None) -> dict[str, Any]:
        pull = told.pull
        return {
            "repo": told.repo.full_name,
            "pr": pull.number,
            "head_sha": pull.head_sha,
            "open": pull.open,
            "draft": pull.draft,
            **_selection(told.selection),
            "suites": self._suites(told, policy),
        }

    def _suites(self, told: PullStory, policy: Policy | None) -> list[dict[str, Any]]:
        if policy is None or told.selection is None:
            return []
        runs = latest_runs(told.runs)
        chosen = explaining.explain(policy, told.selection.data.selection)
        return [{**explaining.to_json(item), **_stands(runs.get(item.suite))} for item in chosen]

    async def _policy(self, told: PullStory) -> Policy | None:
        text = told.policy.encode() if told.policy is not None else self._default
        return await self._check(text, "explain") if text is not None else None


def _selection(stored: StoredSelection | None) -> dict[str, Any]:
    """Return what was known of the head when its suites were selected; all null before that."""
    if stored is None:
        return dict.fromkeys(("policy", "mode", "trusted", "trust_reason", "changed_files"))
    details = stored.data
    return {
        "policy": {"ref": details.policy_ref, "sha": stored.policy_sha},
        "mode": details.mode.value,
        "trusted": details.trusted,
        "trust_reason": details.trust_reason,
        "changed_files": details.changed_files,
    }


def _stands(run: Run | None) -> dict[str, Any]:
    """Return the latest attempt, and the reason why it waits."""
    if run is None:
        return {"run": None, "waits_for": None}
    waits = None
    if run.state is not State.DONE:
        place = run.queue_position
        waits = run.why or (f"{place.resource}, {place.ahead} ahead" if place else None)
    shown = {
        "id": run.id,
        "attempt": run.attempt,
        "state": run.state.value,
        "outcome": run.outcome.value if run.outcome else None,
        "starts_at": answers.iso(run.queue_position.start_at) if run.queue_position else None,
    }
    return {"run": shown, "waits_for": waits}
