"""What the webhook door needs: deliveries stored before they are answered."""

from typing import Protocol

from bot.core.model.deliveries import Delivery


class HooksStore(Protocol):
    """Stores deliveries by group commit: all that wait at one moment share a transaction."""

    async def store_delivery(self, delivery: Delivery, *, ignored: str | None = None) -> bool:
        """Store it; return after the commit. False: this guid was known, nothing changed.

        ``ignored`` gives the reason when it is only kept as an id (its body is not stored).
        """
        ...
