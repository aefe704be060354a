"""Simplified Chinese, in the terms of Ascend's own documents.

Write no space where a field meets a Chinese character: it is added if the field needs it.
"""

from bot.core.messages.zh.advice import ADVICE
from bot.core.messages.zh.environment import ENVIRONMENT
from bot.core.messages.zh.policy import POLICY
from bot.core.messages.zh.quarantine import QUARANTINE
from bot.core.messages.zh.reasons import REASONS
from bot.core.messages.zh.replies import REPLIES
from bot.core.messages.zh.reports import REPORTS
from bot.core.messages.zh.sign_hints import HINTS
from bot.core.messages.zh.sign_titles import TITLES
from bot.core.messages.zh.words import WORDS

ZH = {**WORDS, **REPORTS, **ADVICE, **REPLIES, **REASONS, **POLICY, **QUARANTINE, **ENVIRONMENT}
SIGNS = {**TITLES, **HINTS}
