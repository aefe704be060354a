"""``ascend-ci show``: show one run with its full history."""

from typing import TYPE_CHECKING

import click

from bot.cli.operators import options

if TYPE_CHECKING:
    from datetime import datetime

    from bot.cli.operators.session import OperatorSession
    from bot.core.model.run_events import RunEvent
    from bot.store.run_reads import RunStory


@click.command("show")
@click.argument("run")
@options.as_json
def command(run: str, *, as_json: bool) -> None:
    """Show RUN with its history, its RayJobs, and links.

    The first characters of the id are enough if no other run has the same.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone
    from bot.web.answers import story_json  # noqa: PLC0415

    async def work(session: "OperatorSession") -> "tuple[RunStory, dict[str, str], datetime]":
        from bot.cli.operators.session import or_exit  # noqa: PLC0415

        told = or_exit(await session.operator.find(run))
        check = await session.store.checks.of_run(told.run.id)
        return told, _links(told, check, session.pages), session.now

    told, links, now = operate(work)
    if as_json:
        print_json({**story_json(told), "links": links})
    else:
        _print(told, links, now)


def _links(told: "RunStory", check: int | None, pages: str) -> dict[str, str]:
    """Return the pages on GitHub that exist."""
    run, found = told.run, {}
    if told.repo is not None:
        home = f"{pages}/{told.repo.full_name}"
        found["commit"] = f"{home}/commit/{run.sha}"
        if run.number:
            found["pull"] = f"{home}/pull/{run.number}"
        if check:
            found["check"] = f"{home}/runs/{check}"
    if run.actions_url:
        found["actions"] = run.actions_url
    return found


def _print(told: "RunStory", links: dict[str, str], now: "datetime") -> None:
    from bot.cli.operators.printing import print_lines, print_table, when  # noqa: PLC0415  rich
    from bot.core.runs.timeline import in_order  # noqa: PLC0415

    print_lines([*_facts_of(told, now), *((f"{name} page", url) for name, url in links.items())])
    if told.claimants:
        print_table(("wanted by", "asked for by"), [(w.source, w.by) for w in told.claimants])
    known = in_order(told.run_events)
    lines = [(when(run_event.at, now), run_event.source, _said(run_event)) for run_event in known]
    if lines:
        print_table(("at", "source", "what"), lines)
    if told.rayjobs:
        jobs = [(job.job_id, job.final or job.status, job.message) for job in told.rayjobs]
        print_table(("RayJob", "state", "message"), jobs, whole=("RayJob",))


def _facts_of(told: "RunStory", now: "datetime") -> list[tuple[str, str]]:
    from bot.cli.operators.printing import pull, state, when, where  # noqa: PLC0415  rich

    run, frozen = told.run, told.run.snapshot
    place = run.queue_position
    ahead = f"{place.ahead} ahead for {place.resource}" if place else ""
    soon = f", about {when(place.start_at, now)}" if place and place.start_at else ""
    stop_request = (
        f"{run.stop_request.reason} ({when(run.stop_request.at, now)})" if run.stop_request else ""
    )
    return [
        ("run", run.id),
        ("suite", f"{run.suite}, attempt {run.attempt}"),
        ("repository", told.repo.full_name if told.repo else str(run.repo_id)),
        ("pull request", pull(run.number)),
        ("commit", run.sha),
        ("state", state(run)),
        ("cause", run.cause),
        ("why", run.why),
        ("queue", ahead + soon),
        ("stop", stop_request),
        ("on", where(run)),
        ("started by", run.origin),
        ("selected", frozen.reason),
        ("workflow", f"{frozen.suite.workflow} on {frozen.ref}"),
        ("policy", f"{frozen.policy_ref} at {frozen.policy_sha[:7]}"),
        ("made", when(run.created_at, now)),
        ("dispatched", when(run.dispatched_at, now)),
        ("started", when(run.started_at, now)),
        ("ended", when(run.ended_at, now)),
    ]


def _said(run_event: "RunEvent") -> str:
    from bot.core.model.run_events import DispatchUnsent, VerdictReached  # noqa: PLC0415
    from bot.core.runs.timeline import line_of  # noqa: PLC0415

    match run_event.what:
        case DispatchUnsent(why=why) | VerdictReached(why=why) if why:
            return why
        case what:
            return line_of(what) or run_event.key
