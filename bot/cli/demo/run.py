"""Plays the whole story at once and judges it."""

import asyncio
import json
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bot.cli.demo.expected import differences, unexpected
from bot.cli.demo.play import LOOK_S, DemoError, Play, Scene
from bot.cli.demo.scenes import SCENES
from bot.cli.demo.show import Course, Show
from bot.cli.demo.stage import Stage, folder, stage
from bot.core.messages import Messages
from bot.sim import SimGitHub
from bot.sim.model import Run
from bot.sim.payloads import fields

FINE, DIFFERS = 0, 1
CALM_S = 30.0  # a gate may open once more after its suite's end: writes to GitHub are paced


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    once: bool
    as_json: bool
    scenes: tuple[Scene, ...] = SCENES
    language: str = "en"


async def run(options: Options) -> int:
    """Play, judge, clean up; return the exit code. The first SIGINT or SIGTERM ends it well."""
    show = Show()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` lets it stay
        numbers.append(signal.SIGHUP)
    task = asyncio.ensure_future(_staged(options, show))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for number in numbers:  # a second one must not stop the cleaning
            loop.add_signal_handler(number, lambda: None)
        task.cancel()

    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        return await task
    except asyncio.CancelledError:
        show.say("stopped before the end")
    except DemoError as error:
        show.say(str(error))
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
    return DIFFERS


async def _staged(options: Options, show: Show) -> int:
    began = time.monotonic()
    with folder() as top:
        show.say(f"starting the simulated GitHub, the submitter and the bot in {top}")
        async with stage(top, options.language) as up:
            messages = Messages(options.language)
            courses = [
                (scene, Play(up.github, up.submitter, messages, scene.limit_s))
                for scene in options.scenes
            ]
            try:
                await _played(up, courses, show)
            except DemoError:
                show.say(up.log.tail())
                raise
            problems = [*_problems(courses, up.github), *up.log.errors()]
            for line in [*problems, *([up.log.tail()] if problems else [])]:
                show.say(line)
            if options.as_json:
                print(json.dumps(_answer(up.github, time.monotonic() - began)), flush=True)
            show.say(f"{up.github.url}  the simulated GitHub")
            pages = f"/api/v1/health  the bot's health; {up.bot_url}/metrics its numbers"
            show.say(f"{up.bot_url}{pages}")
            show.results(courses)
            if not options.once:
                show.say("Ctrl-C stops")
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
    return DIFFERS if problems else FINE


async def _played(up: Stage, courses: Sequence[Course], show: Show) -> None:
    """Play all scenes at once until all have ended and it is calm, or the bot breaks."""
    playing = asyncio.create_task(_until_calm(up.github, courses))
    try:
        with show.playing(courses):
            await asyncio.wait([playing, up.working], return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            raise DemoError(f"the bot ended: {up.working.exception()!r}")
        await playing
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


async def _until_calm(github: SimGitHub, courses: Sequence[Course]) -> None:
    """Play all; then give what is still on its way the time to come, unless a scene failed."""
    await asyncio.gather(*(scene.play(play) for scene, play in courses))
    deadline = time.monotonic() + CALM_S
    if any(play.problems for _, play in courses):
        return
    while _problems(courses, github) and time.monotonic() < deadline:  # noqa: ASYNC110  six scenes
        await asyncio.sleep(LOOK_S)


def _problems(courses: Sequence[Course], github: SimGitHub) -> list[str]:
    """Return all that is not as expected, by scene; what was right must still be so."""
    found = [
        f"{scene.name}: {line}"
        for scene, play in courses
        for line in play.problems or differences(play.expected, github)
    ]
    return found or unexpected([one for _, play in courses for one in play.expected], github)


def _answer(github: SimGitHub, seconds: float) -> dict[str, Any]:
    """Return the check runs, comments and dispatched workflow runs of GitHub, for `--json`."""
    shown = ("name", "head_sha", "status", "conclusion", "title")
    return {
        "check_runs": [fields(run, *shown) for run in github.check_runs()],
        "comments": [
            {
                **fields(one, "id", "body"),
                "pull": one.pull.number,
                "user": one.user.login,
                "reactions": [reaction.content for reaction in one.reactions],
            }
            for one in github.state.comments.values()
        ],
        "dispatches": [_dispatch(r) for r in github.runs() if r.event == "workflow_dispatch"],
        "seconds": round(seconds, 1),
    }


def _dispatch(run: Run) -> dict[str, Any]:
    names = ("id", "attempt", "event", "title", "inputs", "status", "conclusion", "head_sha")
    return {
        **fields(run, *names, "created_at"),
        "workflow": run.workflow.path,
        "jobs": [fields(job, "id", "key", "status", "conclusion") for job in run.jobs],
    }
