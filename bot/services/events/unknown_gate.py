"""A gate for a commit that can't be judged yet: it says what is not known, and why."""

from dataclasses import replace

from bot.core.github.answers import in_words
from bot.core.messages import Message
from bot.core.model.repos import Repo
from bot.core.model.views import GateDue, waits_its_turn
from bot.core.planning.plan import Plan
from bot.ports.errors import DatabaseTrouble, Permanent, Transient
from bot.ports.wake import Topic
from bot.services.workers import Service


class UnknownGate(Service):
    """Shows a gate while what it needs is missing: GitHub's answers, or somebody's turn."""

    async def show(self, repo: Repo, gate: GateDue, error: Transient | Permanent) -> None:
        """Open the gate of a commit, if the repository is known to have a policy."""
        if not isinstance(error, DatabaseTrouble):
            await self._open(repo, gate, Message("gate_unanswered", error=in_words(str(error))))

    async def show_waiting(self, repo: Repo, gate: GateDue) -> None:
        """Open the gate of a commit that a pull request got, or its base, and that has to wait."""
        await self._open(repo, gate, waits_its_turn(gate.number))

    async def _open(self, repo: Repo, gate: GateDue, why: Message) -> None:
        name = await self._policies.gate_name(repo)
        if name is None:
            return
        plan = Plan(repo=repo, gates=(replace(gate, name=name, unknown=why),))
        await self._store.commit(plan, self._clock.now(), done=None)
        self._wake.poke(Topic.REPORTER)
