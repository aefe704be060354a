"""How a wait ends: most end by themselves, and others need somebody."""

from bot.core.messages.words import listing, sentences
from bot.core.model.runs import Run, State
from bot.core.planning.permissions import by_command
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.context import MarkdownWriter
from bot.core.report.standing import Standing, SuiteState
from bot.core.report.words import reason
from bot.core.runs.not_started import is_not_started

_WAITS = {
    "submitter_silent": "wait_submitter",
    "submitter_down": "wait_submitter",
    "submitter_fails": "wait_submitter",
    "submitter_refuses": "wait_token",
    "waits_dispatch": "wait_github",
    "waits_failing": "wait_github",
    "waits_paused": "wait_pause",
    "waits_per_pull": "wait_per_pull",
    "waits_pool_small": "wait_pool",
    "waits_until": "wait_hours",
    "waits_hours": "wait_hours",
    "waits_no_hours": "wait_no_hours",
    "waits_offline": "wait_offline",
    "rayjob_end_unknown": "wait_end",
    "rayjob_not_confirmed": "wait_end",
    "github_refuses": "wait_github",
    "waits_approval_github": "wait_approval_github",
    "unstarted_conflict": "wait_conflict",
    "unstarted_skip": "wait_skip",
    "unstarted_disabled": "wait_disabled",
    "unstarted_inactive": "wait_disabled",
    "unstarted_refused": "wait_refused",
    "unstarted_unknown": "wait_unstarted",
}
_QUEUED = {"wait_submitter": "wait_submitter_start"}  # nothing of it runs yet
# A command of a maintainer overrides these limits.
_LIMITS = frozenset({"wait_per_pull", "wait_hours", "wait_no_hours"})


def wait_how(writer: MarkdownWriter, run: Run) -> str:
    """Return how a run's wait ends, "" if there is no more to say than that it waits."""
    if run.state is State.NEEDS_APPROVAL:
        command = writer.command("approve", sha=run.sha)
        return writer.text("wait_approval", gate=writer.code(writer.ctx.gate), command=command)
    key = _WAITS.get(reason(run).key)
    if key is None or run.state in {State.CANCELLING, State.FINISHING, State.DONE}:
        return ""
    if run.state is State.QUEUED:
        key = _QUEUED.get(key, key)
    path, actions = writer.code(POLICY_PATH), writer.actions(run)
    said = writer.text(key, path=path, actions=actions)
    return sentences(said, _force(writer, run)) if key in _LIMITS else said


def _force(writer: MarkdownWriter, run: Run) -> str:
    """Return the command that overrides the limits, "" where no command starts the suite."""
    if run.number is None or not by_command(run.snapshot.suite):
        return ""
    command = writer.start(run.suite, "--force", sha=run.sha)
    return writer.text("wait_force", command=command)


def gate_wait(writer: MarkdownWriter, stand: Standing) -> str:
    """Return how the wait of a commit's suites ends, if it ends for all in the same way.

    Beside suites that do not wait, the one that does is named.
    """
    waits = [line.run for line in stand.required if line.stand is SuiteState.OPEN and line.run]
    approved = State.NEEDS_APPROVAL  # or the suite would not be open
    told = [(run, wait_how(writer, run)) for run in waits if run.state is not approved]
    found = {said: run for run, said in told if said}
    if len(found) != 1:
        return ""
    said, run = found.popitem()
    alone = len([said for _, said in told if said]) == 1 and len(stand.required) > 1
    return writer.text("wait_of", suite=writer.code(run.suite), said=said) if alone else said


def github_todo(writer: MarkdownWriter, stand: Standing) -> str:
    """Return what somebody has to do on GitHub, so that suites start or go on."""
    runs = [line.run for line in stand.at(SuiteState.GITHUB) if line.run]
    todo = dict.fromkeys(wait_how(writer, run) for run in runs if is_not_started(run))
    urls = {run.actions_url for run in runs if not is_not_started(run)}
    links = [link for url in sorted(urls) if (link := writer.link("link_actions", url))]
    approve = writer.text("gate_github_why", links=listing(links, limit=20)) if urls else ""
    return sentences(*todo, approve)
