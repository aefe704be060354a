"""Who may start and approve what, end to end: tables whose rows share a world."""

from collections.abc import Callable, Mapping

from bot.sim import NewPull
from bot.sim.model import Pull
from tests.e2e.people import all_say, paste, press, started, unharmed, waits
from tests.e2e.world import POLICY, World

LEVELS = ("read", "triage", "write", "maintain", "admin")  # "none" is read in a public repository
# A custom role: GitHub names it in `role_name`, and only its flags say what it grants.
CUSTOM = {"npu-driver": "triage", "npu-owner": "write"}
LISTED = {"listed", "teamer"}
WIDE = POLICY.replace("slots: 2", "slots: 99").replace("slots: 1", "slots: 99")
RULE = "trust: {users: [Listed], teams: [npu]}\n"

FORK = NewPull(fork=True)
VERL = {"verl/a.py": "1"}
HIDDEN = ".github/actions/x/action.yml"
EDIT = {HIDDEN: "1", **VERL}


async def people(world: World) -> dict[str, str]:
    """Fill a world with somebody of each level; return what each may do."""
    levels = {level: level for level in LEVELS} | CUSTOM
    for login, level in levels.items():
        world.github.grant(login, level, role=login if login in CUSTOM else None)
    for login in ("listed", "teamer", "pending"):
        world.github.grant(login, "read")
        levels[login] = "read"
    world.github.team("octo", "npu", {"teamer": "active", "pending": "pending"})
    world.github.people.push_branch("maintainer", {".github/ascend-ci.yml": WIDE + RULE})
    await world.settle()
    return levels


