"""Proposed policies, for the golden files of the check that shows what they change."""

from datetime import date

from bot.core.policy.changes import Comparison, compare

HELD = """\
version: 1
runners: {npu-8: {slots: 2}, npu-16: {npus: 16}}
trust: {heavy: write, users: [amy]}
suites:
  unit:
    workflow: unit.yml
    runners: [npu-8]
    paths: ["src/**"]
    inputs: {script: tests/a.sh}
    settable: {script: "tests/**.sh"}
  dear: {workflow: dear.yml, runners: [npu-16], tier: heavy}
"""


def edited(*edits: tuple[str, str]) -> str:
    """Return the policy that holds with parts of its text replaced."""
    text = HELD
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


LOOSER = edited(
    ("heavy: write", "heavy: triage"),
    ("[amy]", "[amy, eve]"),
    ("slots: 2", "slots: 4"),
    ("tests/**.sh", "**"),
    ('["src/**"]', '["src/**", "tests/`@bob/**"]'),
    (", tier: heavy", ""),
    ("version: 1\n", "version: 1\nlimits: {npu_hours_per_day: 4000, runs_per_pr: 2}\n"),
)
MOVED = edited(
    ("  dear: {workflow: dear.yml", "  costly: {inputs: {size: big}, workflow: dear.yml"),
    ("version: 1\n", "version: 1\ngate: {name: npu}\n"),
    ("paths:", "timeout_minutes: 60\n    paths:"),
    ("inputs: {script: tests/a.sh}", "inputs: {size: small}"),
)


def quarantined(**entries: str) -> str:
    """Return the policy that holds with quarantines: what, and its last day."""
    rest = "owner: amy, reason: It hangs now and then, issue: 12"
    lines = [f"  - {{{_WHAT[what]}, until: {day}, {rest}}}\n" for what, day in entries.items()]
    return f"{HELD}quarantine:\n{''.join(lines)}"


_WHAT = {
    "unit": "suite: unit",
    "dear": "suite: dear",
    "tests": 'suite: dear, test: "tests/a.py::test_b[*"',
}
TODAY = date(2026, 8, 22)
BEFORE = quarantined(unit="2026-09-01", dear="2026-09-01")
LONGER = quarantined(unit="2026-09-21", tests="2026-09-01")

PROPOSED: dict[str, Comparison] = {
    "loosened": compare(HELD, LOOSER),
    "changed": compare(HELD, MOVED),
    "tightened": compare(LOOSER.replace(", runs_per_pr: 2", ""), HELD),
    "same": compare(HELD, HELD),
    "first": compare(None, HELD),
    "deleted": compare(HELD, None),
    "fixed": compare("version: 2", HELD),
    "errors": compare(HELD, edited(("tier: heavy", "tier: hevy"), ("paths:", "path:"))),
    "warnings": compare(HELD, edited(('["src/**"]', '["src/**", /a]'))),
    "quarantines": compare(BEFORE, LONGER, TODAY),
    "quarantine too long": compare(BEFORE, LONGER.replace("09-21", "09-22"), TODAY),
    "quarantine over": compare(BEFORE, BEFORE, date(2026, 9, 1)),
}
