"""What one key of a policy says about another."""

import pytest

from bot.core.policy.levels import Level
from bot.core.policy.loading import check_policy
from tests.core.policies import BASE, errors, loaded, with_suite

NIGHT = "triggers: [command, nightly]"


@pytest.mark.parametrize(
    ("lines", "path", "words"),
    [
        (["pool: clustr"], "pool", "unknown pool `clustr`; did you mean `cluster`?"),
        (["pool: x"], "pool", "unknown pool `x`; known: `cluster`"),
        (["npus: 9"], "npus", "9 NPUs a node, but a runner of `npu-8` has 8; name the `pool`"),
        (["nodes: 3"], "nodes", "3 nodes × 8 NPUs are 24, but `npu-8` holds 16 (2 × 8)"),
        (["pool: npu-8"], "pool", "`npu-8` is a runner label; leave `pool` out to hold the label"),
        (["pool: cluster", "nodes: 5"], "nodes", "5 nodes × 8 NPUs are 40, but pool `cluster`"),
        (["pool: cluster", "npus: 33"], "npus", "1 node × 33 NPUs are 33, but pool `cluster`"),
        (["paths: ['!a', '!b']"], "paths", "only excludes"),
        (["env_paths: ['!a']"], "env_paths", "only excludes"),
        (["start: native", "inputs: {a: b}"], "inputs", "GitHub starts a native suite itself"),
        (["start: native", "settable: {a: b}"], "settable", "GitHub starts a native suite itself"),
        (["start: native", "npus: 9"], "npus", "9 NPUs a node, but a runner of `npu-8` has 8"),
        (["start: native", NIGHT], "triggers[1]", "put `nightly` into its workflow"),
        (["start: native", "bases: [main]"], "bases", "names its base branches itself"),
        (["bases: ['!main']"], "bases", "only excludes"),
        (["jobs: [a]"], "jobs", "only a suite with `start: native` can name jobs"),
        (["triggers: [command, schedule]"], "triggers[1]", "the bot's own times are `nightly`"),
        (["start: native", "triggers: [push]"], "triggers[0]", "put `push` into its workflow"),
        (
            ["inputs: {" + ", ".join(f"i{n}: x" for n in range(21)) + "}"],
            "inputs",
            "21 inputs and the 5 always sent are 26; GitHub takes 25, so at most 20 here",
        ),
    ],
)
def test_keys_that_contradict_each_other_are_told(lines: list[str], path: str, words: str) -> None:
    ((at, line, message),) = errors(with_suite(*lines))
    assert at == f"suites.unit.{path}"
    assert line in (10, 11)
    assert words in message


@pytest.mark.parametrize(
    "lines",
    [
        ["nodes: 2"],
        ["npus: 8", "nodes: 2"],
        ["pool: cluster", "nodes: 2", "npus: 16"],
        ["pool: cluster", "nodes: 4"],
        ["start: native", "triggers: [pull_request, command]", "paths: ['**']"],
        ["start: native", "jobs: [unit, 'e2e *']", "triggers: [schedule]"],
        ["start: native", "nodes: 3"],  # GitHub queues its third job
        ["inputs: {" + ", ".join(f"i{n}: x" for n in range(20)) + "}", "settable: {i0: x}"],
        ["paths: ['!a', b]"],
    ],
)
def test_keys_that_fit_together_are_taken(lines: list[str]) -> None:
    assert check_policy(with_suite(*lines)).warnings == ()
    loaded(with_suite(*lines))


def test_labels_are_known_and_named_once() -> None:
    text = BASE.replace("runners: [npu-8]", "runners: [npu-8, npu-8, gpu]")
    assert errors(text) == [
        ("suites.unit.runners[1]", 9, "`npu-8` is listed twice"),
        (
            "suites.unit.runners[2]",
            9,
            "unknown runner label `gpu`; known: `npu-8`, `npu-16`",
        ),
    ]


