"""The templates, unchanged, in the simulated GitHub's runner, against a real Ray cluster."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest

from tests.submitter.conftest import Service
from tests.templates.site import ID, Site, log, meeting, open_site

# The cluster has one node beside the one that runs the script.
SIZES = {"worker_replicas": "1", "npus_per_worker": "4", "detach": "false"}
EACH_NODE = """
import pathlib, ray
ray.init(address="auto", log_to_driver=False)
here = str(pathlib.Path("marker").resolve())

@ray.remote(resources={"second": 1})
def other():
    return pathlib.Path(here).read_text().strip()

print("seen:", pathlib.Path("marker").read_text().strip(), ray.get(other.remote()))
"""


@pytest.fixture
async def site(service: Service) -> AsyncIterator[Site]:
    async with open_site(service.folder, service.url) as made:
        yield made


async def test_two_runs_at_once_see_their_own_commits_on_every_node(site: Site) -> None:
    runs = []
    for name in ("one", "two"):
        script = f"{meeting(site.folder, name)}{sys.executable} each_node.py\n"
        files = {"marker": f"of-{name}\n", "each_node.py": EACH_NODE}
        more = {**SIZES, "ascend_ci": f"{ID[:-3]}{name.upper()}"}
        runs.append(site.begin("ascend_multinode.yml", script, files, **more))
    await asyncio.gather(*(site.github.engine.wait(run) for run in runs))
    for name, run in zip(("one", "two"), runs, strict=True):
        assert run.conclusion == "success", log(run)
        assert f"seen: of-{name} of-{name}\n" in log(run)
    assert site.left() == []


async def test_a_training_that_fails_fails_the_workflow(site: Site) -> None:
    run = site.begin("ascend_multinode.yml", "echo trained\nexit 3\n", **SIZES)
    await site.github.engine.wait(run)
    assert run.conclusion == "failure", log(run)
    assert "trained\n" in log(run)
    assert "ascend-ci: final FAILED" in log(run)
    assert site.left() == []
