"""Logs with constant messages and fields, and metrics for Prometheus."""

import logging
import sys
from functools import partial
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from structlog.contextvars import bind_contextvars, bound_contextvars

Log = Any  # structlog's bound logger has no useful static type


# What the lines of a task name besides their own fields: which delivery or run it works for.
bind_context = bind_contextvars
bound_context = bound_contextvars


def get_log(name: str) -> Log:
    """Return the logger of a part of the service."""
    return structlog.get_logger(part=name)


def configure_logs(level: str, style: str) -> None:
    """Log to standard error from ``level`` on, as JSON or for the console (``style``)."""
    renderer: Any = (
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            repr_native_str=True,  # what others wrote must not act on a terminal
            exception_formatter=structlog.dev.plain_traceback,  # rich's would show locals: secrets
        )
        if style == "console"
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info
            if style == "json"
            else structlog.processors.StackInfoRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


class Metrics:
    """The metrics of one process; each has its own registry, so that tests share none."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.deliveries = counter(
            "ascend_ci_deliveries",
            "Webhooks received, by event and what became of them",
            ["event", "result"],
        )
        self.calls = counter(
            "ascend_ci_github_calls",
            "Calls to GitHub's API, by operation and status",
            ["operation", "status"],
        )
        self.call_seconds = histogram(
            "ascend_ci_github_call_seconds", "Duration of calls to GitHub's API", ["operation"]
        )
        self.states = counter(
            "ascend_ci_run_transitions",
            "Runs that changed state, by new state and outcome",
            ["state", "outcome"],
        )
        self.runs = gauge("ascend_ci_runs", "Open runs, by state", ["state"])
        self.leftovers = counter(
            "ascend_ci_leftovers",
            "Runs that ended while their RayJobs could not be deleted: they may hold NPUs",
        )
        self.contested = counter(
            "ascend_ci_rayjobs_contested",
            "RayJobs that two runs name while the submitter keeps no record: one of them lies",
        )
        self.offline = gauge(
            "ascend_ci_label_offline",
            "Runner labels that look offline: runs wait and no job started; value in seconds",
            ["repo_id", "label"],  # no name: a repository may be private
        )
        self.other_accounts = counter(
            "ascend_ci_other_accounts",
            "Refusals of a login of the policy's trust.users that another account has now",
        )
        self.loop_errors = counter(
            "ascend_ci_loop_errors", "Steps of a loop that raised, by loop", ["loop"]
        )
        self.waiting = gauge(
            "ascend_ci_waiting",
            "Rows that wait: deliveries, parked deliveries, check runs behind or refused",
            ["what"],
        )

    def called(self, operation: str, status: int, seconds: float) -> None:
        """Count a call to GitHub; status 0 if no answer came."""
        self.calls.labels(operation, str(status)).inc()
        self.call_seconds.labels(operation).observe(seconds)
