"""Plays the whole story at once and judges it."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bot.cli.demo.errors import DemoError
from bot.cli.demo.expected import differences, unexpected
from bot.cli.demo.github import Json, Seen
from bot.cli.demo.play import Play, Scene
from bot.cli.demo.scenes import SCENES
from bot.cli.demo.show import Course, Show
from bot.cli.demo.stage import Stage, folder, stage

FINE, DIFFERS = 0, 1
CALM_S = 15.0  # a gate may open once more after its suite's end: writes to GitHub are paced
SHOWN = ("name", "head_sha", "status", "conclusion", "title")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for."""

    once: bool
    as_json: bool
    scenes: tuple[Scene, ...] = SCENES


async def run(wishes: Wishes) -> int:
    """Play, judge, clean up; return the exit code. The first SIGINT or SIGTERM ends it well."""
    show = Show()
    task = asyncio.ensure_future(_staged(wishes, show))
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one must not stop the cleaning
            loop.add_signal_handler(number, lambda: None)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        return await task
    except asyncio.CancelledError:
        show.say("stopped before the end")
    except DemoError as error:
        show.say(str(error))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return DIFFERS


async def _staged(wishes: Wishes, show: Show) -> int:
    began = time.monotonic()
    with folder() as top:
        show.say(f"starting the simulated GitHub, the submitter and the bot in {top}")
        async with stage(top) as up:
            courses = [
                (scene, Play(up.github, up.submitter, scene.limit_s)) for scene in wishes.scenes
            ]
            try:
                seen = await _played(up, courses, show)
            except DemoError:
                show.say(_log_of(up))
                raise
            problems = [*_problems(courses, seen), *errors_in(up.bot.lines())]
            for line in [*problems, *([_log_of(up)] if problems else [])]:
                show.say(line)
            if wishes.as_json:
                print(json.dumps(answer(seen, time.monotonic() - began)), flush=True)
            if not wishes.once:
                await _stay(up, courses, show)
    return DIFFERS if problems else FINE


async def _played(up: Stage, courses: Sequence[Course], show: Show) -> Seen:
    """Play all scenes at once; return what GitHub shows when all have ended and it is calm."""
    watching = asyncio.create_task(up.github.watch())
    playing = asyncio.create_task(_until_calm(up, courses))
    both: list[asyncio.Task[Any]] = [watching, playing]
    try:
        with show.playing(courses):
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()  # it ends by an error alone
        return await playing
    finally:
        for task in both:
            task.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _until_calm(up: Stage, courses: Sequence[Course]) -> Seen:
    """Play all; then give what is still on its way the time to come, unless a scene failed."""
    await asyncio.gather(*(_play(scene, play) for scene, play in courses))
    if any(play.problems for _, play in courses):
        return await up.github.look()
    deadline = time.monotonic() + CALM_S
    await up.github.until(lambda seen: not _problems(courses, seen), deadline=deadline)
    return up.github.seen


async def _play(scene: Scene, play: Play) -> None:
    try:
        await scene.script(play)
    except DemoError as error:
        play.end([str(error)])
    else:
        play.end([])


def _problems(courses: Sequence[Course], seen: Seen) -> list[str]:
    """Return all that is not as expected, by scene; what was right must still be so."""
    found = [
        f"{scene.name}: {line}"
        for scene, play in courses
        for line in play.problems or differences(play.expected, seen)
    ]
    return found or unexpected([one for _, play in courses for one in play.expected], seen)


def errors_in(log: Sequence[str]) -> list[str]:
    """Return what the bot itself logged as an error: a scene may end well in spite of it."""
    return [f"the bot's log: {line}" for line in log if '"level": "error"' in line]


def _log_of(up: Stage) -> str:
    return f"the end of the bot's log:\n{up.bot.tail()}"


def answer(seen: Seen, seconds: float) -> Json:
    """Return what `--json` prints."""
    return {
        "check_runs": [{key: one[key] for key in SHOWN} for one in seen.raw["check_runs"]],
        "comments": seen.raw["comments"],
        "dispatches": seen.raw["dispatches"],
        "seconds": round(seconds, 1),
    }


async def _stay(up: Stage, courses: Sequence[Course], show: Show) -> None:
    """Say where to look, then wait to be stopped."""
    for scene, play in courses:
        for number in play.pulls:
            show.say(f"{up.page(number)}  {scene.title}")
    show.say(f"{up.github.url}  the simulated GitHub")
    show.say(f"{up.bot_url}/api/v1/health  the bot's health; {up.bot_url}/metrics its numbers")
    show.say("Ctrl-C stops")
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
