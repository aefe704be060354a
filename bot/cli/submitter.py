"""`ascend-ci submitter`: our own RayJob submitter as a service."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Any

import click

from bot.submitter.backend import Limits
from bot.submitter.jobs import Backend
from bot.submitter.local import LocalBackend
from bot.submitter.ray import RayBackend
from bot.submitter.ray_api import RayApi
from bot.submitter.serve import is_loopback, serve
from bot.submitter.web import Options, create_app

IS_EMPTY = "the token (--token, SUBMITTER_TOKEN) is empty: leave it out or set one"

NO_HTTP = "--ray-address (RAY_ADDRESS) must be the dashboard's, as http://HOST:8265"


@click.command()
@click.option(
    "--backend",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="local: each job is a process on this machine; ray: a job of an existing Ray cluster.",
)
@click.option(
    "--ray-address",
    envvar="RAY_ADDRESS",
    default="http://127.0.0.1:8265",
    show_default=True,
    help="The address of the cluster's dashboard.",
)
@click.option(
    "--ray-token", envvar="RAY_AUTH_TOKEN", help="The token of the cluster, if it needs one."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True)
@click.option("--token", envvar="SUBMITTER_TOKEN", help="Require this bearer token from callers.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("submitter-data"),
    show_default=True,
    help="Folder for jobs and their logs.",
)
@click.option(
    "--workdir",
    help="Folder for relative script paths (with ray: on the cluster's nodes); "
    "default: an empty folder for each job (with ray: the folder where Ray was started).",
)
@click.option("--max-jobs", type=click.IntRange(1), default=Limits().live_jobs, show_default=True)
@click.option(
    "--kill-jobs-on-exit", is_flag=True, help="Stop all jobs at the end; by default they continue."
)
def command(  # noqa: PLR0913 - one parameter an option
    *,
    backend: str,
    ray_address: str,
    ray_token: str | None,
    host: str,
    port: int,
    token: str | None,
    data_dir: Path,
    workdir: str | None,
    max_jobs: int,
    kill_jobs_on_exit: bool,
) -> None:
    """Run jobs posted over HTTP, and stream their logs."""
    if token is not None and not token.strip():
        raise click.UsageError(IS_EMPTY)
    say = partial(click.echo, err=True)
    if token is None and not is_loopback(host):
        say("warning: without --token anybody who reaches this address can run commands")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    limits = Limits(live_jobs=max_jobs)
    runner: Backend[Any]
    if backend == "ray":
        runner = RayBackend(data_dir, _api(ray_address, ray_token), workdir=workdir, limits=limits)
    else:
        runner = LocalBackend(data_dir, workdir=_folder(workdir), limits=limits)
    app = create_app(runner, Options(token=token, stop_jobs_on_exit=kill_jobs_on_exit))
    try:
        asyncio.run(serve(app, host, port, say))
    except BlockingIOError as error:
        used = f"another submitter uses {data_dir}: name another folder with --data-dir"
        raise click.UsageError(used) from error
    except OSError as error:
        raise click.ClickException(f"cannot serve: {error}") from error


def _api(address: str, token: str | None) -> RayApi:
    if not address.startswith(("http://", "https://")):
        raise click.UsageError(NO_HTTP)
    return RayApi(address, token)


def _folder(workdir: str | None) -> Path | None:
    if workdir is not None and not Path(workdir).is_dir():
        raise click.UsageError(f"--workdir {workdir} is no folder")
    return None if workdir is None else Path(workdir).absolute()
