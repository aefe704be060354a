"""A native suite is selected where GitHub starts its workflow, as its documentation tells."""

import json

import pytest

from bot.core.messages import quote
from bot.core.policy.models import Policy
from bot.core.policy.selection import ChangedFile, Choice, select, select_cost
from bot.core.policy.triggers import MISSING, PullTriggers
from bot.core.policy.values import MAX_ITEMS
from bot.core.workflows.triggers import triggers_of
from tests.core.policies import loaded

OPENED, PUSHED = frozenset({"opened", "reopened"}), frozenset({"synchronize", "reopened"})


def policy_of(more: str = "") -> Policy:
    return loaded(
        "version: 1\nrunners: {npu-8: {npus: 8}}\n"
        f"suites:\n  own: {{workflow: w.yml, start: native, runners: [npu-8]{more}}}\n"
    )


def told(on: str, **facts: object) -> PullTriggers:
    text = f"on: {on}\njobs: {{}}\n"
    return PullTriggers(triggers_of({"w.yml": text.encode()}), **{"base": "main", **facts})  # type: ignore[arg-type]


def choice(triggers: PullTriggers, *paths: str, more: str = "", truncated: bool = False) -> Choice:
    files = [ChangedFile(path) for path in paths]
    found = select(policy_of(more), files, truncated=truncated, workflows=triggers)
    return found.choices[0]


@pytest.mark.parametrize(
    ("on", "base", "paths", "selected"),
    [
        ("pull_request", "any", "a", True),
        ("[push, pull_request]", "any", "a", True),
        ("{pull_request: }", "any", "", True),
        ("pull_request_target", "any", "a", True),
        ("push", "main", "a", False),
        ("{workflow_dispatch: }", "main", "a", False),
        ("{pull_request: {branches: [main, 'v0.*']}}", "main", "a", True),
        ("{pull_request: {branches: [main, 'v0.*']}}", "v0.5.x", "a", True),
        ("{pull_request: {branches: [main, 'v0.*']}}", "release/1", "a", False),
        ("{pull_request: {branches: main}}", "main", "a", True),
        ("{pull_request: {branches: ['*']}}", "release/1", "a", False),
        ("{pull_request: {branches: ['**']}}", "release/1", "a", True),
        ("{pull_request: {branches: ['release/**', '!release/**-x']}}", "release/1-x", "a", False),
        ("{pull_request: {branches: ['!release/**', 'release/1']}}", "release/1", "a", True),
        ("{pull_request: {branches: ['!x']}}", "main", "a", False),  # one without `!` is needed
        ("{pull_request: {branches: ['v[12].[0-9]+']}}", "v1.10", "a", True),
        ("{pull_request: {branches: ['v[12].[0-9]+']}}", "v3.1", "a", False),
        ("{pull_request: {branches: ['mains?']}}", "main", "a", True),
        ("{pull_request: {branches-ignore: ['release/**']}}", "release/1", "a", False),
        ("{pull_request: {branches-ignore: ['release/**']}}", "main", "a", True),
        ("{pull_request: {branches: []}}", "main", "a", True),
        ("{pull_request: {paths: ['src/**']}}", "main", "docs/x src/a.py", True),
        ("{pull_request: {paths: ['src/**']}}", "main", "docs/x", False),
        ("{pull_request: {paths: ['src/**', '!src/**.md']}}", "main", "src/a.md", False),
        ("{pull_request: {paths: ['!src/**.md', 'src/**']}}", "main", "src/a.md", True),
        ("{pull_request: {paths: ['**']}}", "main", "", False),  # no file changed
        ("{pull_request: {paths-ignore: ['docs/**']}}", "main", "docs/x", False),
        ("{pull_request: {paths-ignore: ['docs/**']}}", "main", "docs/x a", True),
        ("{pull_request: {paths-ignore: ['docs/**']}}", "main", "", False),
        ("{pull_request: {branches: [x], paths: ['**']}}", "main", "a", False),
        ("{pull_request: {branches: [x]}, pull_request_target: }", "main", "a", True),
    ],
)
def test_all_filters_of_an_event_let_a_change_through(
    on: str, base: str, paths: str, selected: bool
) -> None:
    found = choice(told(on, base=base), *paths.split())
    assert found.selected is selected, found.reason


@pytest.mark.parametrize(
    ("types", "activities", "selected"),
    [
        ("", OPENED, True),
        ("", PUSHED, True),
        ("[opened, synchronize, reopened, ready_for_review]", PUSHED, True),
        ("[opened]", OPENED, True),
        ("[opened]", PUSHED, False),
        ("synchronize", PUSHED, True),
        ("synchronize", OPENED, False),
        ("[opened]", OPENED | PUSHED, True),  # not known: it may have been started
        ("[labeled]", OPENED | PUSHED, False),
    ],
)
def test_a_type_of_activity_starts_it(
    types: str, activities: frozenset[str], selected: bool
) -> None:
    triggers = told(f"{{pull_request: {{types: {types}}}}}", activities=activities)
    assert choice(triggers, "a").selected is selected


