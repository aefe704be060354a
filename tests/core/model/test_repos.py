"""What of a repository decides, so that a late report of it is not believed."""

from dataclasses import replace

import pytest

from bot.core.model.ids import RepoId
from bot.core.model.repos import Repo

REPO = Repo(RepoId(1), "octo", "project", "main", installation_id=5)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (replace(REPO, installation_id=None, active=False), False),
        (replace(REPO, owner="else"), True),
        (replace(REPO, name="other"), True),
        (replace(REPO, default_branch="trunk"), True),
        (replace(REPO, public=True), True),
    ],
)
def test_another_name_branch_or_audience_makes_a_difference(other: Repo, differs: bool) -> None:
    assert REPO.differs(other) is differs
