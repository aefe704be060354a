"""A wake that remembers who was poked."""

from bot.ports.wake import Topic
from bot.store.wake import LocalWake


class Pokes(LocalWake):
    """Notes every poke."""

    def __init__(self) -> None:
        super().__init__()
        self._poked: list[Topic] = []

    def poke(self, *topics: Topic) -> None:
        """Note it and wake."""
        self._poked += topics
        super().poke(*topics)

    def acquired(self) -> list[Topic]:
        """Return the topics poked since the last look, sorted."""
        poked, self._poked = sorted(set(self._poked)), []
        return poked
