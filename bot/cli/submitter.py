"""`ascend-ci submitter`: our own RayJob submitter as a service."""

import asyncio
import logging
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from bot.submitter.backend import Limits
from bot.submitter.callers import Callers, DamagedError, Repositories, digest_of, kept_digest
from bot.submitter.jobs import Backend
from bot.submitter.local import LocalBackend
from bot.submitter.ray import RayBackend
from bot.submitter.ray_api import RayApi
from bot.submitter.serve import is_loopback, serve
from bot.submitter.web import Options, create_app

IS_EMPTY = "the token (--token-file, SUBMITTER_TOKEN) is empty: leave it out or set one"
TWO_TOKENS = "give --token-file or SUBMITTER_TOKEN, not both"
MADE = "the token, shown only now: {token}\n{path} keeps its digest; remove it for a new token"
NOT_FOR_STRANGERS = (
    "local: each job is a process on this machine, not for code of strangers; "
    "ray: a job of an existing Ray cluster."
)
AS_ROOT = (
    "WARNING: all jobs run as root on this machine: give --job-uids, or start as a user without "
    "rights; never for code of strangers"
)
NO_HTTP = "--ray-address (RAY_ADDRESS) must be the dashboard's, as http://HOST:8265"

_say = partial(click.echo, err=True)


@dataclass(frozen=True, slots=True)
class _Options:
    backend: str
    ray_address: str
    ray_token: str | None
    host: str
    port: int
    token_file: Path | None
    allow_host: tuple[str, ...]
    workflow: tuple[str, ...]  # none by default
    oidc_issuer: str
    oidc_audience: str
    data_dir: Path
    workdir: str | None
    job_uids: str | None
    max_jobs: int
    kill_jobs_on_exit: bool


@click.command()
@click.option(
    "--backend",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help=NOT_FOR_STRANGERS,
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
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the bearer token that callers must send; or set SUBMITTER_TOKEN. "
    "Without both the first start makes a token and prints it.",
)
@click.option(
    "--allow-host",
    multiple=True,
    help="A name by which callers may address the service; by default any, "
    "and on a loopback address only that of this machine.",
)
@click.option(
    "--workflow",
    multiple=True,
    metavar="OWNER/NAME/.github/workflows/FILE@refs/heads/BRANCH",
    help="A workflow that may submit with its OIDC token, for its own run attempt alone. "
    "Its repository is bound to GitHub's number when it calls first (repositories.json).",
)
@click.option(
    "--oidc-issuer",
    default="https://token.actions.githubusercontent.com",
    show_default=True,
    help="Who signs the tokens of workflows.",
)
@click.option("--oidc-audience", default="ascend-ci-submitter", show_default=True)
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
@click.option(
    "--job-uids",
    metavar="FIRST-LAST",
    help="With local, as root: run each job as a user of its own, one of these numbers.",
)
@click.option("--max-jobs", type=click.IntRange(1), default=Limits().live_jobs, show_default=True)
@click.option(
    "--kill-jobs-on-exit", is_flag=True, help="Stop all jobs at the end; by default they continue."
)
def command(**given: Any) -> None:
    """Run jobs posted over HTTP, and stream their logs.

    With the backend `local` the jobs run as the user of the service, unless --job-uids gives each
    its own: they can read each other's environment and files. It is not for code of strangers.
    As root without --job-uids the jobs are root, too; a line at the start warns of it.
    """
    options = _Options(**given)
    try:
        digest = _digest(options)
        known = Repositories(options.data_dir / "repositories.json")
    except DamagedError as error:
        raise click.ClickException(str(error)) from error
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        asyncio.run(_serve(_backend(options), options, digest, known))
    except BlockingIOError as error:
        used = f"another submitter uses {options.data_dir}: name another folder with --data-dir"
        raise click.UsageError(used) from error
    except OSError as error:
        raise click.ClickException(f"cannot serve: {error}") from error


def _backend(options: _Options) -> Backend[Any]:
    limits, workdir = Limits(live_jobs=options.max_jobs), options.workdir
    if options.backend == "ray":
        if not options.ray_address.startswith(("http://", "https://")):
            raise click.UsageError(NO_HTTP)
        api = RayApi(options.ray_address, options.ray_token)
        return RayBackend(options.data_dir, api, workdir=workdir, limits=limits)
    folder = None if workdir is None else Path(workdir).absolute()
    if folder is not None and not folder.is_dir():
        raise click.UsageError(f"--workdir {workdir} is not a folder")
    uids = _uids(options.job_uids)
    if os.geteuid() == 0 and not uids:
        _say(AS_ROOT)
    return LocalBackend(options.data_dir, workdir=folder, limits=limits, uids=uids)


def _uids(text: str | None) -> range:
    """Return the users of jobs; none if jobs run as the service's user."""
    if text is None:
        return range(0)
    found = re.fullmatch(r"([1-9]\d{0,8})-([1-9]\d{0,8})", text)
    if found is None or int(found[2]) < int(found[1]):
        raise click.UsageError("--job-uids must be two numbers above 0, as 61000-61255")
    if os.geteuid() != 0:
        raise click.UsageError("--job-uids needs a service that runs as root")
    return range(int(found[1]), int(found[2]) + 1)


async def _serve(backend: Backend[Any], given: _Options, digest: str, known: Repositories) -> None:
    import aiohttp  # noqa: PLC0415  seconds of imports, for a service that starts

    from bot.adapters.clock import SystemClock  # noqa: PLC0415
    from bot.adapters.oidc import OidcIssuer  # noqa: PLC0415

    async with aiohttp.ClientSession(trust_env=True) as session:
        url = given.oidc_issuer.rstrip("/")
        issuer = OidcIssuer(session, url, given.oidc_audience, SystemClock())
        given.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        prover = issuer if given.workflow else None
        callers = Callers(digest, prover, frozenset(given.workflow), known)
        names = frozenset({"localhost", "127.0.0.1", "[::1]", given.host, *given.allow_host})
        hosts = names if given.allow_host or is_loopback(given.host) else None
        options = Options(callers, hosts, stop_jobs_on_exit=given.kill_jobs_on_exit)
        await serve(create_app(backend, options), given.host, given.port, _say)


def _digest(options: _Options) -> str:
    """Return the digest of the service's token; make and print a token at the first start."""
    file, given = options.token_file, os.environ.get("SUBMITTER_TOKEN")
    if file is not None and given is not None:
        raise click.UsageError(TWO_TOKENS)
    token = given if file is None else file.read_text()
    if token is not None:
        if not token.strip():
            raise click.UsageError(IS_EMPTY)
        return digest_of(token.strip())
    path = options.data_dir / "token.sha256"
    digest, made = kept_digest(path)
    if made is not None:
        _say(MADE.format(token=made, path=path))
    return digest
