"""RayJobs that a workflow announces, proven by its OIDC token.

This costs no call to GitHub. The token names the repository, the workflow and the run attempt, and
our rows tell whether we dispatched it. The RayJob's id counts once the submitter confirms it.
"""

from bot.core.model.rayjobs import unconfirmed
from bot.core.model.run_events import RayJobAnnounced, RunEvent, Source, WorkflowRunChanged
from bot.core.model.runs import Run, State
from bot.ports.oidc import Denial, Proof, Prover, Why
from bot.services.workers import Deps, Service
from bot.store.tokens import Accepted, Announced
from bot.telemetry import get_log

# A run has one RayJob, or one a node; some more for what its workflow repeats.
_BESIDE_NODES = 8


class Announcements(Service):
    """Takes announcements of RayJobs."""

    def __init__(self, deps: Deps, prover: Prover, *, submitter: bool) -> None:
        """``submitter`` is True if one is configured: then it can confirm a RayJob."""
        super().__init__(deps)
        self._prover = prover
        self._submitter = submitter
        self._log = get_log("announcements")

    async def announce(self, dispatch_id: str | None, token: str, job_id: str) -> Accepted | Denial:
        """Add a RayJob that its workflow announces; raise ``Transient`` if it can't be checked.

        Without ``dispatch_id`` GitHub has started the workflow, and its token says which run it is.
        """
        answer = await self._answer(dispatch_id, token, job_id)
        if isinstance(answer, Accepted):
            self._log.info("a RayJob was announced", dispatch=dispatch_id, new=answer.new)
        return answer

    async def _answer(self, dispatch_id: str | None, token: str, job_id: str) -> Accepted | Denial:
        proof = await self._prover.prove(token)
        if isinstance(proof, Denial):
            return proof
        if dispatch_id is None:
            run = await self._native(proof)
        else:
            run = await self._speaker(dispatch_id, proof)
        if isinstance(run, Denial):
            return run
        now = self._clock.now()
        job = unconfirmed(run.id, job_id, "announcement", submitter=self._submitter)
        # The workflow itself speaks, so a job of this attempt has begun.
        begun = WorkflowRunChanged(run.actions_attempt, "in_progress")
        told = tuple(
            RunEvent(run.id, Source.ANNOUNCEMENT, now, what)
            for what in (begun, RayJobAnnounced(job_id))
        )
        most = run.snapshot.suite.nodes + _BESIDE_NODES
        announced = Announced(job, told, proof.jti, proof.until, most)
        return await self._store.tokens.redeem(announced, now)

    async def _speaker(self, dispatch_id: str, proof: Proof) -> Run | Denial:
        """Return the run whose workflow sent the token.

        A re-run in GitHub keeps the inputs of the first run: it speaks of the id that was
        dispatched once, and its attempt says which row of ours it is.
        """
        named = await self._store.runs.of_dispatch(dispatch_id)
        if named is None:
            return _unknown
        flaw = _mismatch(named, proof)
        if flaw is not None:
            return flaw
        if proof.actions_attempt == named.actions_attempt:
            return named
        speaker = await self._store.runs.of_actions_attempt(
            named.repo_id, proof.actions_run_id, proof.actions_attempt
        )
        return speaker or _not_yet

    async def _native(self, proof: Proof) -> Run | Denial:
        """Return the run that follows the Actions run which sent the token."""
        if await self._store.repos.get(proof.repo_id) is None:
            return Denial(Why.MISMATCH, "the token is of a repository that is not known here")
        run = await self._store.runs.of_actions_attempt(
            proof.repo_id, proof.actions_run_id, proof.actions_attempt
        )
        if run is None:
            return _not_yet
        if not run.snapshot.native:
            return Denial(Why.MISMATCH, "the bot started this run: announce it with its id")
        path = f"{proof.repository}/.github/workflows/{run.snapshot.suite.workflow}@"
        if not proof.workflow_ref.startswith(path):
            return Denial(Why.MISMATCH, "the token is not of the suite's workflow")
        return run if run.snapshot.suite.rayjob else _no_rayjob


_unknown = Denial(Why.MISMATCH, "nothing was dispatched from here with this id")
_no_rayjob = Denial(Why.MISMATCH, "the policy does not say `rayjob: true` for this suite")
_over = Denial(Why.OVER, "the run ended before it was known which Actions run it is")
_not_yet = Denial(Why.NOT_YET, "this run attempt is not known here yet: ask again in a moment")


def _mismatch(run: Run, proof: Proof) -> Denial | None:
    """Return why a token is not from the run that we dispatched, None if it is."""
    path = f".github/workflows/{run.snapshot.suite.workflow}"
    ref = f"refs/heads/{run.snapshot.ref.removeprefix('refs/heads/')}"
    workflow_ref = f"{proof.repository}/{path}@{ref}"
    if proof.repo_id != run.repo_id:
        return Denial(Why.MISMATCH, "the token is of another repository")
    if proof.event != "workflow_dispatch":
        return Denial(Why.MISMATCH, "the token is of a run that nobody dispatched")
    if proof.workflow_ref != workflow_ref:
        return Denial(Why.MISMATCH, f"the token is not of the workflow {path} on {ref}")
    if not run.snapshot.suite.rayjob:
        return _no_rayjob
    if run.actions_run_id is None:
        return _over if run.state is State.DONE else _not_yet
    if proof.actions_run_id != run.actions_run_id:
        return Denial(Why.MISMATCH, "the token is of another run of this workflow")
    if proof.actions_attempt < run.actions_attempt:
        return Denial(Why.MISMATCH, "the token is of an attempt before the one dispatched")
    return None
