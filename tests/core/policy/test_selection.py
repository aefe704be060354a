"""What a change selects, and the words for it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.messages import quote
from bot.core.policy.globs import compile_pattern, encode
from bot.core.policy.models import Policy, Trigger
from bot.core.policy.selection import (
    ChangedFile,
    Choice,
    Selection,
    lists_branch,
    may_set,
    nightly_suites,
    select,
    select_cost,
    suites_named,
    touches_protected,
)
from bot.core.policy.triggers import PullTriggers
from tests.core.policies import BASE, loaded, with_suite


def changed(*paths: str) -> list[ChangedFile]:
    return [ChangedFile(path) for path in paths]


def policy_with(*patterns: str) -> Policy:
    return loaded(with_suite(f"paths: {json.dumps(list(patterns))}"))


def choice(policy: Policy, *paths: str) -> Choice:
    found = select(policy, changed(*paths)).choice("unit")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("patterns", "path", "selected"),
    [
        (["src/**", "!**/*.md"], "src/a.py", True),
        (["src/**", "!**/*.md"], "src/a.md", False),
        (["!**/*.md", "src/**"], "src/a.md", True),
        (["**/*.py", "!src/**", "src/main.py"], "src/main.py", True),
        (["**/*.py", "!src/**", "src/main.py"], "src/other.py", False),
        (["*.py"], "src/a.py", False),
        (["setup.py"], "setup.py", True),
        (["setup.py"], "src/setup.py", False),
        (["**"], ".hidden/x", True),
        (["A.py"], "a.py", False),
        (["!a", "b"], "c", False),
    ],
)
def test_the_last_pattern_that_matches_a_file_decides(
    patterns: list[str], path: str, selected: bool
) -> None:
    assert choice(policy_with(*patterns), path).selected is selected


def test_a_selected_suite_names_its_first_file_and_the_pattern_that_decided() -> None:
    found = choice(
        policy_with("src/**", "!**/*.md", "src/x*"), "a", "src/b.md", "src/x.md", "src/c"
    )
    assert found == Choice(
        "unit", True, quote("`src/x.md` matches `src/x*`"), "src/x*", ("src/x.md", "src/c")
    )


@pytest.mark.parametrize(
    ("lines", "paths", "reason"),
    [
        (["triggers: [command]"], ["a"], "not started by `pull_request`, only by `command`"),
        (["triggers: []"], ["a"], "not started by `pull_request`, only by nothing"),
        ([], ["a"], "has no `paths`, so no file selects it"),
        (["paths: [b]"], [], "no file changed"),
        (["paths: [b]"], ["a"], "the changed file matches none of its paths"),
        (["paths: [b]"], ["a", "c"], "none of 2 changed files matches its paths"),
        (["paths: ['*', '!a']"], ["a"], "`a` is excluded by `!a`"),
        (
            ["paths: ['**', '!**/*.md']"],
            ["a.md", "b.md", "c/d.md"],
            "`a.md` is excluded by `!**/*.md`, and so are 2 more",
        ),
    ],
)
def test_an_unselected_suite_says_why(lines: list[str], paths: list[str], reason: str) -> None:
    found = choice(loaded(with_suite(*lines)), *paths)
    assert found == Choice("unit", False, quote(reason))


def test_a_file_name_cannot_break_out_of_its_code_span() -> None:
    found = choice(policy_with("**"), "a`b\n@x")
    assert found.reason == "`a'b?@x` matches `**`"
    assert found.files == ("a`b\n@x",)


def test_a_renamed_file_counts_under_both_names_and_a_copy_under_the_new_one() -> None:
    policy = policy_with("old/**")
    renamed = ChangedFile("new/a", "old/a", "renamed")
    copied = ChangedFile("new/a", "old/a", "copied")
    assert select(policy, [renamed]).choices[0].files == ("old/a",)
    assert select(policy, [copied]).selected == ()


def test_a_list_that_is_not_whole_selects_everything_with_paths_and_says_so() -> None:
    policy = loaded(with_suite("paths: [x]") + "  other: {workflow: o.yml, runners: [npu-8]}\n")
    selection = select(policy, changed("a"), truncated=True, policy_path="ci.yml")
    assert selection.selected == ("unit",)
    assert selection.choices[0].reason == (
        "more than 3,000 files changed, so all paths count as changed"
    )
    assert selection.truncated
    assert selection.protected == ("ci.yml", ".github/")


def test_a_push_starts_suites_with_that_trigger_by_paths_if_they_have_any() -> None:
    always = loaded(with_suite("triggers: [push]"))
    some = loaded(with_suite("triggers: [push]", "paths: [b]"))
    found = select(always, changed("a"), trigger=Trigger.PUSH)
    assert found.choices[0].reason == "it has no `paths`, so every push starts it"
    assert found.selected == ("unit",)
    assert select(some, changed("a"), trigger=Trigger.PUSH).selected == ()
    assert select(some, changed("b"), trigger=Trigger.PUSH).selected == ("unit",)


def test_the_policy_and_what_lies_under_github_are_protected() -> None:
    files = [
        ChangedFile("src/x"),
        ChangedFile(".github/workflows/a.yml"),
        ChangedFile("moved.yml", ".github/b.yml", "renamed"),
        ChangedFile("ci/policy.yml"),
        ChangedFile(".githubx"),
        ChangedFile("src/.github/x"),
    ]
    expected = (".github/workflows/a.yml", ".github/b.yml", "ci/policy.yml")
    assert touches_protected(files, "ci/policy.yml") == expected
    assert select(loaded(BASE), files, policy_path="ci/policy.yml").protected == expected


def test_a_harmless_file_beside_does_not_hide_an_edit_of_a_workflow() -> None:
    harmless = changed(".github/CODEOWNERS", ".github/a.md")
    dangerous = changed(
        ".github/actions/a/action.yml", ".github/workflows/z.yml", ".github/ascend-ci.yml"
    )
    told = touches_protected([*harmless, *dangerous], ".github/ascend-ci.yml", truncated=True)
    assert told == (
        ".github/ascend-ci.yml",
        ".github/workflows/z.yml",
        ".github/actions/a/action.yml",
        ".github/CODEOWNERS",
        ".github/a.md",
        ".github/",
    )


def test_a_choice_of_a_suite_that_does_not_exist_is_none() -> None:
    assert Selection(()).choice("unit") is None


def test_a_change_of_the_environment_is_seen() -> None:
    policy = loaded(with_suite("env_paths: ['docker/**', '!**/*.md']"))
    assert select(policy, changed("src/a", "docker/x")).environment == {"unit"}
    assert not select(policy, changed("docker/x.md")).environment
    assert not select(loaded(BASE), changed("docker/x")).environment


def test_a_selection_costs_as_much_as_its_filters_compare() -> None:
    policy = loaded(with_suite("paths: [src/**, '!src/x']", "env_paths: ['docker/**']"))
    once = select_cost(policy, changed("src/a"))
    assert select_cost(policy, changed("src/a", "src/b")) == 2 * once
    assert select_cost(policy, changed("src/a" + 1000 * "b")) == once + 3 * 1000
    assert not select_cost(loaded(BASE), changed("src/a"))


def test_branches_with_a_policy_of_their_own_are_listed_by_pattern() -> None:
    policy = loaded(BASE + "branches: [main, 'v0.*', '!v0.1']\n")
    listed = [name for name in ("main", "v0.2", "v0.1", "dev") if lists_branch(policy, name)]
    assert listed == ["main", "v0.2"]
    assert not lists_branch(loaded(BASE), "main")


NIGHTS = """\
  night-a: {workflow: a.yml, runners: [npu-8], triggers: [nightly]}
  night-b: {workflow: a.yml, runners: [npu-8], triggers: [command, nightly]}
  night-c: {workflow: a.yml, runners: [npu-8]}
