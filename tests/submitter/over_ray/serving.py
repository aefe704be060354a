"""A submitter over a pretended Ray cluster, served in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from bot.submitter.ray import RayBackend
from bot.submitter.ray_api import RayApi
from bot.submitter.web import Options, create_app
from tests.submitter.conftest import CALLERS, Service, at_loopback
from tests.submitter.over_ray.fake_ray import FakeRay

PACE = 0.02
LOG = b"".join(b"%d\n" % n for n in range(20_000)) + b"a\0b\n50%\r100%\n\xff\n\xe4\xb8\n\nlast"


@contextlib.asynccontextmanager
async def serving(
    cluster: FakeRay, folder: Path, http: aiohttp.ClientSession, **more: Any
) -> AsyncIterator[Service]:
    """Serve over the cluster in this process; leaving it is a restart for the next one."""
    api = RayApi(cluster.url, more.pop("token", None))
    backend = RayBackend(folder / "data", api, pace=PACE, **more)
    async with at_loopback(create_app(backend, Options(CALLERS)), http, folder) as service:
        yield service


def text_of(log: bytes) -> list[str]:
    """Return a log's lines as watchers get them."""
    return log.decode("utf-8", "replace").split("\n")
