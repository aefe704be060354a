"""The log digester: read bytes, find the root cause, and judge whether a retry helps."""

from bot.core.digest.digester import Digester
from bot.core.digest.model import Annotation, Digest, Frame, Progress, choose, worse
from bot.core.digest.signatures import Signature, Signatures, load_signatures

__all__ = [
    "Annotation",
    "Digest",
    "Digester",
    "Frame",
    "Progress",
    "Signature",
    "Signatures",
    "choose",
    "load_signatures",
    "worse",
]
