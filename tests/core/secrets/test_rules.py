"""The forms of `config/secrets.yml`, one by one, and secrets as logs print them."""

import os
from pathlib import Path

import pytest

from bot.core.secrets.patterns import patterns
from bot.core.secrets.redaction import Redactor
from bot.core.secrets.rules import shipped_rules
from tests.core.secrets.planted import is_shown, look_alikes, planted, spelled

RULES = shipped_rules().rules
MOST_MISSED = 0.03
MOST_FALSE = 1 / 10_000
LOGS = os.environ.get("REAL_LOGS", "")  # a folder
ROOT = Path(__file__).parents[3]


def test_each_form_finds_its_example_and_leaves_alone_what_looks_like_it() -> None:
    for rule in RULES:
        before, secret, after = _parts(spelled(rule.example))
        for text in (f"{before}{secret}{after}", f"x\n\x1b[1m{before}{secret}{after}\ny"):
            assert Redactor()(text) == text.replace(secret, "***"), rule.name
        for line in map(spelled, rule.stays):
            assert Redactor()(line) == line, rule.name


def test_each_form_is_found_by_its_own_rule() -> None:
    """No other rule makes up for a broken one."""
    for rule, own in zip(RULES, patterns(()).rules, strict=False):  # of keys' values come after
        before, secret, after = _parts(spelled(rule.example))
        text = f"{before}{secret}{after}".encode()
        assert any(word.encode() in text.lower() for word in own.words), rule.name
        assert own.without(text).decode() == f"{before}***{after}", rule.name


def test_no_two_forms_have_one_name() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_of_planted_secrets_hardly_one_is_missed() -> None:
    missed = [text for text, secret in planted() if is_shown(secret, Redactor()(text))]
    assert len(planted()) >= 150
    assert len(missed) <= MOST_MISSED * len(planted()), missed


def test_what_looks_like_a_secret_and_is_none_stays() -> None:
    redact = Redactor()
    assert [text for text in look_alikes() if redact(text) != text] == []


@pytest.mark.parametrize(
    "folder",
    [
        ROOT / "tests" / "core" / "digest" / "cases",
        pytest.param(Path(LOGS), marks=pytest.mark.skipif(not LOGS, reason="REAL_LOGS is not set")),
    ],
)
def test_of_real_logs_hardly_a_line_is_changed(folder: Path) -> None:
    lines, changed = 0, []
    for path in sorted(folder.rglob("*.log")):
        text = path.read_text("utf-8", "replace")
        both = zip(text.split("\n"), Redactor()(text).split("\n"), strict=True)
        changed += [raw for raw, shown in both if raw != shown]
        lines += text.count("\n") + 1
    assert lines > 1_000
    assert len(changed) <= MOST_FALSE * lines, changed


def _parts(example: str) -> tuple[str, str, str]:
    before, _, rest = example.partition("«")
    secret, _, after = rest.partition("»")
    return before, secret, after