def test_a_workflow_that_github_starts_is_followed_by_one_suite() -> None:
    other = "  more:\n    workflow: unit.yml\n    runners: [npu-8]\n    start: native\n"
    loaded(BASE + other)  # one is dispatched, the other is GitHub's
    loaded(with_suite("start: native") + other.replace("unit.yml", "more.yml"))
    ((at, line, message),) = errors(with_suite("start: native") + other)
    assert (at, line) == ("suites.more.workflow", 12)
    assert message.startswith("suite `unit` follows this workflow already")


@pytest.mark.parametrize(
    ("first", "second", "path", "words"),
    [
        ("", "jobs: [b]", "workflow", "suite `unit` follows this workflow already"),
        ("jobs: [a]", "", "workflow", "suite `unit` follows this workflow already"),
        ("jobs: [a, b]", "jobs: [c, b]", "jobs[1]", "is a job of suite `unit` already"),
        (
            "jobs: [a], rayjob: true",
            "jobs: [b], rayjob: true",
            "rayjob",
            "suite `unit` follows the RayJobs of this workflow already",
        ),
    ],
)
def test_suites_share_a_workflow_if_each_names_its_own_jobs(
    first: str, second: str, path: str, words: str
) -> None:
    suite = "  {}: {{workflow: w.yml, runners: [npu-8], start: native, {}}}\n"
    head = BASE.partition("suites:")[0] + "suites:\n"
    loaded(head + suite.format("unit", "jobs: [a], rayjob: true") + suite.format("b", "jobs: [b]"))
    ((at, _, message),) = errors(head + suite.format("unit", first) + suite.format("b", second))
    assert at == f"suites.b.{path}"
    assert words in message


@pytest.mark.parametrize("name", ["''", "' a'", '"a\\tb"', "x" * 201])
def test_a_job_has_a_name_that_github_can_show(name: str) -> None:
    ((path, _, message),) = errors(with_suite("start: native", f"jobs: [{name}]"))
    assert (path, message.startswith("must be a job's key")) == ("suites.unit.jobs[0]", True)


@pytest.mark.parametrize(
    ("edit", "pool", "path"),
    [
        (("slots: 2", "slots: -1"), "", "runners.npu-8.slots"),
        (("npus: 8", "npus: -8"), "", "runners.npu-8.npus"),
        (("{npus: 32}", "{npus: -1}"), "pool: cluster", "pools.cluster.npus"),
    ],
)
def test_what_holds_nothing_is_told_once_and_not_for_each_suite(
    edit: tuple[str, str], pool: str, path: str
) -> None:
    ((at, _, _),) = errors(with_suite(pool).replace(*edit))
    assert at == path


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (Level.READ, ("read", "pull")),
        (Level.TRIAGE, ("triage",)),
        (Level.WRITE, ("write", "push")),
        (Level.MAINTAIN, ("maintain",)),
        (Level.ADMIN, ("admin",)),
    ],
)
@pytest.mark.parametrize("key", ["auto", "standard", "heavy", "approve"])
def test_a_level_is_written_as_githubs_pages_or_its_api_name_it(
    level: Level, words: tuple[str, ...], key: str
) -> None:
    for word in words:
        assert getattr(loaded(f"{BASE}trust: {{{key}: {word}}}\n").trust, key) is level


@pytest.mark.parametrize("name", ["npu-8", "NPU-8"])
def test_a_pool_may_not_be_called_like_a_label(name: str) -> None:
    assert errors(BASE.replace("cluster:", f"{name}:")) == [
        (f"pools.{name}", 5, "is the name of a runner label too; rename the pool")
    ]


def test_a_label_is_the_same_in_capitals() -> None:
    assert errors(BASE.replace("npu-16:", "NPU-8:")) == [
        ("runners.NPU-8", 4, "is the label `npu-8` again: GitHub does not tell capitals apart")
    ]
    assert loaded(BASE.replace("[npu-8]", "[NPU-8]")).suites["unit"].runners == ("npu-8",)
    text = BASE.replace("runners: [npu-8]", "runners: [npu-8, NPU-8]")
    assert errors(text) == [("suites.unit.runners[1]", 9, "`npu-8` is listed twice")]


