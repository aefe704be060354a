"""The GitHub adapter: named calls with typed values; it hides limits, retries and odd answers."""

from typing import TYPE_CHECKING

from bot.adapters.github.actions import Actions
from bot.adapters.github.checks import Checks
from bot.adapters.github.comments import Comments
from bot.adapters.github.deliveries import Deliveries
from bot.adapters.github.people import People
from bot.adapters.github.pulls import Pulls
from bot.ports.github import GitHub


class GitHubClient(Pulls, People, Checks, Actions, Comments, Deliveries):
    """All named calls of ``bot.ports.github.GitHub``; lives as long as its session."""


if TYPE_CHECKING:

    def _fits(client: GitHubClient) -> GitHub:
        """Let the type checker compare the port and the client."""
        return client