@pytest.mark.parametrize(
    ("on", "paths", "reason"),
    [
        ("pull_request", "a", "GitHub starts `w.yml` for every change"),
        ("push", "a", "`w.yml` does not start for pull requests"),
        (
            "{pull_request: {types: [labeled, closed]}}",
            "a",
            "GitHub does not start `w.yml` at a push, only at `labeled`, `closed`",
        ),
        (
            "{pull_request: {branches: [x]}}",
            "a",
            "GitHub starts `w.yml` for no pull request into `main`",
        ),
        ("{pull_request: {paths: [b, a]}}", "a", "`a` matches `a`"),
        (
            "{pull_request: {paths: [b]}}",
            "a c",
            "none of 2 changed files matches its paths",
        ),
        ("{pull_request: {paths-ignore: [a]}}", "a b", "`w.yml` does not ignore `b`"),
        ("{pull_request: {paths-ignore: [a]}}", "a", "`w.yml` ignores all changed files"),
        ("{pull_request: {paths-ignore: [a]}}", "", "no file changed"),
    ],
)
def test_a_choice_says_which_filter_decided(on: str, paths: str, reason: str) -> None:
    assert choice(told(on), *paths.split()).reason == quote(reason)


@pytest.mark.parametrize("filters", ["paths: [z]", "paths-ignore: ['f*']"])
def test_a_file_beyond_the_first_300_is_needed_though_github_starts_nothing_for_it(
    filters: str,
) -> None:
    triggers = told(f"{{pull_request: {{{filters}}}}}")
    many = [f"f{number}" for number in range(299)]
    assert choice(triggers, *many, "z").selected
    last = choice(triggers, *many, "f", "z")
    assert last.selected
    assert last.reason == (
        "`z` matches, but is not among the first 300 changed files: GitHub looks at no more of"
        " them for `w.yml`"
    )


def test_of_a_list_that_is_not_whole_any_file_may_match_but_not_any_base() -> None:
    triggers = told("{pull_request: {paths: [z]}}")
    assert choice(triggers, truncated=True).selected
    other = told("{pull_request: {branches: [x], paths: [z]}}")
    assert not choice(other, truncated=True).selected


@pytest.mark.parametrize(
    ("on", "why"),
    [
        ("{pull_request: {paths: [a], paths-ignore: [b]}}", "line 1: `pull_request` has both"),
        ("{pull_request: {branches: [a], branches-ignore: [b]}}", "`branches-ignore`"),
        ("{pull_request: {paths: ['[']}}", "line 1: `[`: "),
        (json.dumps({"pull_request": {"paths": ["a"] * (MAX_ITEMS + 1)}}), "more than 200"),
        ("{", "line 2: "),
    ],
)
def test_what_cannot_be_read_may_be_started(on: str, why: str) -> None:
    found = choice(told(on), "a")
    assert found.selected
    assert found.reason.startswith("`w.yml` can't be read, so GitHub may start it: line")
    assert why in found.reason


def test_a_base_without_the_workflow_does_not_start_it() -> None:
    found = choice(PullTriggers({"w.yml": MISSING}, "release/1"), "a", more=", paths: ['**']")
    assert found == Choice("own", False, quote("`release/1` has no `w.yml`"))


@pytest.mark.parametrize(
    ("on", "head", "path", "selected"),
    [
        ("{pull_request: {paths: ['src/**']}}", "", "src/a", True),
        ("{pull_request: {paths: ['src/**']}}", "", "src/x", False),  # not by the policy
        ("{pull_request: {paths: ['other/**']}}", "", "src/a", False),  # not by GitHub
        ("pull_request", "", "src/a", True),
        ("push", "topic", "src/a", True),
        ("push", "", "src/a", False),  # of a fork
        ("{push: {branches: [main]}}", "topic", "src/a", False),
        ("{push: {tags: ['v*']}}", "topic", "src/a", False),
        ("{push: {tags: ['v*'], branches: ['**']}}", "topic", "src/a", True),
    ],
)
def test_beside_paths_of_the_policy_both_have_to_select(
    on: str, head: str, path: str, selected: bool
) -> None:
    found = choice(told(on, head=head), path, more=", paths: ['src/a']")
    assert found.selected is selected
    if selected:
        assert found.reason == quote("`src/a` matches `src/a`")


def test_without_the_workflow_the_paths_of_the_policy_decide() -> None:
    files = [ChangedFile("a")]
    assert select(policy_of(", paths: [a]"), files).selected == ("own",)
    assert select(policy_of(", paths: [a]"), files, workflows=PullTriggers()).selected == ("own",)
    unknown = select(policy_of(), files).choices[0]
    assert unknown == Choice(
        "own", False, quote("GitHub decides by the filters of `w.yml`, which is not known here")
    )


def test_a_native_suite_without_paths_is_required() -> None:
    assert policy_of().suites["own"].is_required
    assert not policy_of(", triggers: [schedule]").suites["own"].is_required


def test_the_filters_of_workflows_count_as_work() -> None:
    files, policy = [ChangedFile("a")], policy_of()
    assert select_cost(policy, files) == 0
    triggers = told("{pull_request: {paths: [a, b]}, pull_request_target: {paths-ignore: [c]}}")
    assert select_cost(policy, files, triggers) == 3 * 601
