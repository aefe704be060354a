"""The inputs that a dispatch sends, and the reason if GitHub refuses it."""

from bot.core.model.runs import Run

WHY_NOT_AGAIN = "its run is older than 30 days, ran 50 times, is going, or was deleted"


def inputs_of(run: Run, label: str) -> dict[str, str]:
    """Return the inputs of a workflow. GitHub accepts only strings."""
    pull = "" if run.number is None else str(run.number)
    places = {"{sha}": run.sha, "{pr}": pull, "{runner}": label, "{run}": run.id}
    own = {name: _fill(value, places) for name, value in run.snapshot.suite.inputs.items()}
    return {
        **own,
        "ascend_ci": run.id,
        "sha": run.sha,
        "pr": pull,
        "runner": label,
        "timeout_minutes": str(run.snapshot.suite.timeout_minutes),
    }


def _fill(value: str, places: dict[str, str]) -> str:
    for place, text in places.items():
        value = value.replace(place, text)
    return value


def refusal(run: Run, status: int | None, message: str) -> str:
    """Return why GitHub did not start the workflow, and what a maintainer can do."""
    workflow, ref = run.snapshot.suite.workflow, run.snapshot.ref
    said = f"GitHub said: {message.strip() or status}"
    if run.snapshot.native:
        return f"GitHub does not run `{workflow}` again: {WHY_NOT_AGAIN}. {said}"
    if status == 404:
        return (
            f"GitHub knows no workflow `{workflow}`: the file must lie in `.github/workflows/` on"
            f" the default branch, and the app needs Actions: write. {said}"
        )
    if status == 422 and "No ref found" in message:
        return f"the branch `{ref}` is not there to dispatch `{workflow}` on. {said}"
    if status == 422 and "workflow_dispatch" in message:
        return (
            f"`{workflow}` on `{ref}` can't be dispatched: add `workflow_dispatch` to its `on:`."
            f" {said}"
        )
    if status == 422 and "nexpected inputs" in message:
        return f"`{workflow}` on `{ref}` does not declare an input the policy sends. {said}"
    if status == 422 and "disabled" in message:
        return f"`{workflow}` is disabled: enable it in the Actions tab. {said}"
    if status == 403:
        return f"the app may not dispatch `{workflow}`: it needs Actions: write. {said}"
    return f"GitHub refused to start `{workflow}` on `{ref}`. {said}"
