"""The signed addresses of plots.

GitHub's proxy fetches an image without credentials. So the address is the key: only who was shown
it, or knows the secret, can make it.
"""

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bot.core.model.ids import RunId

_SIGNATURE_CHARS = 32  # 128 bits
_OWN_ENDS = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True)
class PlotLinks:
    """Signs the addresses of plots; during a rotation of the secret the older one holds, too."""

    public_url: str
    secrets: tuple[bytes, ...] = field(repr=False)

    def address(self, run_id: RunId) -> str:
        """Return the address of a run's plot: the same at each look."""
        return f"{self.public_url}/plots/{run_id}-{_signature(self.secrets[0], run_id)}.png"

    def is_signed(self, run_id: RunId, signature: str) -> bool:
        """Return True if the signature is of this run."""
        given = signature.encode()
        signed = (_signature(secret, run_id).encode() for secret in self.secrets)
        return any(hmac.compare_digest(given, one) for one in signed)


def _signature(secret: bytes, run_id: RunId) -> str:
    made = hmac.new(secret, f"plot:{run_id}".encode(), hashlib.sha256)
    return made.hexdigest()[:_SIGNATURE_CHARS]


def is_reachable(url: str) -> bool:
    """Return True for an https address that GitHub can fetch from: not of this machine or net."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or parts.username is not None:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_OWN_ENDS)
