"""``ascend-ci runs``, ``show``, ``cancel`` and ``retry``: see runs, stop them, start them again."""

import re
from typing import TYPE_CHECKING

import click

from bot.cli.operators import options
from bot.core.model.runs import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.cli.operators.session import OperatorSession
    from bot.core.model.run_events import RunEvent
    from bot.services.operator import No, Retried
    from bot.store.run_reads import ListedRun, RunStory

ID_CHARS = 16  # a time and 30 random bits, enough for `show`, `cancel` and `retry`


def _run_id(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[0-9A-Za-z]{4,40}", value):
        raise click.BadParameter("must be the id of a run, or its first characters")
    return value


@click.command("runs")
@click.option(
    "--state", type=click.Choice([item.value for item in State]), help="Only runs in this state."
)
@options.number
@options.repo
@click.option("--label", help="Only runs on this runner label, or waiting for it.")
@options.limit
@click.option(
    "--before",
    metavar="RUN",
    callback=_run_id,
    help="Only runs made before this one: the next page.",
)
@options.as_json
def runs(  # noqa: PLR0913 - one parameter an option
    state: str | None,
    number: int | None,
    repo: str | None,
    label: str | None,
    limit: int,
    before: str | None,
    *,
    as_json: bool,
) -> None:
    """List runs, newest first."""
    from bot.cli.operators.printing import print_json  # noqa: PLC0415
    from bot.cli.operators.session import operate  # noqa: PLC0415  SQLAlchemy, for the work alone
    from bot.store.run_reads import RunQuery  # noqa: PLC0415
    from bot.web.answers import run_json  # noqa: PLC0415

    wanted = State(state) if state else None
    query = RunQuery(
        repo=repo, number=number, state=wanted, label=label, before=before, limit=limit
    )
    found, now = operate(lambda session: session.with_time(session.store.runs.search(query)))
    if as_json:
        print_json({"runs": [run_json(item) for item in found]})
    else:
        _print_runs(found, now)


def _print_runs(found: "Sequence[ListedRun]", now: "datetime") -> None:
    from bot.cli.operators import printing  # noqa: PLC0415  rich, for people alone

    heads = ("run", "repository", "pr", "suite", "try", "state", "on", "for", "why")
    rows = [
        (
            printing.short(item.run.id, ID_CHARS),
            item.repo.full_name if item.repo else str(item.run.repo_id),
            printing.pull(item.run.number),
            item.run.suite,
            str(item.run.attempt),
            printing.state(item.run),
            printing.where(item.run),
            printing.since(item.run, now),
            item.run.cause or item.run.why,
        )
        for item in found
    ]
    printing.print_table(heads, rows, whole=("run", "pr", "try", "state"))


@click.command("show")
@click.argument("run")
@options.as_json
def show(run: str, *, as_json: bool) -> None:
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
        _print_story(told, links, now)


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


def _print_story(told: "RunStory", links: dict[str, str], now: "datetime") -> None:
    from bot.cli.operators.printing import print_lines, print_table, when  # noqa: PLC0415  rich
    from bot.core.runs.timeline import in_order  # noqa: PLC0415

    print_lines([*_facts_of(told, now), *((f"{name} page", url) for name, url in links.items())])
    if told.claimants:
        print_table(("wanted by", "asked for by"), [(w.source, w.by.login) for w in told.claimants])
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


@click.command("cancel")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@options.required_reason
@options.by
@options.as_json
def cancel(runs: tuple[str, ...], reason: str, by: str, *, as_json: bool) -> None:
    """Stop each RUN, as a person's cancel does.

    It is not retried. Its check run says who stopped it, and why.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import NO, exit_with, operate  # noqa: PLC0415  SQLAlchemy
    from bot.services.operator import No  # noqa: PLC0415

    stopping: list[dict[str, str]] = []

    async def work(session: "OperatorSession") -> list[str]:
        refusals = []
        for word in dict.fromkeys(runs):
            answer = await session.operator.cancel(word, reason)
            if isinstance(answer, No):
                refusals.append(answer.why)
                continue
            stopping.append({"id": answer.id, "suite": answer.suite})
            if not as_json:
                click.echo(f"{answer.id} ({answer.suite}) is asked to stop.")
        return refusals

    refusals = operate(work, who=by)
    if as_json:
        print_json({"cancelled": stopping, "refused": refusals})
    if refusals:
        exit_with(NO, *refusals)


@click.command("retry")
@click.argument("run")
@options.by
@options.as_json
def retry(run: str, by: str, *, as_json: bool) -> None:
    """Run the suite of RUN again, with the policy of that time.

    It runs at the same commit. The new run counts for the same pull requests as RUN, if that is
    still right. Otherwise it is only the operator's.
    """
    from bot.cli.operators.printing import print_json  # noqa: PLC0415  rich
    from bot.cli.operators.session import operate, or_exit  # noqa: PLC0415  SQLAlchemy

    async def work(session: "OperatorSession") -> "Retried | No":
        return await session.operator.retry(run)

    made = or_exit(operate(work, who=by))
    if as_json:
        told = {"id": made.run_id, "suite": made.suite, "attempt": made.attempt}
        print_json({**told, "wanted_by": list(made.sources)})
        return
    wanted = ", ".join(made.sources)
    click.echo(f"{made.run_id} is attempt {made.attempt} of {made.suite}, for {wanted}.")
