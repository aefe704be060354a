"""What a change of a policy means: a table of edits and what is said of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.policy.changes import Before, Change, Effect, changes, compare
from bot.core.policy.models import Policy
from tests.core.policies import loaded

TEXT = """\
version: 1
mode: "on"
branches: [main, "v0.*", "!v0.9"]
dispatch_ref: main
drafts: false
runners:
  npu-8: {npus: 8, slots: 4}
  npu-16: {npus: 16}
pools: {cluster: {npus: 32}}
trust: {auto: write, standard: triage, heavy: write, approve: write, users: [amy], teams: []}
limits: {debounce_seconds: 60, runs_per_pr: 4, npu_hours_per_day: 2000, commands_per_minute: 10}
gate: {name: ascend-ci}
report: {comment: on_failure}
log:
  repo_roots: [/app]
  redact: [secret-one, secret-two]
  signatures: [{name: odd, class: disk, match: odd, example: odd}]
nightly: [{name: late, cron: "0 17 * * *", suites: [dear]}]
suites:
  unit:
    workflow: unit.yml
    runners: [npu-8]
    paths: ["src/**", "tests/**"]
    min_minutes: 5
    inputs: {script: a.sh}
    settable: {script: "tests/**.sh"}
    rayjob: true
  dear: {workflow: dear.yml, runners: [npu-16], tier: heavy, triggers: [command, nightly]}
