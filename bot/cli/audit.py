"""``ascend-ci audit``: list who decided what, on which commit, by which rule."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bot.cli.operators import options
from bot.core.model.times import FORMS, ago

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.store.audit import Audited

DELIVERY_CHARS = 8  # enough to find it on the app's page of deliveries


@click.command("audit")
@options.number
@options.repo
@click.option("--who", help="Decisions of this login or operator; ascend-ci[bot] is the bot.")
@click.option("--since", metavar="T", help=f"Decisions since this time: {FORMS}.")
@options.limit
@options.as_json
def command(
    number: int | None,
    repo: str | None,
    who: str | None,
    since: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """List decisions, newest first. They are kept for AUDIT_DAYS."""
    start = _start(since)

    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone
    from bot.store.audit import AuditQuery  # noqa: PLC0415
    from bot.web.answers import audit_json  # noqa: PLC0415

    query = AuditQuery(repo=repo, number=number, who=who, since=start, limit=limit)
    found, now = operate(lambda session: session.with_time(session.store.audit.search(query)))
    if as_json:
        print_json({"audit": [audit_json(item) for item in found]})
    else:
        _print(found, now)


def _start(since: str | None) -> datetime | None:
    if since is None:
        return None
    at = ago(since, datetime.now(UTC))
    if at is None:
        raise click.UsageError(f"--since: {since!r} is not a time like {FORMS}")
    return at


def _print(found: "Sequence[Audited]", now: datetime) -> None:
    from bot.cli.operators.printing import print_table, pull, short, when  # noqa: PLC0415  rich

    heads = ("at", "who", "what", "decision", "rule", "repository", "pr", "commit", "delivery")
    rows = [
        (
            when(item.entry.at, now),
            item.entry.who,
            item.entry.what,
            "allowed" if item.entry.allowed else "refused",
            item.entry.rule,
            item.repo or "",
            pull(item.entry.number),
            (item.entry.sha or "")[:7],
            short(item.entry.delivery or "", DELIVERY_CHARS),
        )
        for item in found
    ]
    print_table(heads, rows, whole=("at", "decision", "pr", "commit"))
