"""SQLite for every test; PostgreSQL too for tests about what it does differently.

These are claims, locks, upserts and races; and each statement once, for it is strict about types.
"""

import pytest

from tests.conftest import BOTH


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """Return the kind of a test's database."""
    return str(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the kinds for a test by its marker ``both_databases``."""
    if "database_kind" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("both_databases")
        metafunc.parametrize("database_kind", BOTH if both else ["sqlite"], indirect=True)
