"""Names that carry Markdown, HTML, mentions, escapes or a shell: shown, they do nothing."""

import re
import unicodedata

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy
from bot.sim import NewPull
from bot.sim.model import CheckRun, Pull
from tests.e2e.people import say, stands, started, unharmed
from tests.e2e.world import LABEL, POLICY, World

EVIL = "`@everyone` #1 **b** <img src=x onerror=y> | </details> [x](//evil) $(id)"
WORD = "`@everyone|#1<b>$(id)`*x*"  # where no space may be
RAW = f"\x1b[31m{EVIL}\x07\r\n\n# head\n@octo/team \u202egpj"
BRANCH = "v0.`@everyone`|#1<b>$(id)&x;"
LOGIN = 'Eve`|<b>@everyone#1"$(id)\u202e\x1b[31m'

# What GitHub looks for in text that is no code, and what it must not get to see.
ACTS = re.compile(r"@[A-Za-z0-9]|(?<!&)#[0-9]|\bGH-[0-9]|[a-z]://|\bwww\.", re.IGNORECASE)
OURS = re.compile(r"</?code>|</?details>|</?summary>|<!-- ascend-ci: [a-z0-9 ]+ -->")
BLOCKS = {"paragraph_open", "table_open", "fence", "html_block", "bullet_list_open"}


def assert_inert(markdown: str, url: str) -> None:
    """Check that nothing in it acts but links of ours and tags of ours."""
    assert_printable(markdown)
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    assert {token.type for token in tokens if token.level == 0 and token.nesting >= 0} <= BLOCKS
    lines = markdown.split("\n")
    for token in tokens:
        if token.type == "table_open" and token.map:
            rows = lines[token.map[0] : token.map[1]]
            assert len({row.count("|") for row in rows}) == 1, rows
        if token.type == "html_block":
            assert not OURS.sub("", token.content).strip(), token.content
        in_code = False  # where GitHub looks for nothing
        for part in token.children or ():
            in_code = (in_code or part.content == "<code>") and part.content != "</code>"
            assert_part_inert(part, url, in_code=in_code)


def assert_part_inert(token: Token, url: str, *, in_code: bool) -> None:
    assert token.type != "image"
    if token.type == "link_open":
        assert str(token.attrs["href"]).startswith(url), token.attrs
    if token.type == "html_inline":
        assert OURS.fullmatch(token.content), token.content
    if token.type == "text" and not in_code:
        assert not ACTS.search(token.content), token.content


def assert_printable(text: str) -> None:
    odd = {char for char in text if unicodedata.category(char) in {"Cc", "Cf"}}
    assert odd <= {"\n", "\u200b"}, odd


def assert_all_inert(world: World) -> int:
    """Check all that the bot has shown; return how much it was."""
    app = world.github.state.the_app()
    checks: list[CheckRun] = world.github.check_runs()
    for check in checks:
        assert "\n" not in (check.title or "")
        assert_printable(check.title or "")
        assert_inert(check.summary or "", world.github.url)
        assert_inert(check.text or "", world.github.url)
    replies = [one.body for one in world.github.state.comments.values() if one.user is app.bot]
    for reply in replies:
        assert_inert(reply, world.github.url)
    return len(checks) + len(replies)


def hostile(policy: str) -> str:
    title = EVIL.replace('"', "'")
    text = policy.replace("title: NPU unit tests", f'title: "{title}"')
    label = WORD.replace('"', "'")
    text = text.replace(LABEL, f'"{label}"')
    return text.replace("version: 1", 'version: 1\nbranches: ["v0.*"]')


def open_hostile(world: World, author: str, base: str | None = None, *, fork: bool = True) -> Pull:
    files = {f"verl/{RAW.replace('/', '_')}.py": "1", "verl/|@everyone #1 <b>`x`.py": "2"}
    new = NewPull(title=RAW, body=RAW, branch=f"x{BRANCH}", base=base, fork=fork)
    return world.github.people.open_pull(author, files, new)


async def test_hostile_names_are_shown_and_do_nothing(world: World) -> None:
    policy = hostile(POLICY)
    assert isinstance(load_policy(policy.encode()), Policy)
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy})
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": policy}, BRANCH)
    world.github.actions.runners.register(WORD, 4)
    world.github.grant(LOGIN, "write")
    await stands(world)
    mine, theirs = open_hostile(world, LOGIN, BRANCH), open_hostile(world, "stranger")
    await stands(world)
    assert started(world) == [mine.head_sha]
    assert "everyone" in (world.gate(mine.head_sha).summary or "")
    assert "everyone" in (world.gate(theirs.head_sha).summary or "")
    for text in (
        f"{EVIL}",
        f"unit {WORD}",
        f"unit --runner {WORD}",
        f"unit --sha {'ab' * 10}",
        f"rerun {WORD} --sha {WORD}",
        f"explain {WORD}\u202e\x1b[31m",
        "explain",
        "status",
        "approve",
        "cancel unit",
    ):
        assert await say(world, theirs, LOGIN, f"/ascend-e2e {text}"), text
        await world.pass_time(6)
    edit = {f".github/{WORD}@everyone #1.yml": "1", "verl/z.py": "1"}
    held = world.github.people.open_pull(LOGIN, edit, NewPull(branch="held", fork=True))
    await stands(world)
    assert "everyone" in await say(world, held, LOGIN, "/ascend-e2e status")
    world.github.people.rerun_check(world.gate(held.head_sha).id, LOGIN)
    await stands(world)
    assert "press **Approve & run** on the gate" in (world.gate(held.head_sha).summary or "")
    await say(world, mine, LOGIN, "/ascend-e2e cancel")
    for run in world.github.runs():
        world.github.actions.finish(run, "cancelled")
    await stands(world)
    assert "everyone" in (world.gate(mine.head_sha).title or "")  # cancelled by
    assert assert_all_inert(world) > 12
    await unharmed(world)


async def test_errors_of_a_hostile_policy_do_nothing(world: World) -> None:
    lines = f'"{WORD}": 1\nsuites: {{"{WORD}": {{workflow: "{EVIL}", runners: ["{WORD}"]}}}}\n'
    world.github.people.push_branch(
        "maintainer", {".github/ascend-ci.yml": f"version: 1\nrunners: {{}}\n{lines}"}
    )
    await stands(world)
    pull = open_hostile(world, "maintainer", fork=False)
    await stands(world)
    assert "has 5 errors" in (world.gate(pull.head_sha).title or "")
    assert "everyone" in (world.gate(pull.head_sha).summary or "")
    assert "on `main` has 5 errors, the first: line 2" in await say(
        world, pull, "maintainer", "/ascend-e2e unit"
    )
    assert assert_all_inert(world) == 2
    assert world.github.runs() == []
