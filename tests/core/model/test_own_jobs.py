"""Which names on GitHub are those of a suite's jobs."""

import pytest

from bot.core.model.own_jobs import OwnJob, WorkflowJob, covers, is_own
from bot.core.policy.wildcard import fits

LONG = "train " + "x" * 100


@pytest.mark.parametrize(
    ("pattern", "text", "fit"),
    [
        ("unit", "unit", True),
        ("unit", "units", False),
        ("unit", "Unit", False),
        ("*", "", True),
        ("u*t", "unit", True),
        ("u*t", "ut", True),
        ("u*ut", "ut", False),
        ("*-npu-*", "a-npu-b", True),
        ("*-npu-*", "a-cpu-b", False),
        ("a*b*c", "a-b-x", False),
        ("b*", "ab", False),
        ("c++", "c++", True),
        ("a[bc]", "ab", False),
    ],
)
def test_a_star_is_any_text_and_nothing_else_is_special(pattern: str, text: str, fit: bool) -> None:
    assert fits(pattern, text) is fit


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("unit", True),
        ("unit (a2)", True),
        ("unit (a2, (x))", True),
        ("unit / build", True),
        ("unit (a2) / build", True),
        ("unit / build (x) / deep", True),
        ("unit a2", False),
        ("units (a2)", False),
        ("my / unit", False),
        ("unit (a2", False),
    ],
)
def test_members_of_a_matrix_and_of_a_called_workflow_are_the_jobs(
    name: str, covered: bool
) -> None:
    assert covers("unit", name) is covered


def test_a_name_that_github_cut_is_still_the_jobs() -> None:
    cut = LONG[:97] + "..."
    assert covers(LONG, cut)
    assert not covers("other " + LONG, cut)
    assert not covers(LONG + "*y", cut)
    assert not covers("unit tests of all", "unit tests...")  # so short a name is not cut


def test_a_job_is_own_by_the_policys_word_or_by_the_files() -> None:
    own = (OwnJob(WorkflowJob("unit", ("Unit tests",))),)
    assert is_own(("unit",), own, "Unit tests (a2)")
    assert is_own(("unit",), (), "unit (a2)")
    assert not is_own(("unit",), (), "Unit tests (a2)")
