"""A wake that remembers which topics were poked."""

from bot.ports.wake import Topic
from bot.store.wake import LocalWake


class RecordingWake(LocalWake):
    """Remembers every poke."""

    def __init__(self) -> None:
        super().__init__()
        self._poked: list[Topic] = []

    def poke(self, *topics: Topic) -> None:
        """Remember the topics and wake their loops."""
        self._poked += topics
        super().poke(*topics)

    def topics(self) -> list[Topic]:
        """Return the topics poked since the last look, sorted."""
        poked, self._poked = sorted(set(self._poked)), []
        return poked
