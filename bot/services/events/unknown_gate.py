"""A gate for a commit that GitHub does not let us judge: it says what is not known yet."""

from dataclasses import replace

from bot.core.github.answers import in_words
from bot.core.messages import Message
from bot.core.model.repos import Repo
from bot.core.model.views import GateDue
from bot.core.planning.plan import Plan
from bot.ports.errors import DatabaseTrouble, Permanent, Transient
from bot.ports.wake import Topic
from bot.services.workers import Service


class UnknownGate(Service):
    """Shows a gate while GitHub's answers that it needs are missing."""

    async def show(self, repo: Repo, gate: GateDue, error: Transient | Permanent) -> None:
        """Open the gate of a commit, if the repository is known to have a policy."""
        name = await self._policies.gate_name(repo)
        if name is None or isinstance(error, DatabaseTrouble):
            return
        why = Message("gate_unanswered", error=in_words(str(error)))
        plan = Plan(repo=repo, gates=(replace(gate, name=name, unknown=why),))
        await self._store.commit(plan, self._clock.now(), done=None)
        self._wake.poke(Topic.REPORTER)
