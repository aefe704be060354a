"""What a policy and its workflows differ in."""

import pytest

from bot.core.messages import Messages
from bot.core.workflows import SourceFile
from bot.core.workflows.drift import Drift, drifts
from tests.core.policies import loaded
from tests.core.workflows.transfers import FOLDER

HEAD = """\
version: 1
runners: {npu-8: {npus: 8}, npu-16: {npus: 16}}
suites:
"""
WHOLE = "  whole: {workflow: a.yml, start: native, runners: [NPU-8], timeout_minutes: 60}\n"
ONE = (
    "  one: {workflow: a.yml, start: native, runners: [npu-8], jobs: [one], timeout_minutes: 60}\n"
)
JOB = "{runs-on: npu-8, timeout-minutes: 60}"
PULLS = f"on: pull_request\njobs:\n  one: {JOB}\n"

FILTERED = WHOLE.replace("runners", "paths: [a, '!b', 'c/**'], runners")
FILTERS = f"on: {{pull_request: {{paths: [a, '!b', c/**]}}}}\njobs:\n  one: {JOB}\n"
OTHER_PATHS = "the path filters of suite `whole` are not those of its workflow"
OTHER_ORDER = f"{OTHER_PATHS}: in another order"


def found(suites: str, *gone: str, **workflows: str) -> list[Drift]:
    sources = [SourceFile(f"{FOLDER}{stem}.yml", text.encode()) for stem, text in workflows.items()]
    return list(drifts(loaded(HEAD + suites), sources, [f"{FOLDER}{name}" for name in gone]))


def told(suites: str, *gone: str, **workflows: str) -> list[tuple[str, int, str]]:
    made = found(suites, *gone, **workflows)
    return [(one.kind, one.line, Messages().render(one.message)) for one in made]


@pytest.mark.parametrize(
    "suites",
    [
        WHOLE,
        ONE,
        ONE.replace("[one]", "['o*']"),
        WHOLE.replace("runners", "paths: ['**'], runners"),
        FILTERED.replace("paths", "triggers: [command], paths"),
        "  d: {workflow: a.yml, runners: [npu-16]}\n",  # its inputs choose
    ],
)
def test_what_agrees_is_not_told(suites: str) -> None:
    assert told(suites, a=PULLS, b="on: push\njobs:\n  x: {runs-on: npu-8}\n") == []


@pytest.mark.parametrize(
    ("suites", "text", "kind", "line", "words"),
    [
        ("  {}\n", PULLS, "lacks", 3, "no suite covers 1 job on `npu-8`: `one`"),
        (
            "  {}\n",
            f"{PULLS}  two: {JOB.replace('8', '16')}\n",
            "lacks",
            3,
            "no suite covers 2 jobs on `npu-8` and `npu-16`: `one` and `two`",
        ),
        (
            ONE,
            f"{PULLS}  two: {JOB}\n",
            "lacks",
            4,
            "no suite covers 1 job on `npu-8`: `two`",
        ),
        (
            ONE.replace("[one]", "[one, gone]"),
            PULLS,
            "gone",
            1,
            "suite `one` names the job `gone`, which is not there",
        ),
        (
            WHOLE,
            PULLS.replace("npu-8", "npu-16"),
            "labels",
            3,
            "the jobs of suite `whole` ask for `npu-16`; its `runners` are `npu-8`",
        ),
        (
            WHOLE.replace("NPU-8", "npu-8, npu-16"),
            PULLS,
            "labels",
            3,
            "the jobs of suite `whole` ask for `npu-8`; its `runners` are `npu-8` and `npu-16`",
        ),
        (
            WHOLE,
            PULLS.replace("npu-8", "cpu"),
            "labels",
            3,
            "the jobs of suite `whole` ask for `cpu`; its `runners` are `npu-8`",
        ),
        (
            WHOLE,
            PULLS.replace("60", "90"),
            "limit",
            3,
            "the jobs of suite `whole` may take 90 min; its `timeout_minutes` is 60",
        ),
        (
            WHOLE,
            f"{PULLS}  two: {JOB}\n",
            "nodes",
            3,
            "the jobs of suite `whole` at once are 2; its `nodes` is 1",
        ),
        (
            FILTERED,
            FILTERS.replace("c/**", "c/*.py"),
            "paths",
            1,
            f"{OTHER_PATHS}: `c/*.py` added, `c/**` removed",
        ),
        (FILTERED, FILTERS.replace("'!b', c/**", "c/**, '!b'"), "paths", 1, OTHER_ORDER),
        (FILTERED, FILTERS.replace("a, ", ""), "paths", 1, f"{OTHER_PATHS}: `a` removed"),
        (WHOLE, "on: [", "unread", 1, "cannot be read: "),
    ],
)
def test_a_difference_is_told_at_its_line(
    suites: str, text: str, kind: str, line: int, words: str
) -> None:
    (difference,) = told(suites, a=text)
    assert difference[:2] == (kind, line)
    assert difference[2].startswith(words)


def test_a_workflow_that_does_not_exist_is_gone_for_each_of_its_suites() -> None:
    assert told(ONE + ONE.replace("one", "two"), "a.yml", "other.yml") == [
        ("gone", 1, f"suite `{key}` names `{FOLDER}a.yml`, which does not exist")
        for key in ("one", "two")
    ]


def test_labels_that_are_known_only_when_a_job_runs_may_be_any() -> None:
    unseen = "  two: {runs-on: '${{ vars.X }}'}\n"
    both = WHOLE.replace("NPU-8", "npu-8, npu-16")
    assert told(both, a=PULLS + unseen) == []
    assert told(both, a=PULLS.replace("npu-8", "'${{ vars.X }}'")) == []
    more = PULLS.replace("npu-8", "npu-4") + unseen
    (difference,) = found(both, a=more)
    assert difference.labels == ("npu-4", "npu-8", "npu-16")


def test_a_suite_without_jobs_on_npus_is_not_told_of_their_labels() -> None:
    (difference,) = found(WHOLE, a=PULLS.replace("npu-8", "cpu"))
    assert difference.labels == ()
    assert told(WHOLE, a="on: pull_request\n") == []


def test_a_workflow_that_cannot_be_read_and_has_no_suite_is_not_told() -> None:
    assert told(WHOLE, b="on: [") == []


def test_lacking_suites_have_names_of_their_own() -> None:
    night = f"on: schedule\njobs:\n  one: {JOB}\n  two: {JOB}\n"
    made = [one.draft.key for one in found(ONE, b=night, c=night) if one.draft]
    assert made == ["one-2", "two", "one-3", "two-2"]
