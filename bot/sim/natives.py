"""Starts what GitHub starts by itself for an activity of a pull request."""

from typing import TYPE_CHECKING

from bot.sim.merging import merge_of
from bot.sim.model import Pull, Run
from bot.sim.triggers import EVENTS, is_skipped, starts
from bot.sim.workflow import FOLDER, parse

if TYPE_CHECKING:
    from bot.sim.simulation import Simulation


def start_natives(
    github: "Simulation", pull: Pull, action: str = "synchronize", *, held: bool = False
) -> list[Run]:
    """Start the workflows that an activity starts; ``held``: their author is new here.

    `pull_request` runs the workflow of the merge, and nothing if there are conflicts, or if the
    head commit asks for that. `pull_request_target` runs that of the base.
    """
    git, state = pull.repo.git, github.state
    merge = merge_of(pull, state.clock.now())
    if is_skipped(git.info(pull.head_sha).message):
        merge = None
    files = [
        (one.path, one.previous) if one.previous and one.status == "renamed" else (one.path,)
        for one in git.changes(pull.base_sha, pull.head_sha)
    ]
    base = git.tip(pull.repo.branch_ref(pull.base_ref)) or pull.base_sha
    made = []
    for event, at in zip(EVENTS, (merge, base), strict=True):
        for path in git.listing(at, FOLDER) if at else ():
            file = parse((git.read(at or "", path) or b"").decode("utf-8", "replace"))
            known = state.workflows.get((pull.repo.id, path))
            active = known is None or known.state == "active"
            asked = event in file.triggers
            if active and asked and starts(file.triggers[event], action, pull.base_ref, files):
                name = path.rpartition("/")[2]
                made.append(github.actions.native(pull, name, held=held, event=event))
    return made
