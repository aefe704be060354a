"""A policy that asks for Chinese: everything on GitHub is said in it, whatever tells of it."""

import re

from bot.core.messages.message import HAN
from tests.e2e.test_pull_events import new_policy, runs_of
from tests.e2e.world import GATE, POLICY, World

CHINESE = POLICY.replace("version: 1", "version: 1\nreport: {language: zh}")
PATH = ".github/ascend-ci.yml"
_SHOWN = re.compile(r"`[^`]*`|\[.*?\]\(<.*?>\)|<!--.*?-->|<[^>]*>|\*\*", re.DOTALL)
_ENGLISH = re.compile(r"(?:\b[A-Za-z]{2,}[ ,]+){3,}")


def in_chinese(text: str | None) -> bool:
    """Return True if a text is Chinese; code and links may be anything."""
    said = _SHOWN.sub("", text or "")
    return bool(HAN.search(said)) and not _ENGLISH.search(said)


async def test_check_runs_buttons_replies_and_refusals_are_chinese(world: World) -> None:
    await new_policy(world, CHINESE)
    pull, theirs = world.open_pull(), world.open_pull("stranger", "verl/b.py")
    await world.settle()
    for number in (pull, theirs):
        world.github.people.comment(number, "stranger", "/ascend-e2e unit")
        world.github.people.comment(number, "maintainer", "/ascend-e2e explain\n/ascend-e2e statu")
    await world.settle()
    gate, asks = world.gate(pull.head_sha), world.gate(theirs.head_sha)
    assert (gate.title, asks.title) == (
        "排队中：unit",
        f"等待维护者批准：{theirs.head_sha[:7]} 的 1 个套件尚未运行",
    )
    texts = [gate.summary, asks.summary, world.check("unit", pull.head_sha).title]
    texts += [one.body for one in world.github.state.comments.values() if one.user.type == "Bot"]
    assert len(texts) > 5
    assert [text for text in texts if not in_chinese(text)] == []
    assert [action["label"] for action in asks.actions] == ["批准并运行"]
    world.github.actions.finish(runs_of(world, pull)[0], "failure")
    await world.settle()
    check = world.check("unit", pull.head_sha)
    assert in_chinese(check.title)
    assert in_chinese(check.summary)


async def test_a_broken_policy_and_a_proposed_one_are_told_in_the_language_that_held(
    world: World,
) -> None:
    await new_policy(world, CHINESE)
    proposal = world.open_pull("maintainer", PATH, CHINESE.replace("slots: 2", "slots: 1"))
    await world.settle()
    check = world.github.check(f"{GATE} policy", proposal.head_sha)
    assert check is not None
    assert check.title == "1 处改动，没有放宽规则"
    await new_policy(world, CHINESE.replace("slots: 2", "slots: many"))
    pull = world.open_pull()
    await world.settle()
    gate = world.gate(pull.head_sha)
    assert str(gate.title).startswith("与本次改动无关：main 分支的策略有 1 处错误（")
    world.github.people.comment(pull, "maintainer", "/ascend-e2e unit")
    world.github.checks.rerun(gate, world.github.user("maintainer"))
    await world.settle()
    assert str(world.gate(pull.head_sha).summary).startswith("没有启动任何套件：`main` 上的")
