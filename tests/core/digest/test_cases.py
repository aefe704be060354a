import os

import pytest

from tests.core.digest.corpus import HERE, SHARED, Case, differences, digest, load

OWN = load(HERE / "cases")
GIVEN = load(SHARED)


@pytest.mark.parametrize("case", OWN, ids=lambda case: case.name)
def test_a_case_of_the_project_is_read_as_expected(case: Case) -> None:
    assert differences(case, digest(case)) == []


@pytest.mark.skipif(not GIVEN and not os.environ.get("CI"), reason="no shared cases here")
def test_every_shared_case_is_read_as_expected() -> None:
    wrong = {case.name: found for case in GIVEN if (found := differences(case, digest(case)))}
    assert (len(GIVEN), wrong) == (20, {})
