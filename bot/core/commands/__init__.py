"""Commands in comments: `/ascend-e2e …` at the start of a line."""

from bot.core.commands.parser import MAX_COMMANDS, VERBS, help_text, parse
from bot.core.commands.types import (
    Approve,
    Cancel,
    Command,
    Explain,
    Help,
    Mistake,
    Rerun,
    Run,
    Status,
)

__all__ = [
    "MAX_COMMANDS",
    "VERBS",
    "Approve",
    "Cancel",
    "Command",
    "Explain",
    "Help",
    "Mistake",
    "Rerun",
    "Run",
    "Status",
    "help_text",
    "parse",
]
