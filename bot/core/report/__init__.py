"""Makes of rows what GitHub shows: pure functions from views to whole check runs and replies."""

from bot.core.report.context import Context
from bot.core.report.gate import gate_check
from bot.core.report.policy_change import policy_check, render_policy_check
from bot.core.report.reply import reply_body, reply_marker
from bot.core.report.standing import GateState, gate_state
from bot.core.report.suite import suite_check

__all__ = [
    "Context",
    "GateState",
    "gate_check",
    "gate_state",
    "policy_check",
    "render_policy_check",
    "reply_body",
    "reply_marker",
    "suite_check",
]
