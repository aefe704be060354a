"""What the jobs of a checkout's workflows hold, and for which bases GitHub starts them."""

from bot.core.workflows.holdings import Holding, ReadWorkflows, read_checkout
from bot.core.workflows.notes import SourceFile
from tests.core.policies import loaded

POLICY = loaded("""\
version: 1
runners: {npu-8: {npus: 8}, npu-16: {npus: 16}}
suites:
  all: {workflow: w.yml, start: native, runners: [npu-8, NPU-16]}
  unit: {workflow: u.yml, start: native, runners: [npu-8], npus: 4, jobs: ["unit*"]}
""")
JOBS = """\
on: {pull_request: {branches: [main, 'v*', '!v1']}}
jobs:
  unit: {runs-on: [self-hosted, NPU-8], timeout-minutes: 60, strategy: {matrix: {x: [1, 2]}}}
  unit-big: {name: Big, runs-on: '${{ matrix.r }}', strategy: {matrix: {r: [npu-16, other]}}}
  host: {runs-on: ubuntu-latest}
  known-later: {runs-on: '${{ inputs.x }}'}
  called: {uses: ./x.yml}
"""


def checkout(text: str = JOBS, base: str = "") -> ReadWorkflows:
    files = [SourceFile(f".github/workflows/{name}.yml", text.encode()) for name in "wu"]
    return read_checkout([*files, SourceFile("bad.yml", b"jobs: [")], base)


def test_each_member_of_a_matrix_holds_its_npus() -> None:
    suite = POLICY.suites["all"]
    fixed = checkout().holdings(POLICY, suite)
    assert fixed == (Holding(8, 60), Holding(8, 60), Holding(16, 360))


def test_a_suite_holds_its_own_jobs_alone() -> None:
    suite = POLICY.suites["unit"]
    assert checkout().holdings(POLICY, suite) == (Holding(4, 60), Holding(4, 60))
    assert checkout("x").holdings(POLICY, suite) == ()
    assert sorted(checkout("x").workflows) == []


def test_a_checkout_tells_what_starts_its_workflows_for_a_base() -> None:
    here = checkout("on: {pull_request: {branches: [main]}}\njobs: {}\n", "v1").triggers
    assert (sorted(here.workflows), here.base) == (["u.yml", "w.yml"], "v1")
    assert here.workflows["w.yml"].of_pulls[0].branches == ("main",)


def test_what_only_github_can_work_out_counts_once() -> None:
    text = "jobs: {a: {runs-on: npu-8, strategy: {matrix: '${{ x }}'}}}"
    assert checkout(text).holdings(POLICY, POLICY.suites["all"]) == (Holding(8, 360),)
