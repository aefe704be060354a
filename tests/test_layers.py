"""Who may import whom, and that the check of it finds made-up breaches."""

import ast
import subprocess
import sys

import pytest

from tests.layers import (
    MOST_ENTRIES,
    ROOMS,
    breaches,
    cycle,
    dotted,
    entries,
    knots,
    modules,
    trespasses,
    twins,
)

MODULES = modules()
PACKAGES = frozenset(name for name, path in MODULES.items() if path.name == "__init__.py")


def test_every_module_keeps_to_its_layer() -> None:
    found = [
        breach
        for module, path in MODULES.items()
        for breach in breaches(path.read_text(), module, package=module in PACKAGES)
    ]
    assert found == []


def test_no_module_imports_itself_through_others() -> None:
    sources = {module: path.read_text() for module, path in MODULES.items()}
    assert cycle(sources, PACKAGES) == []


def test_no_name_of_a_class_stands_twice() -> None:
    assert twins({module: path.read_text() for module, path in MODULES.items()}) == {}


def test_a_name_that_stands_twice_is_found() -> None:
    one, two = "class Run: ...\nclass Pace: ...", "class Run: ..."
    assert twins({"bot.a": one, "bot.b.c": two, "bot.submit": "class Row: ..."}) == {
        "Run": ["bot.a", "bot.b.c"]
    }
    assert twins({"bot.a": one, "bot.sim.x": two, "bot.submitter": two}) == {}


@pytest.mark.parametrize(("folder", "most"), MOST_ENTRIES.items())
def test_a_newcomer_meets_few_rooms(folder: str, most: int) -> None:
    assert len(entries(folder)) <= most, entries(folder)


def test_the_rooms_of_core_are_those_of_the_table() -> None:
    assert entries("bot/core") == sorted(ROOMS)


def test_a_room_of_core_imports_only_the_rooms_that_it_may() -> None:
    found = [
        trespass
        for module, path in MODULES.items()
        for trespass in trespasses(path.read_text(), module, package=module in PACKAGES)
    ]
    assert found == []


def test_no_two_rooms_of_core_need_each_other() -> None:
    assert knots(ROOMS) == frozenset()


def test_a_trespass_and_a_knot_are_found() -> None:
    source = "from bot.core.planning import plan\nfrom bot.core.model import ids"
    assert trespasses(source, "bot.core.queue.usage") == [
        "bot.core.queue.usage:1: imports bot.core.planning.plan"
    ]
    assert trespasses(source, "bot.core.report.suite") == []
    ring = {"a": frozenset("b"), "b": frozenset("a"), "c": frozenset("a")}
    assert knots(ring) == {frozenset("ab")}


