"""What the API tells of a pull request: what was selected, by what, for whom, and its standing."""

import aiohttp

from tests.e2e.world import World


async def explained(world: World, path: str) -> tuple[int, dict[str, object]]:
    """Read an explanation as a person with the token does."""
    hook = world.github.state.the_app().webhook_url
    assert hook is not None
    url = hook.replace("/webhook", f"/api/v1/explain/{path}")
    headers = {"Authorization": "Bearer reader"}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_a_pull_request_is_explained_by_file_and_pattern(world: World) -> None:
    world.settings = world.settings.model_copy(
        update={"dashboard": "public"},
    )
    await world.restart()
    pull = world.open_pull("writer", "verl/a.py")
    await world.settle()
    status, told = await explained(world, f"Octo/project/{pull.number}")
    assert (status, told["trusted"], told["head_sha"]) == (200, True, pull.head_sha)
    suites = told["suites"]
    assert isinstance(suites, list)
    unit = next(suite for suite in suites if suite["name"] == "unit")
    assert (unit["selected"], unit["pattern"], unit["files"]) == (True, "verl/**", ["verl/a.py"])
    assert unit["run"]["state"] == "waiting_for_runner"
    other = next(suite for suite in suites if suite["name"] == "nightly-grpo")
    assert (other["selected"], other["run"], other["waits_for"]) == (False, None, None)


async def test_what_a_run_waits_for_is_told(world: World) -> None:
    world.settings = world.settings.model_copy(update={"dashboard": "public"})
    await world.restart()
    for number in range(3):
        pull = world.open_pull("writer", f"verl/{number}.py", str(number))
        await world.pass_time(1)
    _, told = await explained(world, f"octo/project/{pull.number}")
    suites = told["suites"]
    assert isinstance(suites, list)
    unit = next(suite for suite in suites if suite["name"] == "unit")
    assert unit["waits_for"] == "linux-aarch64-a2b3-8, 2 ahead"
    nothing = world.open_pull("stranger", "docs/a.rst")
    await world.settle()
    _, told = await explained(world, f"octo/project/{nothing.number}")
    # Nobody asked for the stranger's level: neither answer would be true.
    assert (told["trusted"], told["trust_reason"]) == (None, "nothing starts by itself")


async def test_an_unknown_pull_request_and_a_reader_without_the_token_are_refused(
    world: World,
) -> None:
    status, _ = await explained(world, "octo/project/1")
    assert status == 403
    world.settings = world.settings.model_copy(update={"dashboard": "public"})
    await world.restart()
    status, told = await explained(world, "octo/project/999")
    assert (status, told["error"]) == (404, "this pull request is not known here")
