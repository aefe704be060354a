"""A stateful GitHub over real HTTP, for demo and tests; it imports nothing else of `bot`."""

from __future__ import annotations

from bot.sim.clock import Clock, ManualClock, RealClock
from bot.sim.engine import RunnerOptions
from bot.sim.errors import CannotError
from bot.sim.faults import Fault
from bot.sim.hub import SimGitHub, SimOptions
from bot.sim.people import NewPull

__all__ = [
    "CannotError",
    "Clock",
    "Fault",
    "ManualClock",
    "NewPull",
    "RealClock",
    "RunnerOptions",
    "SimGitHub",
    "SimOptions",
]
