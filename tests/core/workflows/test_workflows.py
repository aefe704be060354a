"""Workflows of a repository as native suites: what moves over, and what is said of the rest."""

import pytest

from bot.core.policy.models import Start
from bot.core.workflows import Workflow
from bot.core.workflows.jobs import MAX_JOBS
from bot.core.workflows.writing import word
from tests.core.workflows.transfers import FOLDER, carried, missed, policy_of, workflow

TYPICAL = """\
name: NPU unit tests
on:
  pull_request:
    branches: [main, "v0.*"]
    paths:
      - "src/**"
      - "!**/*.md"
jobs:
  one:
    runs-on: linux-aarch64-a2b3-8
    timeout-minutes: 60
    steps: [{run: pytest}]
"""


def test_a_workflow_becomes_one_native_suite() -> None:
    result = carried(npu_unit=TYPICAL)
    policy = policy_of(result)
    suite = policy.suites["npu_unit"]
    assert list(policy.suites) == ["npu_unit"]
    assert (suite.workflow, suite.start, suite.title) == (
        "npu_unit.yml",
        Start.NATIVE,
        "NPU unit tests",
    )
    assert suite.runners == ("linux-aarch64-a2b3-8",)
    assert suite.paths == ("src/**", "!**/*.md")
    assert suite.timeout_minutes == 60
    assert suite.is_required
    assert policy.branches == ("main", "v0.*")
    runner = policy.runners["linux-aarch64-a2b3-8"]
    assert (runner.npus, runner.chip, runner.slots) == (8, "a2", 1)
    assert result.workflows == (Workflow(FOLDER + "npu_unit.yml", "npu_unit", "carried over"),)


def test_the_text_says_where_each_suite_came_from() -> None:
    text = carried(npu_unit=TYPICAL).policy
    assert text is not None
    assert f"  # From {FOLDER}npu_unit.yml\n  #   job `one`: `linux-aarch64-a2b3-8`\n" in text


def test_many_jobs_are_named_by_the_first_four() -> None:
    jobs = "".join(f"  j{number}: {{runs-on: npu-8}}\n" for number in range(6))
    text = carried(a=f"on: pull_request\njobs:\n{jobs}").policy
    assert text is not None
    assert "  #   job `j3`: `npu-8`\n  #   and 2 more jobs\n  a:\n" in text


@pytest.mark.parametrize(
    ("label", "npus", "chip"),
    [
        ("linux-aarch64-a2-4", 4, "a2"),
        ("linux-aarch64-a2b3-8", 8, "a2"),
        ("linux-aarch64-a3-16", 16, "a3"),
        ("runner.910b4.x-1", 1, "a2"),
        ("a3_large", 8, "a3"),
        ("Ascend910b-2", 2, ""),
        ("linux-310p-4", 4, "310p"),
        ("npu", 8, ""),
        ("910c-npu-1024", 8, "a3"),
    ],
)
def test_npus_and_chip_are_guessed_from_the_label(label: str, npus: int, chip: str) -> None:
    result = carried(a=workflow(job=f"runs-on: {label}"))
    runner = policy_of(result).runners[label]
    assert (runner.npus, runner.chip) == (npus, chip)
    guessed = f"{label}: {{npus: {npus}" in str(result.policy)
    assert guessed is not ("# npus: 8 is assumed" in str(result.policy))


@pytest.mark.parametrize("label", ["L20x8", "ubuntu-latest-npu", "gpu-a100-8", "linux-arm64-8"])
def test_other_labels_are_left_alone(label: str) -> None:
    result = carried(a=workflow(job=f"runs-on: {label}"))
    assert (result.policy, result.missed) == (None, ())
    reason = f"no label of its jobs names Ascend NPUs: `{label}`"
    assert result.workflows == (Workflow(FOLDER + "a.yml", None, reason),)


def test_a_workflow_without_jobs_is_left_alone() -> None:
    assert carried(a="on: pull_request\n").workflows[0].reason == "has no jobs"


def test_a_workflow_made_for_the_bot_is_left_alone() -> None:
    text = workflow("on: {workflow_dispatch: {inputs: {ascend_ci: {required: true}}}}")
    result = carried(a=text)
    assert (result.policy, result.missed) == (None, ())
    assert result.workflows[0].reason == "takes the input `ascend_ci`: it is the bot that starts it"


@pytest.mark.parametrize(
    ("on", "names"),
    [
        ("on: pull_request", ["pull_request"]),
        ("on: [pull_request, push]", ["pull_request", "push"]),
        ("on: {pull_request: }", ["pull_request"]),
        ('"on": {pull_request: {paths: ["**"]}}', ["pull_request"]),
        ("name: nothing starts it", []),
    ],
)
def test_events_are_read_however_they_are_written(on: str, names: list[str]) -> None:
    result = carried(a=workflow(on))
    if names:
        assert policy_of(result).suites["a"].paths == ("**",)
    else:
        reason = "nothing starts it"
        assert result.workflows[0].reason == reason


