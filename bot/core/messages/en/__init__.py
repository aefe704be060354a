"""English. No exclamation marks, no emoji; a number has its unit, a refusal says what to type.

`{n} suite | {n} suites` is the form for one and the form for more.
"""

from bot.core.messages.en.advice import ADVICE
from bot.core.messages.en.environment import ENVIRONMENT
from bot.core.messages.en.policy import POLICY
from bot.core.messages.en.quarantine import QUARANTINE
from bot.core.messages.en.reasons import REASONS
from bot.core.messages.en.replies import REPLIES
from bot.core.messages.en.reports import REPORTS
from bot.core.messages.en.words import WORDS

EN = {**WORDS, **REPORTS, **ADVICE, **REPLIES, **REASONS, **POLICY, **QUARANTINE, **ENVIRONMENT}
