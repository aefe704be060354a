"""Fixtures of the templates' tests."""

from pathlib import Path

import pytest

from tests.templates.standin import Bash


@pytest.fixture
def bash(tmp_path: Path) -> Bash:
    return Bash(tmp_path).prepare()
