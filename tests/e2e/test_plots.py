"""The plot of a training, from the log to the picture that GitHub fetches."""

from urllib.parse import urlsplit

import aiohttp

from tests.e2e.call_budget import CHECK
from tests.e2e.cluster import RUNNING, Cluster
from tests.submitter.faulty_submitter import final, log

STEPS = [log(f"step:{n} - critic/rewards/mean:0.{n} - timing_s/step:4{n}.5") for n in range(1, 9)]


async def test_a_training_that_passed_shows_its_plot_whose_address_answers_a_png(
    cluster: Cluster,
) -> None:
    world = cluster.world
    given = {"public_url": "https://ci.example.org"}
    world.settings = world.settings.model_copy(update=given)
    await world.restart()
    pull, run = await cluster.begin()
    cluster.add(run, [RUNNING, *STEPS, final("SUCCEEDED")], state="SUCCEEDED")
    await cluster.finish(run)
    check = await cluster.ended(pull)
    assert check.conclusion == "success"
    [image] = check.images
    assert image["caption"] == "Mean reward and seconds per step, steps 1 to 8"
    url = urlsplit(image["image_url"])
    assert url.netloc == "ci.example.org"
    bot = urlsplit(str(world.github.state.the_app().webhook_url))
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://{bot.netloc}{url.path}") as response,
    ):
        assert response.status == 200
        assert (await response.read()).startswith(b"\x89PNG\r\n")
    written = world.writes(f"PATCH {CHECK}")
    await world.pass_time(3600)
    assert world.writes(f"PATCH {CHECK}") == written > 0
