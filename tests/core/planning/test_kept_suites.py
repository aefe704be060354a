"""Without trust nobody takes a suite out of the gate by a change of its workflow."""

from dataclasses import replace

from bot.core.planning.attempts import AttemptMaker
from bot.core.planning.pull_request import ExistingRuns, plan_head, stored_selection
from bot.core.policy.selection import select
from tests.core.building import at
from tests.core.planning.heads import NO, OWN, POLICY, YES, evaluation

NOTHING = ExistingRuns((), ())
MAKER = AttemptMaker(at(), lambda: "new")


def test_a_suite_that_an_untrusted_head_takes_out_of_its_workflow_stays_in_the_gate() -> None:
    own = select(POLICY, OWN).choice("own")
    assert own is not None
    stranger = replace(evaluation(), trust=NO, kept=(own,))
    suites = {item.choice.suite: item for item in stored_selection(stranger).data.suites}
    assert suites["own"].choice.selected
    assert not [
        run for run, _ in plan_head(stranger, NOTHING, MAKER).new_runs if run.suite == "own"
    ]
    trusted = stored_selection(replace(stranger, trust=YES)).data.suites
    assert not {item.choice.suite: item for item in trusted}["own"].choice.selected