def test_ignored_paths_are_taken_out_of_every_file() -> None:
    on = 'on:\n  pull_request:\n    paths-ignore: [docs/**, "!x", "[", "*.md"]'
    result = carried(a=workflow(on))
    assert policy_of(result).suites["a"].paths == ("**", "!docs/**", "!*.md")
    assert missed(result) == [
        (3, "filter `!x`: `paths-ignore` knows no `!`"),
        (3, "filter `![`: `[` is never closed; write `\\[` for a bracket"),
    ]


def test_paths_win_over_ignored_ones() -> None:
    on = "on:\n  pull_request:\n    paths: [a]\n    paths-ignore: [b]"
    result = carried(a=workflow(on))
    assert policy_of(result).suites["a"].paths == ("a",)
    text = "`paths-ignore` beside `paths`: GitHub takes only one, `paths` was carried"
    assert missed(result) == [(4, text)]


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        ('["!a", "!b"]', "its path filters match no file"),
        ("", "its path filters match no file"),
        (
            f"[{', '.join(f'f{n}' for n in range(201))}]",
            "has more path filters than the 200 that a suite can hold",
        ),
    ],
)
def test_filters_that_no_suite_can_hold_make_no_suite(paths: str, reason: str) -> None:
    result = carried(a=workflow(f"on:\n  pull_request:\n    paths: {paths}"))
    assert result.policy is None
    assert missed(result)[0][1] == reason
    assert result.workflows[0].reason == "its filters on pull requests fit no suite"


def test_a_filter_with_a_control_character_is_not_carried() -> None:
    result = carried(a=workflow('on:\n  pull_request:\n    paths: ["a\\n- b", c]'))
    assert policy_of(result).suites["a"].paths == ("c",)
    assert missed(result) == [(3, "filter `a?- b`: has a character that cannot be shown")]


NIGHT = """\
on:
  schedule: [{cron: "0 17 * * *"}, {cron: "0 18 * * *"}]
jobs:
  one: {name: First  night, runs-on: npu-8, if: "github.event.schedule == '0 17 * * *'"}
  two: {runs-on: npu-16, timeout-minutes: 90, needs: build}
  build: {runs-on: cpu, timeout-minutes: 10}
"""


def test_each_job_of_a_scheduled_workflow_is_a_suite() -> None:
    result = carried(night=NIGHT, b=workflow())
    suites = policy_of(result).suites
    assert {
        key: (suite.jobs, suite.triggers, suite.runners, suite.timeout_minutes, suite.title)
        for key, suite in suites.items()
        if suite.workflow == "night.yml"
    } == {
        "one": (("one",), ("schedule",), ("npu-8",), 360, "First night"),
        "two": (("two",), ("schedule",), ("npu-16",), 100, ""),
    }
    assert not any(suites[key].paths or suites[key].is_required for key in ("one", "two"))
    assert result.missed == ()
    assert [(one.suite, one.reason) for one in result.workflows[1:]] == [
        ("one", "carried over"),
        ("two", "carried over, `two` after `build`"),
    ]


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch", "workflow_run"])
def test_a_workflow_of_one_job_without_pull_requests_is_one_suite(event: str) -> None:
    result = carried(a=workflow(f"on: {event}"))
    suite = policy_of(result).suites["a"]
    assert (suite.jobs, suite.triggers) == ((), ("schedule",))
    assert result.missed == ()


def test_jobs_of_a_schedule_are_no_part_of_what_pull_requests_start() -> None:
    night = "  n: {runs-on: npu-8, if: github.event_name == 'schedule'}\n"
    both = "  m: {runs-on: npu-8, if: \"github.event_name == 'schedule' || 'pull_request'\"}\n"
    on = "on: [pull_request, schedule, workflow_dispatch]"
    suites = policy_of(carried(a=workflow(on) + night + both)).suites
    assert {key: (suite.jobs, suite.paths) for key, suite in suites.items()} == {
        "a": (("a", "m"), ("**",)),
        "n": (("n",), ()),
    }


def test_jobs_of_a_schedule_alone_in_a_workflow_of_pull_requests_stand_alone() -> None:
    night = "on: [pull_request, schedule]\njobs:\n"
    for key in ("a", "b"):
        night += f"  {key}: {{runs-on: npu-8, if: github.event_name == 'schedule'}}\n"
    suites = policy_of(carried(w=night)).suites
    assert {key: suite.jobs for key, suite in suites.items()} == {"a": ("a",), "b": ("b",)}


def test_a_job_that_no_policy_can_name_leaves_its_workflow_whole() -> None:
    text = NIGHT.replace("two:", f"{'x' * 201}:")
    (suite,) = policy_of(carried(night=text)).suites.values()
    assert (suite.jobs, suite.triggers, suite.nodes) == ((), ("schedule",), 2)


def test_suites_of_one_name_get_a_number() -> None:
    suites = policy_of(carried(night=NIGHT, one=workflow(), other=NIGHT)).suites
    assert list(suites) == ["one", "two", "one-2", "one-3", "two-2"]


