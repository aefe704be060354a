"""Which jobs of a workflow's file a suite names, how GitHub shows them, and what they need."""

import pytest

from bot.core.model.own_jobs import OwnJob, WorkflowJob, unknown_job
from bot.core.workflows.own_jobs import jobs_of_run, own_jobs

CHAIN = """\
on: schedule
jobs:
  build: {runs-on: x}
  stage: {needs: [build, lint, gone]}
  unit: {name: Unit tests, needs: stage}
  lint: {needs: lint}
  list: [5]
"""


def found(text: str, *patterns: str) -> tuple[OwnJob, ...]:
    return own_jobs(text.encode(), {"s": patterns}).get("s", ())


def test_the_needs_of_needs_count_and_circles_end() -> None:
    (unit,) = found(CHAIN, "unit")
    assert unit.job == WorkflowJob("unit", ("Unit tests",))
    assert [need.key for need in unit.needs] == ["stage", "build", "lint"]
    assert [item.job.key for item in found(CHAIN, "lint")] == ["lint"]
    assert found(CHAIN, "lint")[0].needs == ()


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        ("Unit tests", ["unit"]),
        ("*i*", ["build", "unit", "lint"]),
        ("nothing", []),
        ("list", []),
    ],
)
def test_a_job_is_named_by_its_key_or_by_its_name(pattern: str, keys: list[str]) -> None:
    assert [item.job.key for item in found(CHAIN, pattern)] == keys


@pytest.mark.parametrize("text", ["", "x", "jobs: [", "jobs: 5"])
def test_a_file_that_is_no_workflow_has_none(text: str) -> None:
    assert found(text, "*") == ()


MATRIX = "jobs: {a: {name: '%s', strategy: {matrix: {chip: [a2, a3]}}}}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (MATRIX % "on ${{ matrix.chip }}", ("on ${{ matrix.chip }}", "on a2", "on a3")),
        (MATRIX % "on ${{ inputs.x }} now", ("on ${{ inputs.x }} now", "on * now")),
        (MATRIX % "${{ inputs.x }}", ("${{ inputs.x }}",)),  # any text: it names nothing
        (MATRIX % " ", ("a",)),
        ("jobs: {a: {name: [5]}}", ("a",)),
        (
            "jobs: {a: {name: 'n ${{ matrix.n }}', strategy: {matrix: '${{ x }}'}}}",
            ("n ${{ matrix.n }}", "n *"),
        ),
        (
            (MATRIX % "n ${{ matrix.chip }}").replace("a2, a3", "1, " * 21),
            ("n ${{ matrix.chip }}", "n *"),
        ),
    ],
)
def test_a_name_with_values_of_a_matrix_is_told_as_github_fills_it(
    text: str, names: tuple[str, ...]
) -> None:
    (item,) = found(text, "a")
    assert item.job.names == names


@pytest.mark.parametrize(
    ("job", "is_open"),
    [
        ("{uses: ./.github/workflows/x.yml}", True),
        ("{strategy: {max-parallel: 1, matrix: {n: [1, 2]}}}", True),
        ("{strategy: {matrix: {n: [1, 2]}}}", False),
    ],
)
def test_a_job_is_open_if_github_may_list_more_of_it_later(job: str, is_open: bool) -> None:
    (item,) = found(f"jobs: {{a: {job}}}", "a")
    assert item.job.open is is_open


def test_of_two_files_each_tells_of_a_job() -> None:
    old = b"jobs: {unit: {name: Old}, alone: {}}"
    (unit, alone) = jobs_of_run((CHAIN.encode(), old), {"s": ("unit", "alone")})["s"]
    assert unit.job == WorkflowJob("unit", ("Unit tests", "Old"))
    assert [need.key for need in unit.needs] == ["stage", "build", "lint"]
    assert alone == OwnJob(WorkflowJob("alone", ("alone",)))


@pytest.mark.parametrize("raws", [(), (b"jobs: [",), (b"jobs: {called: {uses: ./x.yml}}",)])
def test_a_pattern_without_a_job_in_a_file_is_of_an_unknown_one(raws: tuple[bytes, ...]) -> None:
    found_jobs = jobs_of_run(raws, {"s": ("called / test",)})
    assert found_jobs == {"s": (unknown_job("called / test"),)}


def needy(jobs: int, name: str = "") -> bytes:
    """Return a workflow in which each job needs all before it."""
    keys = [f"npu-{number}" for number in range(jobs)]
    named = f"name: {name}, " if name else ""
    lines = [
        f"  {key}: {{{named}needs: [{', '.join(keys[:number])}]}}"
        for number, key in enumerate(keys)
    ]
    return "\n".join(("jobs:", *lines)).encode()


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (needy(30), 30),
        (needy(32), 1),  # with all that they need they have 528 names
        (needy(8, "x" * 180), 8),
        (needy(20, "x" * 180), 1),  # 210 names of 180 characters
    ],
)
def test_of_a_workflow_whose_jobs_need_each_other_without_end_nothing_is_told(
    raw: bytes, told: int
) -> None:
    found = jobs_of_run((raw,), {"s": ("npu-*",)})["s"]
    assert len(found) == told
    assert (found == (unknown_job("npu-*"),)) is (told == 1)


FICKLE = """\
jobs:
  plan: {{runs-on: x}}
  some: {{name: '{name}', needs: plan, strategy: {{matrix: {matrix}}}}}
  train: {{needs: some}}
  lint: {{name: 'check more'}}
"""
OF_CODE = "'${{ fromJSON(needs.plan.outputs.x) }}'"


@pytest.mark.parametrize(
    ("name", "matrix", "opened"),
    [
        ("${{ matrix.x }}", OF_CODE, ["train", "lint"]),
        ("${{ matrix.x }} tests", OF_CODE, ["train", "lint"]),  # "train / x tests" is a train
        ("check ${{ matrix.x }}", OF_CODE, ["lint"]),
        ("other ${{ matrix.x }}", OF_CODE, []),
        ("${{ matrix.x }}", "{x: [a, b]}", []),  # by the file itself
    ],
)
def test_a_job_named_by_a_pull_requests_code_does_not_pose_as_one_that_is_not_listed_yet(
    name: str, matrix: str, opened: list[str]
) -> None:
    its = found(FICKLE.format(name=name, matrix=matrix), "train", "lint")
    assert [item.job.key for item in its if item.job.open] == opened