OFFENDERS = [
    ("bot.core.planning.pull_request", "import asyncio", "imports asyncio"),
    ("bot.core.planning.pull_request", "import time", "imports time"),
    ("bot.core.planning.pull_request", "from os import environ", "imports os.environ"),
    ("bot.core.planning.pull_request", "import logging", "imports logging"),
    ("bot.core.planning.pull_request", "import urllib.request", "imports urllib.request"),
    ("bot.core.planning.pull_request", "from urllib import request", "imports urllib.request"),
    ("bot.core.planning.pull_request", "import aiohttp", "imports aiohttp"),
    ("bot.core.planning.pull_request", "def f():\n    import sqlalchemy", "imports sqlalchemy"),
    (
        "bot.core.planning.pull_request",
        "from bot.ports.clock import Clock",
        "imports bot.ports.clock.Clock",
    ),
    ("bot.core.planning.pull_request", "from bot import telemetry", "imports bot.telemetry"),
    (
        "bot.core.planning.pull_request",
        "from ...services import ledger",
        "imports bot.services.ledger",
    ),
    ("bot.core.planning.pull_request", "import bot", "imports bot"),
    ("bot.core.planning.pull_request", "async def f(): ...", "waits"),
    (
        "bot.core.planning.pull_request",
        "x = datetime.now(UTC)",
        "reads the clock with datetime.now",
    ),
    (
        "bot.core.planning.pull_request",
        "x = datetime.date.today()",
        "reads the clock with datetime.date.today",
    ),
    ("bot.core.planning.pull_request", "x = open('a')", "calls open"),
    ("bot.core.planning.pull_request", "print('a')", "calls print"),
    ("bot.core.planning.pull_request", "x = __import__('os')", "calls __import__"),
    (
        "bot.core.planning.pull_request",
        "if TYPE_CHECKING:\n    from bot.app import Parts",
        "imports bot.app.Parts",
    ),
    ("bot.ports.clock", "from bot.telemetry import get_log", "imports bot.telemetry.get_log"),
    ("bot.ports.clock", "import msgspec", "imports msgspec"),
    ("bot.services.runs.runner", "from bot.adapters import logs", "imports bot.adapters.logs"),
    ("bot.services.runs.runner", "from bot.web.hooks import Hooks", "imports bot.web.hooks.Hooks"),
    ("bot.services.runs.runner", "import aiohttp", "imports aiohttp"),
    ("bot.services.runs.runner", "import time", "imports time"),
    ("bot.services.runs.runner", "x = os.environ['A']", "reads os.environ"),
    (
        "bot.adapters.rayjobs",
        "from bot.services.runs import runner",
        "imports bot.services.runs.runner",
    ),
    ("bot.adapters.rayjobs", "from bot.adapters.logs import a", "imports bot.adapters.logs.a"),
    ("bot.store.runs", "from ..adapters.logs import a", "imports bot.adapters.logs.a"),
    ("bot.adapters.rayjobs", "import os\nx = os.getenv('A')", "reads os.getenv"),
    ("bot.web.hooks", "from bot.services.events import inbox", "imports bot.services.events.inbox"),
    ("bot.web.hooks", "from bot.adapters import logs", "imports bot.adapters.logs"),
    ("bot.web.hooks", "import sqlite3", "imports sqlite3"),
    ("bot.sim.hub", "from bot.core.model.runs import Run", "imports bot.core.model.runs.Run"),
    ("bot.sim.hub", "from bot.submitter import web", "imports bot.submitter.web"),
    ("bot.submitter.web", "from bot.sim import hub", "imports bot.sim.hub"),
    ("bot.submitter.web", "from bot.core.github import events", "imports bot.core.github.events"),
    ("bot.submit", "import requests", "imports requests"),
    ("bot.submit", "import tomllib", "imports tomllib"),
    ("bot.submit", "from bot.core.github import events", "imports bot.core.github.events"),
    ("bot.settings", "from bot import store", "imports bot.store"),
    ("bot.telemetry", "from bot.settings import Settings", "imports bot.settings.Settings"),
    ("bot.app", "from bot.cli import main", "imports bot.cli.main"),
    ("bot.services.runs.runner", "from bot.app import Parts", "imports bot.app.Parts"),
    ("bot.cli.serve", "from bot.app import run", "imports bot.app.run"),
    ("bot.cli.match", "import rich.table", "imports rich.table"),
    ("bot.cli.match", "from bot.submitter import web", "imports bot.submitter.web"),
    ("bot.cli.migrate", "from bot.store import migrate", "imports bot.store"),
    ("bot.__main__", "from bot.app import run", "imports bot.app.run"),
    ("bot", "import os", "imports os"),
    ("bot.helpers", "import os", "belongs to no layer"),
]


@pytest.mark.parametrize(("module", "source", "said"), OFFENDERS)
def test_a_breach_is_found(module: str, source: str, said: str) -> None:
    found = breaches(source, module)
    assert len(found) == 1, found
    assert said in found[0]


