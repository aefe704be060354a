"""The GitHub adapter: named calls with typed values; it hides limits, retries and odd answers."""

from bot.adapters.github.client import GitHubClient
from bot.adapters.github.wire import OnCall

__all__ = ["GitHubClient", "OnCall"]
