"""The GitHub adapter: named calls with typed values; it hides limits, retries and odd answers."""

from typing import TYPE_CHECKING

from bot.adapters.github.actions import ActionsCalls
from bot.adapters.github.checks import CheckCalls
from bot.adapters.github.comments import CommentCalls
from bot.adapters.github.deliveries import DeliveryCalls
from bot.adapters.github.people import PeopleCalls
from bot.adapters.github.pulls import PullCalls
from bot.ports.github import GitHub


class GitHubClient(PullCalls, PeopleCalls, CheckCalls, ActionsCalls, CommentCalls, DeliveryCalls):
    """All named calls of ``bot.ports.github.GitHub``; lives as long as its session."""


if TYPE_CHECKING:

    def _fits(client: GitHubClient) -> GitHub:
        """Let the type checker compare the port and the client."""
        return client
