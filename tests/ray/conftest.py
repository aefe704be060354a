"""One cluster and one service for every test here; each is a process of its own.

Without Ray they are skipped, and among the workers of a parallel run: each would start a cluster.
With RAY_TESTS=required nothing is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import pytest

from tests.submitter.conftest import BEARER, TOKEN, Service

HERE = Path(__file__).parent
CLUSTER = ["-m", "tests.ray.cluster"]


def reason_to_skip() -> str | None:
    """Say why the tests of this folder can't run here."""
    if os.environ.get("RAY_TESTS") == "required":
        return None
    if find_spec("ray") is None:
        return "the extra `ray` is not installed"
    return "run alone: pytest tests/ray" if "PYTEST_XDIST_WORKER" in os.environ else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    reason = reason_to_skip()
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.ray)
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def started(
    argv: list[str], mark: str, *, errors: bool, environ: dict[str, str] | None = None
) -> tuple[subprocess.Popen[str], str]:
    """Start a process and wait for the line that tells its address."""
    process = subprocess.Popen(
        [sys.executable, *argv],
        env={**os.environ, **(environ or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL if errors else subprocess.PIPE,
        stderr=subprocess.PIPE if errors else None,
        text=True,
    )
    stream = process.stderr if errors else process.stdout
    assert stream is not None
    for line in stream:
        if mark in line:
            return process, line.split()[-1]
    raise AssertionError(f"it ended before {mark!r}: {process.wait()}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """Start two nodes; answers the address of their dashboard."""
    # A folder of its own, so that no other cluster here is disturbed; short, for socket paths.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        # As in the image of a cluster, `python3` is one that has Ray.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environ = {"RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0", "PATH": path}
        process, address = started(CLUSTER, "cluster at", errors=False, environ=environ)
        yield address
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


@pytest.fixture
async def service(cluster: str, tmp_path: Path) -> AsyncIterator[Service]:
    """Start `ascend-ci submitter --backend ray` on it."""
    argv = ["-m", "bot", "submitter", "--backend", "ray", "--ray-address", cluster]
    argv += ["--port", "0", "--data-dir", str(tmp_path / "data"), "--kill-jobs-on-exit"]
    process, url = started(argv, "listening on", errors=True, environ={"SUBMITTER_TOKEN": TOKEN})
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout, headers=BEARER) as http:
        yield Service(url, http, tmp_path)
    process.terminate()
    process.communicate(timeout=30)