def test_an_unknown_label_among_many_lists_ten() -> None:
    runners = "".join(f"  label-{n}: {{}}\n" for n in range(12))
    suites = "suites: {s: {workflow: a.yml, runners: [zzz]}}\n"
    ((_, _, message),) = errors(f"version: 1\nrunners:\n{runners}{suites}")
    assert message.endswith("`label-9` and 2 more")


@pytest.mark.parametrize(
    ("suites", "words"),
    [
        ("[unit]", "`unit` lacks the trigger `nightly`"),
        ("[nigt]", "unknown suite `nigt`; did you mean `night`?"),
        ("[un*]", "`un*` matches no suite that has the trigger `nightly`"),
        ("['nigth*']", "matches no suite that has the trigger `nightly`; did you mean `night`?"),
        ("['[']", "never closed"),
        ("['night[']", "never closed"),
    ],
)
def test_a_nightly_entry_names_suites_that_have_the_trigger(suites: str, words: str) -> None:
    night = f"  night: {{workflow: a.yml, runners: [npu-8], {NIGHT}}}\n"
    ((path, line, message),) = errors(f"{BASE}{night}nightly:\n  - suites: {suites}\n")
    assert (path, line) == ("nightly[0].suites[0]", 12)
    assert words in message


@pytest.mark.parametrize("suites", ["[unit]", "['*']", "['un*', '!unit']", "['[t-v]nit']"])
def test_a_nightly_entry_may_use_names_and_globs(suites: str) -> None:
    assert len(loaded(with_suite(NIGHT) + f"nightly: [{{suites: {suites}}}]\n").nightly) == 1


def test_two_nightly_entries_have_two_names() -> None:
    assert errors(with_suite(NIGHT) + "nightly:\n  - {}\n  - {name: nightly}\n") == [
        ("nightly[1].name", 13, "`nightly` names another entry already")
    ]


WRONG_KINDS = """\
version: 1
runners: {a: {npus: x}}
suites:
  s: {workflow: a.yml, runners: [a, [a]], pool: [5], npus: x, nodes: yes, triggers: 5, paths: 5}
nightly: [{name: [5], suites: [[5]]}, {name: [5]}]
"""


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nrunners: 5\nsuites: 5\npools: 5\nnightly: 5\n",
        "version: 1\nrunners: {a: 5}\nsuites: {s: 5}\npools: {p: 5}\nnightly: [5]\n",
        WRONG_KINDS,
    ],
)
def test_values_of_the_wrong_kind_are_told_once_and_by_kind(text: str) -> None:
    found = errors(text)
    assert len({path for path, _, _ in found}) == len(found)


@pytest.mark.parametrize(
    ("lines", "path", "words"),
    [
        (["triggers: []"], "triggers", "nothing can start the suite"),
        (["triggers: [pull_request]"], "triggers", "selects nothing without `paths`"),
        (["triggers: [command]", "paths: [a]"], "paths", "has no effect"),
        (["start: native", "tier: heavy"], "tier", "heavy or not"),
        (["paths: [a, /b]"], "paths[1]", "`/b` can match no file"),
        (["paths: ['**', '!./b']"], "paths[1]", "`!./b` can match no file"),
        (["env_paths: [docker/]"], "env_paths[0]", "`docker/` can match no file"),
        (["paths: ['a ']"], "paths[0]", "`a ` can match no file"),
    ],
)
def test_what_can_hardly_be_meant_is_a_warning(lines: list[str], path: str, words: str) -> None:
    (warning,) = check_policy(with_suite(*lines)).warnings
    assert warning.path == f"suites.unit.{path}"
    assert words in warning.message


@pytest.mark.parametrize("word", ["read", "pull"])
def test_a_policy_that_lets_anybody_spend_is_warned_about(word: str) -> None:
    (warning,) = check_policy(BASE + f"trust: {{standard: {word}}}\n").warnings
    assert (warning.path, warning.line) == ("trust.standard", 10)


def test_a_policy_without_suites_is_warned_about() -> None:
    (warning,) = check_policy("version: 1\nrunners: {a: {}}\n").warnings
    assert (warning.path, warning.message) == ("file", "has no suites, so nothing can run")
