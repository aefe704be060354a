"""`python -m bot.sim`: the simulated GitHub as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from bot.sim.engine import RunnerOptions
from bot.sim.hub import SimGitHub, SimOptions


def _pairs(values: list[str]) -> dict[str, str]:
    found = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals:
            message = f"{value!r} is not KEY=VALUE"
            raise argparse.ArgumentTypeError(message)
        found[key] = rest
    return found


def parser() -> argparse.ArgumentParser:
    """Build the command line."""
    made = argparse.ArgumentParser(prog="python -m bot.sim", description=__doc__)
    made.add_argument("--port", type=int, default=0, help="0: any free one")
    made.add_argument("--webhook-url", help="where the app under test listens")
    made.add_argument("--app-id", type=int, default=1234)
    made.add_argument("--secret", default="sim-webhook-secret", help="of the webhook")
    made.add_argument("--public-key", type=Path, help="PEM file to check the app's JWTs with")
    made.add_argument(
        "--from", dest="source", type=Path, help="directory that becomes the repository"
    )
    made.add_argument("--owner", default="octo")
    made.add_argument("--name", default="project")
    made.add_argument("--branch", default="main", help="the default branch")
    made.add_argument("--runner", action="append", default=[], metavar="LABEL=SLOTS")
    made.add_argument("--user", action="append", default=[], metavar="LOGIN=LEVEL")
    made.add_argument("--var", action="append", default=[], metavar="NAME=VALUE")
    made.add_argument("--runner-env", action="append", default=[], metavar="NAME=VALUE")
    made.add_argument("--lag", type=float, default=1.5, help="seconds by which lists trail")
    made.add_argument(
        "--cancel-after",
        type=float,
        nargs=2,
        default=(7.5, 2.5),
        metavar=("TERM", "KILL"),
        help="seconds from SIGINT to SIGTERM, then to SIGKILL",
    )
    return made


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT; print one JSON line once ready."""
    term_s, kill_s = options.cancel_after
    runner = RunnerOptions(term_s, kill_s, _pairs(options.runner_env))
    sim = SimGitHub(options=SimOptions(lag_s=options.lag, runner=runner))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        url = await sim.start(options.port)
        ready = {"url": url, **_set_scene(sim, options)}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()
    finally:
        await sim.close()


def _set_scene(sim: SimGitHub, options: argparse.Namespace) -> dict[str, object]:
    key = options.public_key.read_text() if options.public_key else None
    app = sim.create_app(
        options.webhook_url, app_id=options.app_id, secret=options.secret, public_key=key
    )
    full_name = f"{options.owner}/{options.name}"
    repo = sim.create_repo(
        full_name, options.source or {"README.md": "# Project\n"}, branch=options.branch
    )
    for label, slots in _pairs(options.runner).items():
        sim.actions.runners.register(label, int(slots))
    for login, level in _pairs(options.user).items():
        sim.grant(login, level, repo)
    repo.vars.update(_pairs(options.var))
    installation = sim.install(options.owner)
    return {
        "repository": full_name,
        "repository_id": repo.id,
        "app_id": app.id,
        "installation_id": installation.id,
        "private_key": app.private_key,
    }


def main() -> None:
    """Run the command."""
    asyncio.run(serve(parser().parse_args()))


if __name__ == "__main__":
    main()
