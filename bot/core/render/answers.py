"""What `explain` answers: each suite, whether it was selected, by what, for whom, at what cost."""

from bot.core.fencing import code, plain, prose, table
from bot.core.planner import Chosen, may_start, short, starts_by_itself
from bot.core.policy import Policy, Trigger
from bot.core.starting import level_for

HEAD = ("suite", "selected", "why", "starts", "needs", "at most")


def explained(chosen: Chosen, names: tuple[str, ...]) -> str:
    """Return the table of a commit's suites (``names`` none: all), and who may start what."""
    policy = chosen.at.policy
    shown = [item for item in chosen.selection.choices if not names or item.suite in names]
    rows = [
        (
            code(item.suite),
            "yes" if item.selected else "no",
            prose(item.reason),
            _starts(chosen, item.suite),
            _needs(policy, item.suite),
            _cost(policy, item.suite),
        )
        for item in shown
    ]
    trust = "trusted" if chosen.trust.trusted else "not trusted"
    first = f"{code(short(chosen.pull.head_sha))} is {trust}: {prose(chosen.trust.why)}."
    return f"{first}\n\n{table(HEAD, rows)}"


def _starts(chosen: Chosen, name: str) -> str:
    suite = chosen.at.policy.suites[name]
    if Trigger.PULL_REQUEST not in suite.triggers or not starts_by_itself(suite):
        return "by command"
    return "by itself" if may_start(chosen) else "after an approval"


def _needs(policy: Policy, name: str) -> str:
    return plain(level_for(policy.trust, policy.suites[name]).value)


def _cost(policy: Policy, name: str) -> str:
    suite = policy.suites[name]
    label = suite.runners[0]
    hours = suite.npu_hours_on(label, policy)
    return f"{hours:g} NPU-hours on {code(suite.pool or label)}"
