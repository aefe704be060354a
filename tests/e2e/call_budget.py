"""What a pull request costs GitHub's quota besides progress and list polls, call by call."""

from collections import Counter

from bot.sim.deliveries import Delivery
from bot.sim.server import Seen
from tests.e2e.world import World

CHECK = "/repos/{owner}/{repo}/check-runs/{check_run_id}"
LISTS = (
    "/repos/{owner}/{repo}/actions/runs",
    "/repos/{owner}/{repo}/pulls",
    "/app/hook/deliveries",
    "/repos/{owner}/{repo}",  # what the repository is called now
    "/repos/{owner}/{repo}/installation",  # of the installing, which is told again
)


class Budget:
    """Counts from now on; progress is a PATCH that leaves a check run `in_progress`."""

    def __init__(self, world: World) -> None:
        self.progress = 0
        self._calls = world.github.calls
        self._validator = world.validator
        self._calls.clear()
        world.github.validate(self)

    def call(self, seen: Seen) -> list[str]:
        """See a call on its way to the validator."""
        is_patch = (seen.method, seen.route) == ("PATCH", CHECK)
        self.progress += is_patch and dict(seen.body).get("status") == "in_progress"
        return self._validator.call(seen)

    def webhook(self, delivery: Delivery) -> list[str]:
        """Let a webhook through to the validator."""
        return self._validator.webhook(delivery)

    def table(self) -> Counter[str]:
        """Return how often each call was made, without list polls and without progress."""
        found = self._calls.by_route()
        for route in LISTS:
            found.pop(f"GET {route}", None)
        found[f"PATCH {CHECK}"] -= self.progress
        return found

    def assert_at_most(self, budget: int) -> None:
        """Fail with the table of calls when there were more."""
        table = self.table()
        assert table.total() <= budget, dict(table)