"""
POLICY = loaded(TEXT)
LOOSENED, TIGHTENED, CHANGED = Effect.LOOSENED, Effect.TIGHTENED, Effect.CHANGED
SCRIPT = 'settable: {script: "tests/**.sh"}'


def found(*edits: tuple[str, str]) -> tuple[Change, ...]:
    """Return what the edits of the text change."""
    text = TEXT
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return changes(POLICY, loaded(text))


@pytest.mark.parametrize(
    ("edit", "path", "values"),
    [
        (("auto: write", "auto: triage"), "trust.auto", ("write", "triage")),
        (("standard: triage", "standard: pull"), "trust.standard", ("triage", "read")),
        (("heavy: write", "heavy: triage"), "trust.heavy", ("write", "triage")),
        (("approve: write", "approve: triage"), "trust.approve", ("write", "triage")),
        (("runs_per_pr: 4", "runs_per_pr: 5"), "limits.runs_per_pr", ("4", "5")),
        (("day: 2000", "day: 2000.5"), "limits.npu_hours_per_day", ("2000", "2000.5")),
        (("minute: 10", "minute: 11"), "limits.commands_per_minute", ("10", "11")),
        (("drafts: false", "drafts: true"), "drafts", ("false", "true")),
        (("min_minutes: 5", "min_minutes: 1"), "suites.unit.min_minutes", ("5", "1")),
        (("rayjob: true", "rayjob: false"), "suites.unit.rayjob", ("true", "false")),
    ],
)
def test_a_rule_that_lets_more_through_is_loosened_and_the_way_back_tightens(
    edit: tuple[str, str], path: str, values: tuple[str, str]
) -> None:
    (change,) = found(edit)
    assert (change.kind, change.path, change.value) == (LOOSENED, path, values)
    (back,) = changes(loaded(TEXT.replace(*edit)), POLICY)
    assert (back.kind, back.path, back.value) == (TIGHTENED, path, values[::-1])
    assert change.what == back.what
    assert change.what.startswith("what_")


@pytest.mark.parametrize(
    ("edit", "kind", "path", "added", "removed"),
    [
        (("[amy]", "[amy, eve]"), LOOSENED, "trust.users", ("eve",), ()),
        (("[amy]", "[eve]"), LOOSENED, "trust.users", ("eve",), ("amy",)),
        (("[amy]", "[]"), TIGHTENED, "trust.users", (), ("amy",)),
        (("teams: []", "teams: [npu]"), LOOSENED, "trust.teams", ("npu",), ()),
        (('"v0.*"', '"v0.*", dev'), LOOSENED, "branches", ("dev",), ()),
        ((', "!v0.9"', ""), LOOSENED, "branches", (), ("!v0.9",)),
        (('[main, "v0.*"', '["v0.*", main'), LOOSENED, "branches", (), ()),
        (('"!v0.9"', '"!v0.9", "!v0.8"'), TIGHTENED, "branches", ("!v0.8",), ()),
        (("[main, ", "["), TIGHTENED, "branches", (), ("main",)),
        ((', "tests/**"]', "]"), CHANGED, "suites.unit.paths", (), ("tests/**",)),
        (("[/app]", "[/app, /src]"), CHANGED, "log.repo_roots", ("/src",), ()),
        (("[command, nightly]", "[nightly, command]"), CHANGED, "suites.dear.triggers", (), ()),
        ((SCRIPT, "settable: {}"), TIGHTENED, "suites.unit.settable.script", (), ("tests/**.sh",)),
        (
            (SCRIPT, f"{SCRIPT[:-1]}, data: a}}"),
            LOOSENED,
            "suites.unit.settable.data",
            ("a",),
            (),
        ),
    ],
)
def test_a_list_says_what_it_gained_and_lost(
    edit: tuple[str, str], kind: Effect, path: str, added: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    (change,) = found(edit)
    assert (change.kind, change.path) == (kind, path)
    assert (change.added, change.removed, change.value) == (added, removed, None)


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("**", LOOSENED),
        ("tests/a.sh", TIGHTENED),
        ("other/a.sh", LOOSENED),
        ("tests/a*.sh", LOOSENED),  # narrower, but that is not looked into
    ],
)
def test_what_set_may_set_is_tightened_only_by_one_value_out_of_the_old_pattern(
    pattern: str, kind: Effect
) -> None:
    (change,) = found((SCRIPT, f'settable: {{script: "{pattern}"}}'))
    assert change == Change(
        kind, "suites.unit.settable.script", ("tests/**.sh", pattern), what="what_settable"
    )


@pytest.mark.parametrize(
    ("edit", "kind", "path", "value"),
    [
        (('mode: "on"', "mode: dry_run"), LOOSENED, "mode", ("on", "dry_run")),
        (("dispatch_ref: main", "dispatch_ref: dev"), LOOSENED, "dispatch_ref", ("main", "dev")),
        (("dispatch_ref: main\n", ""), LOOSENED, "dispatch_ref", ("main", "")),
        (("name: ascend-ci", "name: npu"), CHANGED, "gate.name", ("ascend-ci", "npu")),
        (("on_failure", "never"), CHANGED, "report.comment", ("on_failure", "never")),
        (("seconds: 60", "seconds: 0"), CHANGED, "limits.debounce_seconds", ("60", "0")),
        (("slots: 4", "slots: 5"), CHANGED, "runners.npu-8.slots", ("4", "5")),
        (("{npus: 32}", "{npus: 64}"), CHANGED, "pools.cluster.npus", ("32", "64")),
        (("0 17", "0 18"), CHANGED, "nightly.late.cron", ("0 17 * * *", "0 18 * * *")),
        (("dear.yml", "d.yml"), CHANGED, "suites.dear.workflow", ("dear.yml", "d.yml")),
        (("script: a.sh", "script: b.sh"), CHANGED, "suites.unit.inputs.script", ("a.sh", "b.sh")),
        (("{script: a.sh}", "{}"), Effect.REMOVED, "suites.unit.inputs.script", ("a.sh", "")),
        (("a.sh}", "a.sh, b: c}"), Effect.ADDED, "suites.unit.inputs.b", ("", "c")),
        (("match: odd", "match: o"), CHANGED, "log.signatures.odd.match", ("odd", "o")),
        (("secret-one, ", ""), LOOSENED, "log.redact", ("2", "1")),
        (("secret-one", "secret-0"), LOOSENED, "log.redact", ("2", "2, 1 of them new")),
        (("[secret-one", "[more, secret-one"), TIGHTENED, "log.redact", ("2", "3")),
    ],
)
def test_other_differences_say_what_was_and_what_is(
    edit: tuple[str, str], kind: Effect, path: str, value: tuple[str, str]
) -> None:
    (change,) = found(edit)
    assert (change.kind, change.path, change.value) == (kind, path, value)


def test_leaving_the_dry_run_is_no_loosening() -> None:
    dry = loaded(TEXT.replace('mode: "on"', "mode: dry_run"))
    (change,) = changes(dry, POLICY)
    assert (change.kind, change.what) == (CHANGED, "what_mode")


def test_a_heavy_suite_made_standard_is_loosened() -> None:
    (change,) = found((", tier: heavy", ""))
    assert (change.kind, change.path) == (LOOSENED, "suites.dear.tier")
    assert change.value == ("heavy", "standard")


def test_a_suite_that_is_required_no_more_is_loosened_however_that_comes() -> None:
    required = Change(LOOSENED, "suites.unit.required", ("true", "false"), what="what_required")
    assert required in found(("rayjob: true", "rayjob: true\n    required: false"))
    assert required in found(("rayjob: true", "rayjob: true\n    tier: heavy"))
    assert required in found(('paths: ["src/**", "tests/**"]', "paths: []"))
    (back,) = changes(
        loaded(TEXT.replace("rayjob: true", "rayjob: true\n    required: false")), POLICY
    )
    assert (back.kind, back.value) == (TIGHTENED, ("false", "true"))


def test_writing_down_the_default_of_required_changes_nothing() -> None:
    assert found(("rayjob: true", "rayjob: true\n    required: true")) == ()


def test_what_a_run_may_cost_is_told_whatever_key_changed_it() -> None:
    limit, cost = found(("rayjob: true", "rayjob: true\n    timeout_minutes: 60"))
    assert (limit.path, limit.value) == ("suites.unit.timeout_minutes", ("240", "60"))
    assert cost == Change(CHANGED, "suites.unit", ("32", "8"), what="what_cost")
    _, cost = found(("rayjob: true", "rayjob: true\n    timeout_minutes: 70"))
    assert cost.value == ("32", "9.3")
    cost, npus = found(("npu-16: {npus: 16}", "npu-16: {npus: 12}"))
    assert (cost.path, cost.value) == ("suites.dear", ("64", "48"))
    assert npus.path == "runners.npu-16.npus"


def test_suites_and_labels_come_and_go() -> None:
    added = "  own: {workflow: o.yml, runners: [npu-4], timeout_minutes: 90}\n"
    more = loaded(TEXT.replace("runners:\n", "runners:\n  npu-4: {npus: 4}\n", 1) + added)
    assert changes(POLICY, more) == (
        Change(Effect.ADDED, "suites.own", added=("standard", "6"), what="what_suite"),
        Change(Effect.ADDED, "runners.npu-4"),
    )
    assert changes(more, POLICY) == (
        Change(Effect.REMOVED, "suites.own"),
        Change(Effect.REMOVED, "runners.npu-4"),
    )


def test_removing_a_required_suite_is_loosened() -> None:
    start, end = TEXT.index("  unit:"), TEXT.index("  dear:")
    (change,) = changes(POLICY, loaded(TEXT[:start] + TEXT[end:]))
    assert change == Change(LOOSENED, "suites.unit", what="what_required_removed")


def test_loosened_rules_come_first_and_who_may_what_before_any_suite() -> None:
    every = found(
        ("min_minutes: 5", "min_minutes: 1"),
        ("slots: 4", "slots: 5"),
        ("heavy: write", "heavy: triage"),
        ("runs_per_pr: 4", "runs_per_pr: 3"),
        ("drafts: false", "drafts: true"),
    )
    assert [change.path for change in every] == [
        "trust.heavy",
        "drafts",
        "suites.unit.min_minutes",
        "limits.runs_per_pr",
        "runners.npu-8.slots",
    ]


def test_a_first_policy_is_all_new_and_loosens_nothing() -> None:
    comparison = compare(None, TEXT)
    assert comparison.before is Before.NONE
    assert comparison.loosened == ()
    assert [change.path for change in comparison.of(Effect.ADDED)] == [
        "suites.unit",
        "suites.dear",
        "runners.npu-8",
        "runners.npu-16",
        "pools.cluster",
        "nightly.late",
    ]


def test_anything_is_narrower_than_all() -> None:
    (change,) = changes(loaded(TEXT.replace(SCRIPT, 'settable: {script: "**"}')), POLICY)
    assert (change.kind, change.value) == (TIGHTENED, ("**", "tests/**.sh"))


def test_the_same_rules_written_otherwise_are_no_change() -> None:
    comparison = compare(TEXT, TEXT.replace("drafts: false\n", "# drafts\n").encode())
    assert (comparison.before, comparison.changes, comparison.errors) == (Before.READ, (), ())


def test_errors_of_the_proposal_stand_instead_of_changes() -> None:
    comparison = compare(TEXT, TEXT.replace("heavy: write", "heavy: wriet"))
    ((error),) = comparison.errors
    assert (error.path, error.line) == ("trust.heavy", 10)
    assert comparison.changes == ()
    assert not comparison.deleted


def test_nothing_is_compared_with_a_policy_that_has_errors() -> None:
    comparison = compare("version: 7", TEXT)
    assert (comparison.before, comparison.changes, comparison.errors) == (Before.BROKEN, (), ())


def test_warnings_of_the_proposal_are_kept() -> None:
    comparison = compare(TEXT, TEXT.replace("standard: triage", "standard: pull"))
    assert [warning.path for warning in comparison.warnings] == ["trust.standard"]
    assert [change.path for change in comparison.loosened] == ["trust.standard"]


def test_a_policy_may_be_deleted() -> None:
    comparison = compare(TEXT, None)
    assert (comparison.deleted, comparison.before) == (True, Before.READ)
    assert not compare(TEXT, TEXT).deleted


_LEVELS = st.sampled_from(["pull", "triage", "write", "maintain", "admin"])
_COUNTS = st.integers(1, 9)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Make a policy out of a few keys."""
    tier = draw(st.sampled_from(["standard", "heavy"]))
    suite = {"workflow": "u.yml", "runners": ["a"], "tier": tier, "min_minutes": draw(_COUNTS)}
    return Policy.model_validate(
        {
            "version": 1,
            "runners": {"a": {"slots": draw(_COUNTS)}},
            "suites": dict.fromkeys(draw(st.sets(st.sampled_from("xyz"))), suite),
            "trust": {"heavy": draw(_LEVELS), "users": draw(st.lists(st.sampled_from("mno")))},
            "limits": {"runs_per_pr": draw(_COUNTS)},
        }
    )


@given(policies(), policies())
def test_two_policies_differ_exactly_when_something_is_said(old: Policy, new: Policy) -> None:
    assert bool(changes(old, new)) is (old != new)


@given(policies(), policies())
def test_what_tightens_one_way_loosens_the_other(old: Policy, new: Policy) -> None:
    there = {change.path for change in changes(old, new) if change.kind is TIGHTENED}
    back = {change.path for change in changes(new, old) if change.kind is LOOSENED}
    assert there <= back
