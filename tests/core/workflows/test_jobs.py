"""Which labels a job asks for, what of it a policy cannot say, and how long it may take."""

import pytest

from tests.core.workflows.transfers import carried, missed, policy_of, workflow

UNKNOWN = "`runs-on` of job `a` is known only when it runs: "


def of_job(*lines: str) -> str:
    """Return a workflow of one job; its first line is line 4."""
    return "on: pull_request\njobs:\n  a:\n" + "".join(f"    {line}\n" for line in lines)


def matrixed(matrix: str, runs_on: str = "${{ matrix.r }}") -> str:
    return of_job(f"runs-on: {runs_on}", f"strategy: {{matrix: {matrix}}}")


@pytest.mark.parametrize(
    ("matrix", "runs_on", "labels"),
    [
        ("{r: [npu-8, ubuntu-latest, a3-16]}", "${{ matrix.r }}", ("npu-8", "a3-16")),
        ("{c: [a2, a3], n: [8, 16]}", "x-${{matrix.c}}-${{ matrix.n }}", None),
        ("{c: [a2, a3], n: [8, 16], exclude: [{c: a2, n: 16}, {z: 1}]}", None, None),
        ("{n: [8, 16], include: [{n: 8, c: a2}, {n: 16, c: a3}]}", None, ("x-a2-8", "x-a3-16")),
        ("{include: [{c: a2, n: 4}, {c: a3, n: 8}, {}]}", None, ("x-a2-4", "x-a3-8")),
        ("{c: [a3], include: [{n: 16}, {c: a2, n: 8}]}", None, ("x-a3-16", "x-a2-8")),
        ("{t: [{host: {l: npu-1}}, {host: {l: npu-2}}]}", "${{ matrix.t.host.l }}", None),
        ("{r: [[self-hosted, npu-8], npu-4]}", "${{ matrix.r }}", ("npu-8", "npu-4")),
        ("{r: [npu-8]}", "[self-hosted, '${{ matrix.r }}']", ("npu-8",)),
        ("{r: [npu-8]}", "npu-4", ("npu-4",)),
    ],
)
def test_a_matrix_is_followed(
    matrix: str, runs_on: str | None, labels: tuple[str, ...] | None
) -> None:
    known = {
        "{c: [a2, a3], n: [8, 16]}": ("x-a2-8", "x-a2-16", "x-a3-8", "x-a3-16"),
        "{c: [a2, a3], n: [8, 16], exclude: [{c: a2, n: 16}, {z: 1}]}": (
            "x-a2-8",
            "x-a3-8",
            "x-a3-16",
        ),
        "{t: [{host: {l: npu-1}}, {host: {l: npu-2}}]}": ("npu-1", "npu-2"),
    }
    text = matrixed(matrix, runs_on or "x-${{ matrix.c }}-${{ matrix.n }}")
    suite = policy_of(carried(a=text)).suites["a"]
    assert suite.runners == (labels or known[matrix])


def test_lists_and_mappings_of_a_matrix_are_only_excluded_when_they_are_the_same() -> None:
    text = matrixed("{r: [&x [npu-8], [npu-4]], exclude: [{r: *x}, {r: [npu-4]}]}")
    assert policy_of(carried(a=text)).suites["a"].runners == ("npu-4",)


@pytest.mark.parametrize(
    ("matrix", "runs_on"),
    [
        ("{r: '${{ fromJSON(needs.x.outputs.r) }}'}", "${{ matrix.r }}"),
        ("'${{ fromJSON(inputs.m) }}'", "${{ matrix.r }}"),
        ("{r: [npu-8]}", "${{ inputs.runner || 'npu-8' }}"),
        ("{r: [npu-8]}", "${{ matrix.q }}"),
        ("{r: [npu-8]}", "npu-${{ matrix.q }}"),
        ("{r: [npu-8]}", "${{ matrix.r.name }}"),
        ("{r: [{name: npu-8}]}", "${{ matrix.r }}"),
        ("{r: ['${{ vars.R }}']}", "${{ matrix.r }}"),
        ("{r: [[npu-8]]}", "x-${{ matrix.r }}"),
        ("{r: [8]}", "${{ vars.A }}-npu-${{ matrix.r }}"),
        ("{r: [npu-8], include: '${{ fromJSON(vars.I) }}'}", "${{ matrix.r }}"),
        ("{r: [npu-8], exclude: '${{ fromJSON(vars.I) }}'}", "${{ matrix.r }}"),
        (f"{{r: [{', '.join(f'npu-{n}' for n in range(257))}]}}", "${{ matrix.r }}"),
        (f"{{r: [[{', '.join(['npu-8'] * 21)}]]}}", "${{ matrix.r }}"),
        (f"{{r: [{'8' * 1001}]}}", "npu-${{ matrix.r }}"),
        (f"{{r: [8], {', '.join(f'k{n}: [1]' for n in range(64))}}}", "npu-${{ matrix.r }}"),
    ],
)
def test_what_only_github_can_work_out_is_not_carried(matrix: str, runs_on: str) -> None:
    result = carried(a=matrixed(matrix, runs_on))
    assert missed(result) == [(4, f"{UNKNOWN}`{runs_on}`")]
    assert result.policy is None
    assert result.workflows[0].reason == "the runners of its jobs are not known"


