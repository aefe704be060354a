"""The inputs that a dispatch sends, and the reason if GitHub refuses it."""

from bot.core.github.answers import in_words
from bot.core.messages import Message
from bot.core.model.runs import Run

_REFUSED = (
    ("No ref found", "refused_no_branch"),
    ("workflow_dispatch", "refused_no_trigger"),
    ("nexpected inputs", "refused_inputs"),
    ("disabled", "refused_disabled"),
)
_MAY_PASS = frozenset({"refused_no_workflow", "refused_permission", "refused_other"})


def inputs_of(run: Run, label: str) -> dict[str, str]:
    """Return the inputs of a workflow. GitHub accepts only strings."""
    assert run.dispatch_id is not None  # it was stored before
    pull = "" if run.number is None else str(run.number)
    places = {"{sha}": run.sha, "{pr}": pull, "{runner}": label, "{run}": run.id}
    own = {name: _fill(value, places) for name, value in run.snapshot.suite.inputs.items()}
    return {
        **own,
        "ascend_ci": run.dispatch_id,
        "sha": run.sha,
        "pr": pull,
        "runner": label,
        "timeout_minutes": str(run.snapshot.suite.timeout_minutes),
    }


def _fill(value: str, places: dict[str, str]) -> str:
    for place, text in places.items():
        value = value.replace(place, text)
    return value


def refusal(run: Run, status: int | None, message: str) -> Message:
    """Return why GitHub did not start the workflow, and what to do."""
    workflow, ref = run.snapshot.suite.workflow, run.snapshot.ref
    if run.snapshot.native:
        why = Message("refused_again", workflow=workflow)
    else:
        why = Message(_refused(status, message), workflow=workflow, ref=ref)
    return Message("github_said", why=why, said=in_words(message) or str(status))


def may_pass(status: int | None, message: str) -> bool:
    """Return True if GitHub may take the same dispatch soon: no reason is named that stays."""
    return _refused(status, message) in _MAY_PASS


def _refused(status: int | None, message: str) -> str:
    """Return the sentence for an answer; GitHub gives 422 for several reasons."""
    if status == 404:
        return "refused_no_workflow"
    if status == 403:
        return "refused_permission"
    found = (key for part, key in _REFUSED if status == 422 and part in message)
    return next(found, "refused_other")
