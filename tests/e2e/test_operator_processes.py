"""The operators' commands as processes beside a real service on the same database."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from bot.core.model.ids import RunId
from bot.store import Store
from tests.databases import SqliteTemplate
from tests.e2e.test_processes import environment, serve
from tests.store.building import put, run

ID = RunId("01M1EDEAG0902TA4SMEJRCA68B")


async def ascend_ci(variables: dict[str, str], *words: str) -> tuple[int, str]:
    """Run a command without a key of the app; return its exit code and what it prints."""
    ours = {name: text for name, text in variables.items() if not name.startswith("GITHUB_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", *words),
        env={**ours, "USER": "kim"},
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, said.decode()


async def logged(service: asyncio.subprocess.Process, **wanted: str) -> dict[str, Any]:
    """Return the service's next log line that says so."""
    assert service.stdout is not None
    async with asyncio.timeout(60):
        while line := await service.stdout.readline():
            fields: dict[str, Any] = json.loads(line)
            if wanted.items() <= fields.items():
                return fields
    raise AssertionError("the service ended")


async def test_a_running_service_hears_a_command(
    tmp_path: Path, sqlite_template: SqliteTemplate
) -> None:
    """A pause keeps a new run waiting, a cancel ends it: the service finds both in the rows."""
    database_url = sqlite_template.fresh(tmp_path)
    variables = environment(tmp_path, DATABASE_URL=database_url)
    service = await serve(variables)
    try:
        await logged(service, event="started")
        assert (await ascend_ci(variables, "pause", "--all", "--reason", "move"))[0] == 0
        store = await Store.open(database_url)
        await put(store, run("unit", id=ID))
        await store.close()
        code, said = await ascend_ci(variables, "cancel", ID[:12], "--reason", "not now")
        assert (code, said) == (0, f"{ID} (unit) is to stop.\n")
        moved = await logged(service, event="run moved", run=ID, state="done")
        assert (moved["outcome"], moved["why"]) == ("cancelled", "cancelled by kim: not now")
    finally:
        service.terminate()
        await asyncio.wait_for(service.communicate(), 60)