@pytest.mark.parametrize(
    "runs_on", [f"npu-{'x' * 1000}${{{{ matrix.r }}}}", f"[{', '.join(['npu-8'] * 21)}]"]
)
def test_what_is_too_long_for_labels_is_not_looked_at(runs_on: str) -> None:
    result = carried(a=matrixed("{r: [npu-8]}", runs_on))
    assert result.policy is None
    assert missed(result)[0][1].startswith(UNKNOWN)


@pytest.mark.parametrize("strategy", ["strategy: ${{ x }}", "strategy: {fail-fast: false}"])
def test_a_strategy_without_a_matrix_is_no_combination(strategy: str) -> None:
    result = carried(a=of_job("runs-on: npu-${{ matrix.n }}", strategy))
    assert missed(result) == [(4, f"{UNKNOWN}`npu-${{{{ matrix.n }}}}`")]


def test_known_and_unknown_runners_are_told_apart() -> None:
    jobs = "  b: {runs-on: gpu}\n  c: {runs-on: ['${{ vars.R }}', {x: y}]}\n"
    result = carried(a=f"on: pull_request\njobs:\n{jobs}")
    assert result.workflows[0].reason == (
        "no label of its jobs names Ascend NPUs: `gpu`; others are not known"
    )
    assert missed(result) == [
        (4, "`runs-on` of job `c` is known only when it runs: `${{ vars.R }}`")
    ]


@pytest.mark.parametrize(
    ("runs_on", "chosen"),
    [
        ("[self-hosted, Linux, ARM64, npu-8]", None),
        ("[npu-8, rack-7]", "npu-8"),
        ("[npu, linux-a3-16]", "linux-a3-16"),
        ("[npu, ascend]", "npu"),
    ],
)
def test_several_labels_mean_all_of_them_and_a_policy_any(runs_on: str, chosen: str | None) -> None:
    result = carried(a=of_job(f"runs-on: {runs_on}"))
    assert policy_of(result).suites["a"].runners == (chosen or "npu-8",)
    shown = ", ".join(f"`{label}`" for label in runs_on.strip("[]").split(", "))
    sentence = (
        f"job `a` needs one runner with all of {shown}; a policy's `runners` means any of "
        f"them, so `{chosen}` alone was taken"
    )
    assert missed(result) == ([(4, sentence)] if chosen else [])


def test_a_group_of_runners_is_noted_and_its_labels_count() -> None:
    result = carried(a=of_job("runs-on: {group: big, labels: npu-8}"))
    assert policy_of(result).suites["a"].runners == ("npu-8",)
    assert missed(result) == [(4, "job `a` names a runner `group`, which a policy does not know")]
    alone = carried(a=of_job("runs-on:", "  group: big"))
    assert missed(alone)[0][0] == 5
    assert alone.workflows[0].reason == "the runners of its jobs are not known"


def test_a_label_that_no_policy_can_hold_is_noted() -> None:
    result = carried(a=of_job("runs-on: npu 8, big-npu"), b=of_job('runs-on: "npu-\\x9f-8"'))
    assert missed(result) == [
        (4, "job `a`: `npu 8, big-npu` cannot be a label of a policy"),
        (4, "job `a`: `npu-?-8` cannot be a label of a policy"),
    ]


@pytest.mark.parametrize(
    ("called", "shown"), [("./.github/workflows/b.yml", None), ("[x]", "a workflow")]
)
def test_a_reusable_workflow_is_noted(called: str, shown: str | None) -> None:
    result = carried(a=of_job(f"uses: {called}"))
    what = shown or f"`{called}`"
    text = f"job `a` calls {what}, a reusable workflow: its runners are not seen"
    assert missed(result) == [(4, text)]


def test_the_condition_of_a_job_on_npus_is_noted() -> None:
    result = carried(
        a=of_job("runs-on: npu-8", "if: github.repository_owner == 'x'"),
        b=of_job("runs-on: ubuntu-latest", "if: always()"),
    )
    text = "job `a` runs only if `github.repository_owner == 'x'`; a policy has no such condition"
    assert missed(result) == [(5, text)]


def test_jobs_on_several_labels_count_on_one_of_them() -> None:
    jobs = "  a: {runs-on: npu-8}\n  b: {runs-on: npu-16}\n"
    text = "on `npu-8`, `npu-16`: a suite counts on one of its labels"
    result = carried(a=f"on: pull_request\njobs:\n{jobs}", b=matrixed("{r: [npu-8, npu-16]}"))
    assert missed(result) == [(3, f"runs 2 jobs {text}"), (3, f"runs a job with a matrix {text}")]