LAWFUL = [
    ("bot.core.planning.pull_request", "from urllib.parse import quote"),
    (
        "bot.core.planning.pull_request",
        "from datetime import UTC, datetime\nx = datetime(2026, 1, 1, tzinfo=UTC)",
    ),
    ("bot.core.policy.models", "import re2, yaml\nfrom pydantic import BaseModel"),
    ("bot.core.planning.pull_request", "from ..model.runs import Run"),
    ("bot.ports.clock", "class Clock(Protocol):\n    async def sleep(self) -> None: ..."),
    ("bot.services.runs.runner", "import asyncio\nfrom bot.services.runs.ledger import Ledger"),
    ("bot.store.runs", "from bot.store.rows import Row\nimport sqlalchemy"),
    ("bot.store.runs", "from .rows import Row"),
    ("bot.web.hooks", "from aiohttp import web\nfrom bot.telemetry import Metrics"),
    ("bot.sim.hub", "import os, yaml\nfrom bot.sim import git\nx = os.environ"),
    ("bot.submit", "import os, urllib.request\nx = os.environ"),
    ("bot.app", "from bot.sim import SimGitHub"),
    ("bot.cli.serve", "def f():\n    from bot.app import run"),
    ("bot.cli.submitter", "import asyncio, click\nfrom bot.submitter.serve import serve"),
    ("bot.cli.demo.world", "import aiohttp\nfrom bot.app import open_parts"),
]


@pytest.mark.parametrize(("module", "source"), LAWFUL)
def test_what_a_layer_may_do_is_no_breach(module: str, source: str) -> None:
    assert breaches(source, module) == []


def test_a_package_resolves_its_own_relative_imports() -> None:
    assert breaches("from .rows import Row", "bot.store", package=True) == []
    assert breaches("from ..adapters.logs import a", "bot.store", package=True) != []


def test_a_ring_of_imports_is_found_and_a_lazy_one_is_none() -> None:
    ring = {"bot.a": "from bot.b import x", "bot.b": "from bot import c", "bot.c": "import bot.a"}
    assert set(cycle(ring)) == set(ring)
    assert cycle({**ring, "bot.c": "def f():\n    import bot.a"}) == []
    assert cycle({**ring, "bot.c": "if TYPE_CHECKING:\n    import bot.a"}) != []


def test_in_the_simulation_a_lazy_ring_is_one_too() -> None:
    ring = {"bot.sim.a": "from bot.sim.b import x", "bot.sim.b": "def f():\n    import bot.sim.a"}
    assert set(cycle(ring)) == set(ring)


def test_quick_commands_load_no_server() -> None:
    program = (
        "import sys, bot.cli.match, bot.cli.digest, bot.cli.check_policy, bot.cli.schema;"
        "slow = {'aiohttp', 'alembic', 'gidgethub', 'rich', 'sqlalchemy', 'structlog'};"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def _makes_runs(source: str) -> bool:
    """Return True if a module calls the model's class Run, or reaches it through its module."""
    if "Run" not in source:
        return False
    tree = ast.parse(source)
    names = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "bot.core.model.runs"
        for name in node.names
        if name.name == "Run"
    }
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(
        (isinstance(call, ast.Name) and call.id in names) or dotted(call).endswith("runs.Run")
        for call in calls
    )


def test_one_module_makes_runs() -> None:
    makers = [module for module, path in MODULES.items() if _makes_runs(path.read_text())]
    assert makers == ["bot.core.planning.attempts"]


@pytest.mark.parametrize(
    ("source", "makes"),
    [
        ("from bot.core.model.runs import Run\nrun = Run(1)", True),
        ("from bot.core.model.runs import Run as Row\nrun = Row(1)", True),
        ("from bot.core.model import runs\nrun = runs.Run(1)", True),
        ("from bot.core.model.runs import Run\nrun: Run = load(Run, row)", False),
        ("from bot.sim.model import Run\nrun = Run(1)", False),
    ],
)
def test_a_second_maker_of_runs_is_found(source: str, makes: bool) -> None:
    assert _makes_runs(source) == makes
