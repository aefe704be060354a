"""The sizes and words of the house style, and that the check of them finds made-up faults."""

from pathlib import Path

import pytest

from tests.style import MAX_FILE_LINES, MAX_FUNCTION_LINES, ROOT, faults, sources


def test_every_file_keeps_to_the_house_style() -> None:
    found = [
        fault for path in sources() for fault in faults(path.read_text(), path.relative_to(ROOT))
    ]
    assert found == []


SMALL = Path("bot/core/small.py")
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES

FAULTS = [
    (SMALL, "x = 1\n" * (MAX_FILE_LINES + 1), "401 lines, 400 at most"),
    (SMALL, LONG_FUNCTION, "f has 51 lines"),
    (SMALL, f"class A:\n    {LONG_FUNCTION.replace(chr(10), chr(10) + '    ')}", "f has 51 lines"),
    (SMALL, "x = 1  # TO" + "DO: more\n", "TO" + "DO"),
    (SMALL, "# FIX" + "ME\n", "FIX" + "ME"),
    (SMALL, "raise NotImplementedError\n", "NotImplementedError"),
    (SMALL, "import unittest.mock\n", "unittest.mock"),
    (SMALL, "from unittest import mock\n", "from unittest import mock"),
    (SMALL, "monkeypatch.setattr(planner, 'a', 1)\n", "monkeypatch.setattr"),
    (SMALL, "monkeypatch.setattr('bot.core.planning.pull_request.a', 1)\n", "monkeypatch.setattr"),
    (SMALL, "x = 1  # noqa\n", "# noqa"),
    (SMALL, "x = 1  # type: ignore\n", "# type: ignore"),
    (Path("bot/core/utils.py"), "x = 1\n", "is named for nothing"),
]


@pytest.mark.parametrize(("path", "source", "said"), FAULTS)
def test_a_fault_is_found(path: Path, source: str, said: str) -> None:
    found = faults(source, path)
    assert len(found) == 1, found
    assert said in found[0]


FINE = [
    "x = 1\n" * MAX_FILE_LINES,
    "def f():\n" + "    x = 1\n" * (MAX_FUNCTION_LINES - 1),
    "x = 1  # noqa: S311 - not a secret\n",
    "x = f()  # type: ignore[no-any-return]\n",
    "x = 'NotImplementedError: TO" + "DO'\n",
    "monkeypatch.setenv('A', 'b')\n",
    "monkeypatch.setattr(tempfile, 'tempdir', 'a')\n",
]


@pytest.mark.parametrize("source", FINE)
def test_what_the_style_allows_is_no_fault(source: str) -> None:
    assert faults(source, SMALL) == []
