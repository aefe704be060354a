"""A short bad day: webhooks lost, doubled and shuffled, calls that fail, a bot that is killed."""

from dataclasses import replace

from tests.e2e.world import World
from tests.soak.crowd import SLOTS, Crowd
from tests.soak.short import day

SEED, ACTS = 3, 30


async def test_a_bad_day_ends_right_and_its_judge_sees_what_does_not(world: World) -> None:
    crowd = await day(world, SEED, ACTS)
    assert crowd.broken == set()
    assert crowd.wrong() == []
    assert len(crowd.seen) > ACTS // 3
    _sees_an_open_check_run(crowd)
    _sees_a_second_check_run(crowd)
    _sees_commands_without_one_reply(crowd)
    _sees_too_many_runs(crowd)


def _sees_an_open_check_run(crowd: Crowd) -> None:
    check = next(iter(one for one in crowd.github.state.checks.values() if one.external_id))
    check.status = "in_progress"
    assert any("stays in_progress" in text for text in crowd.wrong())
    check.status = "completed"


def _sees_a_second_check_run(crowd: Crowd) -> None:
    checks = crowd.github.state.checks
    check = next(iter(one for one in checks.values() if one.external_id))
    checks[0] = replace(check)
    assert f"2 check runs for {check.external_id}" in crowd.wrong()
    del checks[0]


def _sees_commands_without_one_reply(crowd: Crowd) -> None:
    comments = crowd.github.state.comments
    number, reply = next((number, one) for number, one in comments.items() if one.app)
    comments[0] = replace(reply)
    assert any(text.startswith("2 replies to") for text in crowd.wrong())
    del comments[0], comments[number]
    assert any(text.startswith("0 replies to") for text in crowd.wrong())
    comments[number] = reply


def _sees_too_many_runs(crowd: Crowd) -> None:
    for run in crowd.github.runs()[: SLOTS + 1]:
        run.status = "in_progress"
    crowd.finish()
    assert f"{SLOTS + 1} runs on {SLOTS} slots" in crowd.broken
