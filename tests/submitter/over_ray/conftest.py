"""A cluster that does what a test wants, and the service over it."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.submitter.conftest import Service
from tests.submitter.over_ray.fake_ray import FakeRay
from tests.submitter.over_ray.serving import serving


@pytest.fixture
async def cluster() -> AsyncIterator[FakeRay]:
    """Open a cluster without a job."""
    async with FakeRay() as made:
        yield made


@pytest.fixture
async def service(
    cluster: FakeRay, http: aiohttp.ClientSession, tmp_path: Path
) -> AsyncIterator[Service]:
    """Serve over the cluster."""
    async with serving(cluster, tmp_path, http) as made:
        yield made
