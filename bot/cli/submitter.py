"""`ascend-ci submitter`: our own RayJob submitter as a service."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import click

from bot.submitter.limits import Limits
from bot.submitter.local import LocalBackend
from bot.submitter.serve import is_loopback, serve, to_stderr
from bot.submitter.web import Options, create_app

IS_EMPTY = "the token (--token, SUBMITTER_TOKEN) is empty: leave it out or set one"


@click.command()
@click.option("--backend", type=click.Choice(["local"]), default="local", show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True)
@click.option("--token", envvar="SUBMITTER_TOKEN", help="Ask callers for this bearer token.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("submitter-data"),
    show_default=True,
    help="Where jobs and their logs are kept.",
)
@click.option(
    "--workdir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where relative script paths start; default: an empty folder a job.",
)
@click.option("--max-jobs", type=click.IntRange(1), default=Limits().live_jobs, show_default=True)
@click.option("--kill-jobs-on-exit", is_flag=True, help="Else jobs outlive the service.")
def command(  # noqa: PLR0913 - one parameter an option
    *,
    backend: str,
    host: str,
    port: int,
    token: str | None,
    data_dir: Path,
    workdir: Path | None,
    max_jobs: int,
    kill_jobs_on_exit: bool,
) -> None:
    """Run jobs posted over HTTP and stream their logs."""
    assert backend == "local"
    if token is not None and not token.strip():
        raise click.UsageError(IS_EMPTY)
    if token is None and not is_loopback(host):
        to_stderr("warning: without --token anybody who reaches this address can run commands")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    runner = LocalBackend(
        data_dir,
        workdir=workdir.absolute() if workdir else None,
        limits=Limits(live_jobs=max_jobs),
    )
    app = create_app(runner, Options(token=token, stop_jobs_on_exit=kill_jobs_on_exit))
    try:
        asyncio.run(serve(app, host, port, to_stderr))
    except OSError as error:
        raise click.ClickException(f"cannot serve: {error}") from error