def enough(level: str, needed: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(needed)


def opened_by_each(world: World, levels: dict[str, str]) -> dict[str, Pull]:
    """Let everybody open a pull request from a fork."""
    open_pull = world.github.people.open_pull
    return {login: open_pull(login, {f"verl/{login}.py": "1"}, FORK) for login in levels}


async def test_a_pull_request_starts_by_itself_from_write_on(world: World) -> None:
    levels = await people(world)
    pulls = opened_by_each(world, levels)
    await world.settle()
    for login, pull in pulls.items():
        may = enough(levels[login], "write") or login in LISTED
        assert (pull.head_sha in started(world)) is may, login
        if not may:
            await waits(world, pull)
            assert "The author may not start runs here" in (world.gate(pull.head_sha).summary or "")
    before = started(world)
    state = world.github.state
    for permissions in (
        state.the_app().permissions,
        *(t.permissions for t in state.tokens.values()),
    ):
        del permissions["members"]  # a team that the app may not see trusts and stops nobody
    known, member = (
        world.github.people.open_pull(one, {"verl/b.py": "1"}, FORK) for one in ("write", "teamer")
    )
    await world.settle()
    assert started(world) == [*before, known.head_sha]
    await waits(world, member)


TIERS = (("unit", "standard", "triage"), ("nightly-grpo", "heavy", "write"))


async def test_a_suite_is_started_by_command_from_its_tiers_level_on(world: World) -> None:
    levels = await people(world)
    text = "\n".join(f"/ascend-e2e {suite}" for suite, _, _ in TIERS)
    pulls = {login: world.open_pull(path=f"docs/{login}.md") for login in levels}
    await world.settle()
    replies = await all_say(world, [(pull, login, text) for login, pull in pulls.items()])
    for (login, pull), reply in zip(pulls.items(), replies, strict=True):
        may = [enough(levels[login], needed) or login in LISTED for _, _, needed in TIERS]
        assert started(world).count(pull.head_sha) == sum(may), login
        for (suite, tier, needed), allowed in zip(TIERS, may, strict=True):
            refusal = f"`{suite}` was not started: it is a {tier} suite, which needs {needed}"
            assert (refusal in reply) is not allowed, login
            assert (paste(suite, pull.head_sha) in reply) is not allowed
    await unharmed(world)


async def test_a_strangers_commit_is_approved_from_write_on(world: World) -> None:
    levels, deeds = await people(world), world.github.people
    pulls = {
        login: deeds.open_pull("stranger", {f"verl/{login}.py": "1"}, FORK) for login in levels
    }
    await world.settle()
    speakers = list(levels)[::2]
    for login in levels.keys() - speakers:
        deeds.press(world.gate(pulls[login].head_sha).id, "approve", login)
    said = [(pulls[login], login, "/ascend-e2e approve") for login in speakers]
    replies = dict(zip(speakers, await all_say(world, said), strict=True))
    below = [login for login in levels if not enough(levels[login], "write")]  # listed or not
    for login, pull in pulls.items():
        assert (pull.head_sha in started(world)) is (login not in below), login
    for login in below:
        answer = replies.get(login) or world.gate(pulls[login].head_sha).summary or ""
        assert "needs write permission" in answer, login
        await waits(world, pulls[login])
    replies = dict(
        zip(
            below,
            await all_say(world, [(pulls[login], login, "/ascend-e2e unit") for login in below]),
            strict=True,
        )
    )
    for login, reply in replies.items():
        assert "permission here, and you have" in reply, login
        assert pulls[login].head_sha not in started(world)


def opened(
    author: str, files: Mapping[str, str] = VERL, *, fork: bool = True
) -> Callable[[World], Pull]:
    """Return the deed of opening a pull request."""

    def deed(world: World) -> Pull:
        return world.github.people.open_pull(author, {**files}, NewPull(fork=fork))

    return deed


def pushed(author: str, by: str, path: str = "verl/b.py") -> Callable[[World], Pull]:
    """Return the deed of pushing to somebody's pull request."""

    def deed(world: World) -> Pull:
        pull = world.github.people.open_pull(author, {"docs/a.md": "1"}, FORK)
        world.github.people.push(pull, {**VERL, path: "2"}, by=by)
        return pull

    return deed


def moved(author: str) -> Callable[[World], Pull]:
    """Return the deed of moving a file out of `.github/`, which names the old path as well."""

    def deed(world: World) -> Pull:
        path = ".github/workflows/unit.yml"
        text = world.github.state.repo().git.read("refs/heads/main", path)
        return world.github.people.open_pull(author, {path: None, "verl/unit.yml": text}, FORK)

    return deed


def many(author: str, count: int) -> Callable[[World], Pull]:
    """Return the deed of changing that many files."""
    return opened(author, {f"verl/{number}.py": "1" for number in range(count)})


TABLE: list[tuple[str, Callable[[World], Pull], bool]] = [
    ("write, from a fork", opened("write"), True),
    ("write, from a branch here", opened("write", fork=False), True),
    ("triage, from a branch here", opened("triage", fork=False), False),
    ("listed, from a fork", opened("listed"), True),
    ("write's pull request, pushed by write", pushed("write", "writer"), True),
    ("write's pull request, pushed by a member of the team", pushed("write", "teamer"), True),
    ("write's pull request, pushed by a stranger", pushed("write", "stranger"), False),
    ("a stranger's pull request, pushed by maintain", pushed("stranger", "maintain"), False),
    ("`.github/` by write", opened("write", EDIT), False),
    ("`.github/` by listed", opened("listed", EDIT), False),
    ("`.github/` by maintain", opened("maintain", EDIT), True),
    ("`.github/` by admin", opened("admin", EDIT), True),
    ("maintain's, `.github/` pushed by write", pushed("maintain", "write", HIDDEN), False),
    ("maintain's, `.github/` pushed by admin", pushed("maintain", "admin", HIDDEN), True),
    ("the policy by write", opened("write", {".github/ascend-ci.yml": "", **VERL}), False),
    ("a file moved out of `.github/` by write", moved("write"), False),
    ("3,001 files by write", many("write", 3001), False),
]


async def test_author_pusher_and_files_decide_what_starts_by_itself(world: World) -> None:
    await people(world)
    pulls = {}
    for claim, deed, _ in TABLE:
        pulls[claim] = deed(world)
        await world.clock.advance(1)  # else commits of one person are the same
    await world.settle()
    await world.pass_time(15)  # two heads of one second are asked for again
    expected = {pulls[claim].head_sha: claim for claim, _, starts in TABLE if starts}
    assert set(started(world)) == set(expected), expected
    for claim, _, starts in TABLE:
        if not starts:
            await waits(world, pulls[claim])
    said = world.gate(pulls["`.github/` by write"].head_sha).summary or ""
    assert f"This commit changes `{HIDDEN}`, so a maintainer must approve it" in said
    assert "author may not" not in said


REMOVED: dict[str, str | None] = {"verl/trainer/main_ppo.py": None}


async def test_files_of_another_head_make_nothing_trusted(world: World) -> None:
    await people(world)
    for other in (VERL, REMOVED):  # a list of removed files alone does not say whose it is
        pull = world.github.people.open_pull("write", {"docs/a.md": "1"}, FORK)
        await world.settle()
        sha = world.github.people.push(pull, EDIT)
        await world.github.deliveries.idle()
        world.github.deliveries.drop_if(lambda one: one.event == "pull_request")
        world.github.people.force_push(pull, files=other)
        while await world.bot.step("inbox")():
            pass
        world.github.people.force_push(pull, sha)
        await world.settle()
        world.github.deliveries.drop_if(None)
        await world.pass_time(15)
        await waits(world, pull)
        assert f"This commit changes `{HIDDEN}`" in (world.gate(sha).summary or "")
    assert started(world) == []
    pull = world.github.people.open_pull(
        "write", REMOVED, FORK
    )  # its own list is believed, some seconds later
    await world.pass_time(11)
    assert started(world) == [pull.head_sha]


def lose(world: World) -> None:
    """Lose what was dropped for good: GitHub does not list it any more either."""
    deliveries = world.github.deliveries
    deliveries.drop_if(None)
    deliveries.sent[:] = [one for one in deliveries.sent if one not in deliveries.dropped]


async def test_a_head_whose_webhook_was_lost_is_trusted_if_github_shows_who_pushed_it(
    world: World,
) -> None:
    await people(world)
    deeds = {
        "from a fork": (opened("maintain"), True),
        "from a fork that is gone": (opened("admin"), False),
        "from a branch here": (opened("write", fork=False), True),
        "from a branch here, by a reader": (opened("read", fork=False), False),
        "`.github/` by maintain": (opened("maintain", EDIT, fork=False), True),
    }
    world.github.deliveries.drop_if(lambda one: one.event in {"pull_request", "check_suite"})
    pulls = {claim: deed(world) for claim, (deed, _) in deeds.items()}
    world.github.people.delete_fork(pulls["from a fork that is gone"])
    lose(world)
    await world.clock.advance(3601)
    await world.sweep()
    for claim, (_, starts) in deeds.items():
        assert (pulls[claim].head_sha in started(world)) is starts, claim
        if not starts:
            await waits(world, pulls[claim])
    fork = pulls["from a fork that is gone"]
    assert "GitHub does not show who pushed" in (world.gate(fork.head_sha).summary or "")
    assert "GitHub does not show who pushed" in await press(world, fork.head_sha, "write")
    await press(world, fork.head_sha, "maintain")
    assert fork.head_sha in started(world)
