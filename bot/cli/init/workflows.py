"""Read the workflows of a checkout and make a policy from them."""

from bot.cli.init.checkout import Checkout, RefusedError
from bot.core.workflows import Missed, SourceFile, Transfer, Workflow, transfer

FOLDER = ".github/workflows"

# No repository has more of its own; a policy has at most 200 suites.
MAX_FILES = 500


def policy_from_workflows(checkout: Checkout) -> Transfer:
    """Return the policy from the checkout's workflows; note refused files as missed."""
    sources, refused = sources_of(checkout)
    made = transfer(sources)
    unread = [Workflow(one.file, None, "cannot be read") for one in refused]
    workflows = sorted([*made.workflows, *unread], key=lambda one: one.file)
    return Transfer(made.policy, tuple(workflows), (*refused, *made.missed))


def sources_of(checkout: Checkout) -> tuple[list[SourceFile], list[Missed]]:
    """Return the checkout's workflows in the order of their names, and the refused files."""
    sources: list[SourceFile] = []
    refused: list[Missed] = []
    for path in _paths(checkout, refused):
        try:
            raw = checkout.read(path)
        except RefusedError as error:
            refused.append(Missed(path, 1, str(error)))
            continue
        if raw is not None:
            sources.append(SourceFile(path, raw))
    return sources, refused


def _paths(checkout: Checkout, refused: list[Missed]) -> list[str]:
    """Return the workflow files in the order of their names, up to the limit."""
    try:
        names = checkout.names(FOLDER)
    except RefusedError as error:
        refused.append(Missed(FOLDER, 1, str(error)))
        return []
    paths = [f"{FOLDER}/{name}" for name in names if name.endswith((".yml", ".yaml"))]
    reason = f"more than {MAX_FILES} workflows: not looked at"
    refused.extend(Missed(path, 1, reason) for path in paths[MAX_FILES:])
    return paths[:MAX_FILES]
