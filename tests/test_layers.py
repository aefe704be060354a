"""Who may import whom, and that the check of it finds made-up breaches."""

import subprocess
import sys

import pytest

from tests.layers import breaches, cycle, modules

MODULES = modules()
PACKAGES = frozenset(name for name, path in MODULES.items() if path.name == "__init__.py")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_keeps_to_its_layer(module: str) -> None:
    source = MODULES[module].read_text()
    assert breaches(source, module, package=module in PACKAGES) == []


def test_no_module_imports_itself_through_others() -> None:
    sources = {module: path.read_text() for module, path in MODULES.items()}
    assert cycle(sources, PACKAGES) == []


OFFENDERS = [
    ("bot.core.planner", "import asyncio", "imports asyncio"),
    ("bot.core.planner", "import time", "imports time"),
    ("bot.core.planner", "from os import environ", "imports os.environ"),
    ("bot.core.planner", "import logging", "imports logging"),
    ("bot.core.planner", "import urllib.request", "imports urllib.request"),
    ("bot.core.planner", "from urllib import request", "imports urllib.request"),
    ("bot.core.planner", "import aiohttp", "imports aiohttp"),
    ("bot.core.planner", "def f():\n    import sqlalchemy", "imports sqlalchemy"),
    ("bot.core.planner", "from bot.ports.clock import Clock", "imports bot.ports.clock.Clock"),
    ("bot.core.planner", "from bot import telemetry", "imports bot.telemetry"),
    ("bot.core.planner", "from ..services import ledger", "imports bot.services.ledger"),
    ("bot.core.planner", "import bot", "imports bot"),
    ("bot.core.planner", "async def f(): ...", "waits"),
    ("bot.core.planner", "x = datetime.now(UTC)", "reads the clock with datetime.now"),
    ("bot.core.planner", "x = datetime.date.today()", "reads the clock with datetime.date.today"),
    ("bot.core.planner", "x = open('a')", "calls open"),
    ("bot.core.planner", "print('a')", "calls print"),
    ("bot.core.planner", "x = __import__('os')", "calls __import__"),
    (
        "bot.core.planner",
        "if TYPE_CHECKING:\n    from bot.app import Parts",
        "imports bot.app.Parts",
    ),
    ("bot.ports.clock", "from bot.telemetry import get_log", "imports bot.telemetry.get_log"),
    ("bot.ports.clock", "import msgspec", "imports msgspec"),
    ("bot.services.runner", "from bot.adapters import store", "imports bot.adapters.store"),
    ("bot.services.runner", "from bot.web.hooks import Hooks", "imports bot.web.hooks.Hooks"),
    ("bot.services.runner", "import aiohttp", "imports aiohttp"),
    ("bot.services.runner", "import time", "imports time"),
    ("bot.services.runner", "x = os.environ['A']", "reads os.environ"),
    ("bot.adapters.rayjobs", "from bot.services import runner", "imports bot.services.runner"),
    ("bot.adapters.rayjobs", "from bot.adapters.logs import a", "imports bot.adapters.logs.a"),
    ("bot.adapters.store.runs", "from ..logs import a", "imports bot.adapters.logs.a"),
    ("bot.adapters.rayjobs", "import os\nx = os.getenv('A')", "reads os.getenv"),
    ("bot.web.hooks", "from bot.services import inbox", "imports bot.services.inbox"),
    ("bot.web.hooks", "from bot.adapters import store", "imports bot.adapters.store"),
    ("bot.web.hooks", "import sqlite3", "imports sqlite3"),
    ("bot.sim.hub", "from bot.core.model import Run", "imports bot.core.model.Run"),
    ("bot.sim.hub", "from bot.submitter import web", "imports bot.submitter.web"),
    ("bot.submitter.web", "from bot.sim import hub", "imports bot.sim.hub"),
    ("bot.submitter.web", "from bot.core import events", "imports bot.core.events"),
    ("bot.submit", "import requests", "imports requests"),
    ("bot.submit", "import tomllib", "imports tomllib"),
    ("bot.submit", "from bot.core import events", "imports bot.core.events"),
    ("bot.settings", "from bot.adapters import store", "imports bot.adapters.store"),
    ("bot.telemetry", "from bot.settings import Settings", "imports bot.settings.Settings"),
    ("bot.app", "from bot.cli import main", "imports bot.cli.main"),
    ("bot.services.runner", "from bot.app import Parts", "imports bot.app.Parts"),
    ("bot.cli.serve", "from bot.app import run", "imports bot.app.run"),
    ("bot.cli.match", "import rich.table", "imports rich.table"),
    ("bot.cli.match", "from bot.submitter import web", "imports bot.submitter.web"),
    ("bot.cli.migrate", "from bot.adapters.store import migrate", "imports bot.adapters.store"),
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
    ("bot.core.planner", "from urllib.parse import quote"),
    (
        "bot.core.planner",
        "from datetime import UTC, datetime\nx = datetime(2026, 1, 1, tzinfo=UTC)",
    ),
    ("bot.core.policy.models", "import re2, yaml\nfrom pydantic import BaseModel"),
    ("bot.core.planner", "from .model import Run"),
    ("bot.ports.clock", "class Clock(Protocol):\n    async def sleep(self) -> None: ..."),
    ("bot.services.runner", "import asyncio\nfrom bot.services.ledger import Ledger"),
    ("bot.adapters.store.runs", "from bot.adapters.store.rows import Row\nimport sqlalchemy"),
    ("bot.adapters.store.runs", "from .rows import Row"),
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
    assert breaches("from .rows import Row", "bot.adapters.store", package=True) == []
    assert breaches("from ..logs import a", "bot.adapters.store", package=True) != []


def test_a_ring_of_imports_is_found_and_a_lazy_one_is_none() -> None:
    ring = {"bot.a": "from bot.b import x", "bot.b": "from bot import c", "bot.c": "import bot.a"}
    assert set(cycle(ring)) == set(ring)
    assert cycle({**ring, "bot.c": "def f():\n    import bot.a"}) == []
    assert cycle({**ring, "bot.c": "if TYPE_CHECKING:\n    import bot.a"}) != []


def test_in_the_simulation_a_lazy_ring_is_one_too() -> None:
    ring = {"bot.sim.a": "from bot.sim.b import x", "bot.sim.b": "def f():\n    import bot.sim.a"}
    assert set(cycle(ring)) == set(ring)


@pytest.mark.parametrize("command", ["match", "digest", "check_policy", "schema"])
def test_a_quick_command_loads_no_server(command: str) -> None:
    program = (
        f"import sys, bot.cli.{command};"
        "slow = {'aiohttp', 'alembic', 'gidgethub', 'rich', 'sqlalchemy', 'structlog'};"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
