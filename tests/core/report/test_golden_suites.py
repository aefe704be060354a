"""Suites in every state and at every kind of end, as they read."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bot.core.messages import TABLES
from bot.core.model.views import SuiteView
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.commands.commenting import offered
from tests.core.report.goldens import golden, show_check
from tests.core.report.suite_ends import ENDS
from tests.core.report.suite_waits import WAITS

SUBJECTS: dict[str, Mapping[str, SuiteView]] = {"suite-waits": WAITS, "suite-ends": ENDS}


def _texts(subject: str, language: str) -> dict[str, str]:
    ctx = replace(s.CTX, language=language)
    views = SUBJECTS[subject]
    return {name: show_check(suite_check(view, ctx, s.NOW)) for name, view in views.items()}


@pytest.mark.parametrize("language", TABLES)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_suite_reads_as_its_golden_file(subject: str, language: str) -> None:
    said, made = golden(subject, language, _texts(subject, language))
    assert made == said


@pytest.mark.parametrize("language", TABLES)
def test_each_command_of_a_suite_can_be_typed(language: str) -> None:
    texts = [text for subject in SUBJECTS for text in _texts(subject, language).values()]
    assert len([line for text in texts for line in offered(text)]) > 60


def test_no_fixture_speaks_english_in_chinese() -> None:
    """The words of our own fixtures are messages, so that each language has its own."""
    for view in (*ENDS.values(), *WAITS.values()):
        run = view.run
        told = [run.why, run.origin, run.retry, run.snapshot.reason]
        told += [run.stop_request.reason] if run.stop_request else []
        quoted = [str(item) for item in told if item.key == "quote" and item]
        assert quoted in ([], ["bob"])
    made = "".join("".join(_texts(subject, "zh").values()) for subject in SUBJECTS)
    for words in (" matches ", "a push of", "cancelled by", "the RayJob", "The ", "smaller"):
        assert words not in made, words


def test_no_suite_shouts_or_shows_pictures() -> None:
    made = "".join("".join(_texts(subject, "en").values()) for subject in SUBJECTS)
    assert "!" not in made
    assert not [char for char in made if ord(char) > 0x2FFF]