nightly:
  - {name: most, suites: ["night-*", "!night-b"]}
  - {name: one, suites: [night-b]}
  - {name: all}
"""


def test_a_nightly_entry_takes_the_suites_it_names_that_have_the_trigger() -> None:
    policy = loaded(BASE + NIGHTS)
    assert [nightly_suites(policy, entry) for entry in policy.nightly] == [
        ("night-a",),
        ("night-b",),
        ("night-a", "night-b"),
    ]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("unit", ("unit",)),
        ("night-*", ("night-a", "night-b", "night-c")),
        ("uni", ()),
        ("[", ()),
        ("!unit", ()),
    ],
)
def test_a_word_of_a_command_names_suites(word: str, names: tuple[str, ...]) -> None:
    assert suites_named(loaded(BASE + NIGHTS), word) == names


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("script", "tests/a/b.sh", True),
        ("script", "other/b.sh", False),
        ("script", "tests/../b.sh", False),
        ("script", "tests/a\nb.sh", False),
        ("image", "tests/a.sh", False),
    ],
)
def test_only_settable_inputs_are_set_and_only_within_their_pattern(
    name: str, value: str, allowed: bool
) -> None:
    suite = loaded(with_suite("settable: {script: 'tests/**.sh'}")).suites["unit"]
    assert may_set(suite, name, value) is allowed


paths = st.lists(
    st.text(st.sampled_from("abc"), min_size=1, max_size=2), min_size=1, max_size=3
).map("/".join)
patterns = st.lists(
    st.sampled_from(["**", "*", "a/**", "**/b", "!a/**", "!**/b", "a", "!a", "b*", "!*/*"]),
    min_size=1,
    max_size=6,
).filter(lambda found: not all(pattern.startswith("!") for pattern in found))


@settings(max_examples=150)
@given(patterns, st.lists(paths, max_size=6))
def test_files_are_judged_one_by_one_in_the_order_of_the_patterns(
    found: list[str], names: list[str]
) -> None:
    expected = []
    for name in dict.fromkeys(names):
        verdict = False
        for pattern in found:
            if compile_pattern(pattern).matches(encode(name)):
                verdict = not pattern.startswith("!")
        expected += [name] * verdict
    result = choice(policy_with(*found), *names)
    assert list(result.files) == expected
    assert result.selected is bool(expected)


@settings(max_examples=50)
@given(st.lists(paths, min_size=1, max_size=4))
def test_a_path_without_wildcards_selects_itself(names: list[str]) -> None:
    assert choice(policy_with(*names), *names).files == tuple(dict.fromkeys(names))


@pytest.mark.parametrize(
    ("bases", "base", "selected"),
    [
        ("[main, 'v*', '!v1']", "main", True),
        ("[main, 'v*', '!v1']", "v2", True),
        ("[main, 'v*', '!v1']", "v1", False),
        ("[main]", "release/1", False),
        ("['release/**']", "release/1", True),
        ("[main]", "", True),  # any
        ("[]", "release/1", True),
    ],
)
def test_a_suite_is_selected_by_the_bases_that_it_names(
    bases: str, base: str, selected: bool
) -> None:
    policy, known = loaded(with_suite("paths: [a]", f"bases: {bases}")), PullTriggers(base=base)
    for truncated in (False, True):
        found = select(policy, changed("a"), truncated=truncated, workflows=known).choices[0]
        assert found.selected is selected
        if not selected:
            assert found.reason == quote(f"`{base}` is none of its `bases`")


def test_a_push_has_no_base_and_another_reason_stays() -> None:
    policy, other = loaded(with_suite("triggers: [push]", "bases: [main]")), PullTriggers(base="x")
    assert select(policy, (), trigger=Trigger.PUSH, workflows=other).selected == ("unit",)
    assert "not started by" in select(policy, (), workflows=other).choices[0].reason