def test_what_nothing_starts_that_the_bot_follows_makes_no_suite() -> None:
    result = carried(a=workflow("on: push"))
    assert result.policy is None
    assert result.workflows[0].reason == "no pull request starts it, only `push`"


def test_reasons_of_one_kind_share_a_sentence() -> None:
    jobs = "".join(f"  {key}: {{runs-on: npu-8, if: x}}\n" for key in "ab")
    result = carried(a=f"on: [pull_request, push]\njobs:\n{jobs}")
    push = "`push` cannot start a native suite; GitHub goes on starting the workflow at it"
    assert [one.shared for one in result.missed] == [
        push,
        *["a job runs only if `x`; a policy has no such condition"] * 2,
    ]


def test_other_triggers_stay_with_github() -> None:
    on = "on:\n  pull_request:\n  push: {branches: [main]}\n  pull_request_target:"
    text = "cannot start a native suite; GitHub goes on starting the workflow at it"
    assert missed(carried(a=workflow(on))) == [
        (3, f"`push` {text}"),
        (4, f"`pull_request_target` {text}, with the base branch's code and secrets"),
    ]


def test_types_that_leave_commits_out_make_a_suite_that_nobody_waits_for() -> None:
    on = "on:\n  pull_request:\n    types: [labeled]"
    result = carried(a=workflow(on), b=workflow(on.replace("lab", "synchronize, reop, op, lab")))
    assert policy_of(result).suites["a"].required is False
    assert policy_of(result).suites["b"].required is False  # `op` is no type
    assert missed(result)[0] == (
        3,
        "`types` `labeled`: GitHub starts it for some commits only, so it is not required",
    )
    for usual in ("opened, synchronize, reopened", "opened, synchronize, reopened, labeled"):
        result = carried(a=workflow(on.replace("labeled", usual)))
        assert policy_of(result).suites["a"].is_required


def branching(branches: str) -> str:
    return workflow(f"on:\n  pull_request:\n    branches: {branches}")


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("[main, '!v*']", "[main, '!v*']", ("main", "!v*")),
        ("[main, '!v*']", "[dev]", ("main", "dev")),
        ("['!a']", "['!b']", ()),
        ("[]", "[dev]", ("dev",)),
        (f"[{', '.join(f'b{n}' for n in range(201))}]", "[dev]", ("dev",)),
        (f"[{', '.join(f'b{n}' for n in range(200))}]", "[dev]", ()),
    ],
)
def test_branches_become_the_bases_that_bring_their_own_policy(
    first: str, second: str, both: tuple[str, ...]
) -> None:
    result = carried(a=branching(first), b=branching(second))
    assert policy_of(result).branches == both


def test_a_filter_of_branches_is_noted_for_it_limits_no_suite() -> None:
    rest = "the policy's own `branches` says which of them bring their own policy"
    result = carried(
        a=branching("[main]"), b=branching("").replace("branches:", "branches-ignore: [x]")
    )
    assert missed(result) == [
        (3, f"`branches` `main`: a suite cannot be limited to base branches; {rest}"),
        (3, "`branches-ignore`: a suite cannot leave base branches out"),
    ]


def test_keys_are_made_of_file_names_and_differ() -> None:
    result = carried(**{name: workflow() for name in ("run", "b", "_x", "c.d", "-")})
    assert sorted(policy_of(result).suites) == ["b", "c.d", "run-npu", "workflow", "x"]
    names = {"a" * 70 + tail: workflow() for tail in ("x", "y", "z")}
    assert list(policy_of(carried(**names)).suites) == ["a" * 60, "a" * 60 + "-2", "a" * 60 + "-3"]


def test_a_file_that_no_policy_can_name_makes_no_suite() -> None:
    result = carried(**{"a b": workflow(), "b": workflow()})
    assert list(policy_of(result).suites) == ["b"]
    assert result.workflows[0].reason == "a policy cannot name a file that is called so"


def test_a_full_policy_takes_no_more() -> None:
    long = f"on:\n  pull_request:\n    paths: [{', '.join('f' * 300 + str(n) for n in range(150))}]"
    result = carried(a=workflow(long), b=workflow(long), c=workflow())
    assert list(policy_of(result).suites) == ["a", "c"]
    assert result.workflows[1].reason == "the policy is full: it holds no further suite"
    many = carried(**{f"w{number}": workflow() for number in range(201)})
    assert len(policy_of(many).suites) == 200


def test_jobs_beyond_a_workflows_most_are_not_looked_at() -> None:
    jobs = "".join(f"  j{number}: {{runs-on: a}}\n" for number in range(MAX_JOBS + 1))
    result = carried(a=f"on: pull_request\njobs:\n{jobs}")
    assert missed(result) == [(3, f"has {MAX_JOBS + 1} jobs; the first {MAX_JOBS} were looked at")]


@pytest.mark.parametrize("text", ["on", "No", "8", "a: b", "é #", '"', "1e3", "-x", "*a", "", "~"])
def test_a_word_that_yaml_would_misread_is_quoted(text: str) -> None:
    on = f"on: pull_request\nname: {word(text)}"
    assert policy_of(carried(a=workflow(on))).suites["a"].title == text
