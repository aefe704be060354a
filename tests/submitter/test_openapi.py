"""The service answers as its OpenAPI document says, to what fits the document and what does not."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.submitter.conftest import TOKEN, Process

# A body that fits may still be refused: 422 by its key alone, which another body has used.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "422", "429"]
"""


async def test_the_service_does_what_its_openapi_document_says(process: Process) -> None:
    service = await process.start("--max-jobs", "2")
    config = process.folder / "schemathesis.toml"
    config.write_text(CONFIG)
    tool = Path(sys.executable).with_name("schemathesis")
    argv = [str(tool), "--config-file", str(config), "--no-color", "run"]
    argv += [f"{service.url}/openapi.json", "-H", f"Authorization: Bearer {TOKEN}"]
    argv += ["--max-examples", "3", "--seed", "1", "--generation-database", "none"]
    checked = await asyncio.create_subprocess_exec(
        *argv, cwd=process.folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await checked.communicate()
    assert checked.returncode == 0, output.decode()
    assert "6 selected / 6 total" in output.decode()
