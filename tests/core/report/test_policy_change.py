"""The check of a proposed policy: its conclusion, its annotations, its limits."""

from dataclasses import replace

import pytest

from bot.core.github.limits import TEXT_BYTES
from bot.core.model.ids import RepoId
from bot.core.model.views import Annotation, CheckWrite, Proposal
from bot.core.policy.changes import Before, Change, Comparison, Effect, compare
from bot.core.policy.selection import POLICY_PATH
from bot.core.report.policy_change import policy_check, render_policy_check
from tests.core import views as s
from tests.core.proposed import HELD, PROPOSED


def made(comparison: Comparison) -> CheckWrite:
    return render_policy_check(comparison, s.SHA, s.CTX, s.NOW)


def test_a_proposal_is_compared_and_named_for_its_gate() -> None:
    new = "version: 1\nrunners: {npu-8: {npus: 8}}\nsuites: {}\nlog: {redact: [hunter22]}\n"
    proposal = Proposal(
        key="policy-1",
        repo_id=RepoId(1),
        sha=s.SHA,
        number=5,
        gate="npu",
        ref="main",
        policy_sha="1a2b3c4",
        old=None,
        new=new.replace("version: 1", "version: hunter22"),
        redact=("hunter22",),
    )
    check = policy_check(proposal, compare(proposal.old, proposal.new), s.CTX, s.NOW)
    assert (check.name, check.head_sha, check.conclusion) == ("npu policy", s.SHA, "failure")
    assert "hunter22" not in f"{check.title} {check.summary} {check.annotations}"
    fine = replace(proposal, old=new, new=new)
    same = compare(new, new)
    assert "protect" not in policy_check(fine, same, s.CTX, s.NOW).summary
    check = policy_check(replace(fine, unprotected="v0.9"), same, s.CTX, s.NOW)
    assert "`v0.9` is listed in `branches:`, but GitHub does not protect it" in check.summary


@pytest.mark.parametrize(
    ("name", "conclusion"),
    [
        ("loosened", "neutral"),
        ("changed", "success"),
        ("tightened", "success"),
        ("same", "success"),
        ("first", "success"),
        ("deleted", "neutral"),
        ("fixed", "success"),
        ("errors", "failure"),
    ],
)
def test_errors_are_red_and_what_loosens_is_never_green(name: str, conclusion: str) -> None:
    check = made(PROPOSED[name])
    assert (check.status, check.conclusion, check.completed_at) == ("completed", conclusion, s.NOW)
    assert (check.name, check.head_sha, check.buttons) == ("ascend-ci policy", s.SHA, ())


def test_errors_and_warnings_stand_at_their_lines_of_the_file() -> None:
    errors = render_policy_check(PROPOSED["errors"], s.SHA, s.CTX, s.NOW)
    assert errors.annotations == (
        Annotation(
            POLICY_PATH,
            8,
            "unknown key `path`; did you mean `paths`?",
            "suites.unit.path",
            "failure",
        ),
        Annotation(
            POLICY_PATH,
            11,
            "`hevy` is not one of `standard`, `heavy`; did you mean `heavy`?",
            "suites.dear.tier",
            "failure",
        ),
    )
    (warning,) = made(PROPOSED["warnings"]).annotations
    assert (warning.path, warning.line, warning.level) == (".github/ascend-ci.yml", 8, "warning")


def test_no_value_is_so_long_that_it_hides_a_loosened_rule() -> None:
    long = Change(Effect.LOOSENED, "dispatch_ref", ("main", "x" * 70_000))
    many = Change(Effect.LOOSENED, "trust.users", added=tuple("u" * 256 for _ in range(200)))
    last = Change(Effect.LOOSENED, "trust.heavy", ("write", "pull"), what="what_heavy")
    summary = made(Comparison(Before.READ, (long, many, last))).summary
    assert "`dispatch_ref`: `" + "x" * 199 + "…`, was `main`" in summary
    assert "192 more added" in summary
    assert "`trust.heavy` (who may start heavy suites): `pull`, was `write`" in summary


def test_more_changes_than_fit_are_counted_and_fit() -> None:
    flood = tuple(Change(Effect.CHANGED, f"suites.{n}", ("a" * 150, "b" * 150)) for n in range(900))
    summary = made(Comparison(Before.READ, flood)).summary
    assert len(summary.encode()) <= TEXT_BYTES
    assert " more." in summary


def test_what_the_policy_in_force_is_called_when_nobody_knows_its_commit() -> None:
    summary = made(PROPOSED["same"]).summary
    assert "Until this is merged, the policy in force applies" in summary


def test_a_value_that_the_policy_hides_is_not_shown() -> None:
    ctx = replace(s.CTX, redact=("hunter22",))
    change = Change(Effect.CHANGED, "suites.unit.inputs.key", ("hunter22", ""))
    text = render_policy_check(Comparison(Before.READ, (change,)), s.SHA, ctx, s.NOW).summary
    assert "hunter22" not in text
    assert "the default" in text


def test_an_error_of_a_policy_is_told_in_the_language_of_the_repository() -> None:
    wrong = HELD.replace("paths:", "path:", 1)
    check = render_policy_check(compare(HELD, wrong), s.SHA, replace(s.CTX, language="zh"), s.NOW)
    for text in (check.title, check.summary):
        assert "：suites.unit.path：未知的键 " in text
    assert [item.message for item in check.annotations] == ["未知的键 `path`；是否想写 `paths`？"]
