"""Plans about several runs are one plan."""

from bot.core.model.ids import RunId
from bot.core.model.views import GateDue
from bot.core.planning.plan import Plan, RepublishCheck, joined
from tests.core.building import REPO, RUN, SHA, started

GATE = GateDue(REPO, SHA, 5)


def test_plans_are_joined_in_their_order_and_a_gate_is_due_once() -> None:
    told = RepublishCheck(REPO, SHA, RunId("1"), "why")
    one = Plan(new_runs=((RUN, ()),), run_events=(started(),), gates=(GATE,))
    two = Plan(gates=(GATE,), republish=(told,))
    assert joined(None, [one, two]) == Plan(
        new_runs=((RUN, ()),), run_events=(started(),), gates=(GATE,), republish=(told,)
    )
