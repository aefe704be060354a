"""Every verb, in the order in which `help` lists them."""

from bot.core.commands.approve import APPROVE
from bot.core.commands.cancel import CANCEL
from bot.core.commands.explain import EXPLAIN
from bot.core.commands.help import HELP
from bot.core.commands.rerun import RERUN
from bot.core.commands.run import RUN
from bot.core.commands.status import STATUS

VERBS = (RUN, RERUN, CANCEL, APPROVE, EXPLAIN, STATUS, HELP)
USAGES = {verb.name: verb.usage for verb in VERBS}
"""How each verb is typed, by its name."""
