"""Makes of rows what GitHub shows: pure functions from views to whole check runs and replies."""

from bot.core.render.context import Context
from bot.core.render.gate import gate_check
from bot.core.render.policy import policy_check, render_policy_check
from bot.core.render.reply import reply_body, reply_marker
from bot.core.render.standing import GateState, gate_state
from bot.core.render.suite import suite_check

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