@pytest.mark.parametrize(
    ("written", "minutes"),
    [("60", 60), ("1.5", 2), ("100000", 7200), ("1_0", 10)],
)
def test_a_time_limit_moves_over(written: str, minutes: int) -> None:
    result = carried(a=of_job("runs-on: npu-8", f"timeout-minutes: {written}"))
    assert policy_of(result).suites["a"].timeout_minutes == minutes
    assert result.missed == ()


def test_githubs_default_counts_where_no_limit_is_written() -> None:
    assert policy_of(carried(a=of_job("runs-on: npu-8"))).suites["a"].timeout_minutes == 360


@pytest.mark.parametrize(
    "written", ["${{ inputs.t }}", "0", "-5", ".nan", "1e999", "[60]"], ids=lambda text: text
)
def test_a_time_limit_that_is_no_number_is_noted(written: str) -> None:
    job = ("runs-on: npu-8", f"timeout-minutes: {written}")
    result = carried(a=of_job(*job), b=of_job(*job).replace("npu-8", "cpu"))
    shown = "what stands there" if written == "[60]" else f"`{written}`"
    text = f"`timeout-minutes` of job `a`: {shown} is no number of minutes"
    assert missed(result) == [(5, f"{text}; GitHub's default counts, 360")]
    assert policy_of(result).suites["a"].timeout_minutes == 360


def test_a_chain_of_jobs_may_take_as_long_as_all_of_it() -> None:
    jobs = """\
  late: {runs-on: npu-8, timeout-minutes: 30, needs: [mid, lone, gone]}
  mid: {runs-on: ubuntu-latest, timeout-minutes: 5, needs: first}
  first: {runs-on: npu-8, timeout-minutes: 100}
  lone: {runs-on: npu-8, timeout-minutes: 60}
  after: {runs-on: ubuntu-latest, needs: late}
"""
    result = carried(a=f"on: pull_request\njobs:\n{jobs}")
    assert policy_of(result).suites["a"].timeout_minutes == 135


CHAIN_BESIDE_ONE = """\
  a: {runs-on: npu-8, needs: b}
  b: {runs-on: npu-8, timeout-minutes: 9}
  c: {runs-on: npu-8, timeout-minutes: 10}
"""
LIMITED = "strategy: {max-parallel: 2, matrix: {n: [8, 8, 8]}}"
CANCELS = "`concurrency` of group `x`: GitHub cancels a run when a newer one of its group comes"


@pytest.mark.parametrize(
    ("jobs", "nodes", "told"),
    [
        ("  a: {runs-on: npu-8}\n  b: {runs-on: npu-8}\n", 2, ", 2 jobs at once"),
        ("  a: {runs-on: npu-8, needs: b}\n  b: {runs-on: npu-8}\n", 1, ", `a` after `b`"),
        ("  a: {runs-on: npu-8, needs: b}\n  b: {runs-on: cpu}\n", 1, ", `a` after `b`"),
        (CHAIN_BESIDE_ONE, 2, ", 2 jobs at once, `a` after `b`"),
        ("  a: {runs-on: npu-8, strategy: {matrix: {n: [1, 2, 3]}}}\n", 1, ""),
        ("  a: {runs-on: 'npu-${{ matrix.n }}', strategy: {matrix: {n: [8, 8, 8]}}}\n", 3, None),
        (f"  a: {{runs-on: 'npu-${{{{ matrix.n }}}}', {LIMITED}}}\n", 2, None),
    ],
)
def test_a_suite_counts_the_jobs_that_run_at_once(jobs: str, nodes: int, told: str | None) -> None:
    result = carried(a=f"on: pull_request\njobs:\n{jobs}")
    assert policy_of(result).suites["a"].nodes == nodes
    told = f", {nodes} jobs at once" if told is None else told
    assert result.workflows[0].reason == f"carried over{told}"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("x", "`concurrency` of group `x`: GitHub lets one run of a group run, and one wait"),
        ("{cancel-in-progress: true}", "`concurrency`: GitHub cancels a run when a newer one of"),
        ("{group: x, cancel-in-progress: '${{ a }}'}", f"{CANCELS}, if `${{{{ a }}}}`"),
    ],
)
def test_what_github_does_with_two_runs_of_a_group_is_noted(written: str, text: str) -> None:
    result = carried(
        a=of_job("runs-on: npu-8", f"concurrency: {written}"),
        b=of_job("runs-on: npu-8") + f"concurrency: {written}\n",
        c=of_job("runs-on: cpu", f"concurrency: {written}"),
    )
    assert [(line, reason[: len(text)]) for line, reason in missed(result)] == [
        (5, text),
        (5, text),
    ]


def test_a_ring_of_jobs_ends() -> None:
    jobs = "  a: {runs-on: npu-8, timeout-minutes: 7, needs: b}\n  b: {runs-on: npu-8, needs: a}\n"
    result = carried(a=f"on: pull_request\njobs:\n{jobs}")
    assert policy_of(result).suites["a"].timeout_minutes == 367


def test_a_job_that_is_no_mapping_is_passed_over() -> None:
    result = carried(a=workflow() + "  b: text\n")
    assert list(policy_of(result).suites) == ["a"]
