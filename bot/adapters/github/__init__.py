"""GitHub, as the services see it: named calls with values, limits and faults kept in here."""

from bot.adapters.github.client import GitHubClient
from bot.adapters.github.wire import OnCall

__all__ = ["GitHubClient", "OnCall"]
