"""The digester of a run: the shipped signatures and those of its policy, its roots, its secrets."""

from bot.core.digest import Signature, load_signatures


class Signatures:
    """Makes digesters; the shipped signatures are parsed once."""

    def __init__(self, shipped: str) -> None:
        """``shipped`` is the text of ``config/signatures.yml``."""
        self._shipped: tuple[Signature, ...] = tuple(load_signatures(shipped))
