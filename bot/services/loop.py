"""What every loop shares: who we are, and what happens when a step raises."""

from bot.telemetry import Log, Metrics


class Worker:
    """The name under which this process takes leases, and the one answer to a broken step."""

    def __init__(self, owner: str, metrics: Metrics, *, strict: bool = False) -> None:
        """``strict`` raises instead of logging: under test nothing is swallowed."""
        self.owner = owner
        self.metrics = metrics
        self.strict = strict

    def failed(self, loop: str, error: Exception, log: Log) -> None:
        """Count and log an error that nobody foresaw, with its traceback."""
        if self.strict:
            raise error
        self.metrics.loop_errors.labels(loop).inc()
        log.error("a step raised", loop=loop, exc_info=error)
