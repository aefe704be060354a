"""The log digester: read bytes, find the root cause, and judge whether a retry helps."""

from bot.core.digest.digester import Digester
from bot.core.digest.signatures import Signature, Signatures, load_signatures

__all__ = [
    "Digester",
    "Signature",
    "Signatures",
    "load_signatures",
]
