"""The levels that starting, cancelling and approving need, and the commit that is meant."""

from dataclasses import replace

import pytest

from bot.core.messages import NOTHING, Messages, quote
from bot.core.model.ids import Sha
from bot.core.model.pulls import Head, Pull
from bot.core.model.runs import Claimant, Outcome, State
from bot.core.planning.attempts import PolicyAt, freeze, latest
from bot.core.planning.permissions import (
    Allowed,
    Refusal,
    Requester,
    commit_for,
    first_head_seen,
    head_seen,
    level_for,
    may_approve,
    may_cancel,
    may_start,
    named,
    not_green,
    right_lost,
)
from bot.core.planning.plan import RunClaimants
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.core.policy.levels import Level
from bot.core.policy.models import Start
from tests.accounts import account
from tests.core.building import OLD_SHA, REPO, SHA, a_pull, a_run, at
from tests.core.policies import loaded, with_suite

SAY = Messages()
POLICY = loaded(
    with_suite()
    + "  nightly:\n    workflow: n.yml\n    runners: [npu-16]\n    tier: heavy\n"
    + "  quiet:\n    workflow: q.yml\n    runners: [npu-8]\n    triggers: [pull_request]\n"
    + "    paths: ['**']\n"
)
RULE = POLICY.trust
AGAIN = "/ascend-e2e rerun unit"
AT = PolicyAt(POLICY, "main", "p" * 40)


def heads(*times: float) -> tuple[Head, ...]:
    """Return heads seen at these seconds; the last is the head."""
    shas = [OLD_SHA] * (len(times) - 1) + [SHA]
    return tuple(
        Head(REPO, 1, sha, account("ann"), at(seconds=seconds))
        for sha, seconds in zip(shas, times, strict=True)
    )


def requester(
    level: Level, *, trusted: bool = True, login: str = "bob", listed: bool = False
) -> Requester:
    person = Person(account(login), level, listed)
    return Requester(
        person, SHA, Authorship(frozenset({account("ann")})), Trusted(trusted, quote("why"))
    )


def text_of(answer: object) -> str:
    assert isinstance(answer, Refusal)
    return answer.text


def test_a_heavy_suite_needs_its_own_level() -> None:
    assert level_for(RULE, POLICY.suites["nightly"]) is Level.WRITE
    assert level_for(RULE, POLICY.suites["unit"]) is Level.TRIAGE


@pytest.mark.parametrize(
    ("words", "names", "refused"),
    [
        (("unit",), ["unit"], ""),
        (("ni*", "nightly"), ["nightly"], ""),
        (("unot",), [], "Did you mean `unit`?"),
        (
            ("zzz",),
            [],
            "`/ascend-e2e explain` lists the suites, `/ascend-e2e help` the commands.",
        ),
        (("quiet",), [], "no command starts"),
    ],
)
def test_words_stand_for_suites_or_are_refused(
    words: tuple[str, ...], names: list[str], refused: str
) -> None:
    found, refusals = named(SAY, POLICY, words)
    assert found == names
    assert refused in "".join(item.text for item in refusals)
    assert bool(refusals) is bool(refused)


def test_what_github_starts_can_be_re_run_and_never_started() -> None:
    policy = loaded(with_suite() + "  own: {workflow: o.yml, runners: [npu-8], start: native}\n")
    names, (refusal,) = named(SAY, policy, ("own",))
    assert names == []
    assert "Once it has run, `/ascend-e2e rerun own` runs it again." in (refusal.text)
    assert named(SAY, policy, ("*",)) == (["unit"], [])
    assert named(SAY, policy, ("own",), to_start=False) == (["own"], [])


def test_a_suite_without_commands_can_still_be_named_to_cancel_it() -> None:
    assert named(SAY, POLICY, ("quiet",), to_start=False) == (["quiet"], [])


def test_a_suite_that_left_the_policy_can_be_named_while_it_runs() -> None:
    left = ("old", "unit")
    assert named(SAY, POLICY, ("old",), to_start=False, left=left) == (["old"], [])
    assert named(SAY, POLICY, ("*",), to_start=False, left=left)[0].count("unit") == 1
    names, (refusal,) = named(SAY, POLICY, ("oldd",), to_start=False, left=left)
    assert names == []
    assert "Did you mean `old`?" in refusal.text


@pytest.mark.parametrize(
    ("wanted", "found"), [(None, SHA), (SHA[:12], SHA), (OLD_SHA[:20], OLD_SHA), (SHA, SHA)]
)
def test_a_named_commit_is_the_head_or_a_former_one(wanted: str | None, found: Sha) -> None:
    assert commit_for(SAY, "/ascend-e2e unit", a_pull(), heads(0, 90), wanted) == found


def test_another_commit_is_refused_with_a_line_to_paste() -> None:
    line = "/ascend-e2e unit --sha abababababab"
    text = text_of(commit_for(SAY, line, a_pull(), heads(0, 90), "ab" * 6))
    assert f"`/ascend-e2e unit --sha {SHA[:12]}`" in text


@pytest.mark.parametrize(
    ("seen", "written", "trusted", "told"),
    [
        ((0,), 1, False, ""),
        ((0, 100), 165, False, ""),
        ((0, 100), 159, False, "59 s before your comment"),
        ((0, 100), 159, True, ""),
        ((0, 100.9), 100, True, ""),
        ((0, 101), 100, True, "after your comment was written"),
        ((0, 101), 100, False, "after your comment was written"),
    ],
)
def test_a_head_its_author_may_not_have_seen_has_to_be_named(
    seen: tuple[float, ...], written: float, trusted: bool, told: str
) -> None:
    answer = head_seen(SAY, "/ascend-e2e", heads(*seen), at(seconds=written), trusted=trusted)
    assert told in text_of(answer) if told else answer is None


@pytest.mark.parametrize(
    ("changed", "trusted", "refused"),
    [(None, False, False), (0, False, True), (-60, False, False), (0, True, False)],
)
def test_without_a_known_head_the_last_change_counts(
    changed: float | None, trusted: bool, refused: bool
) -> None:
    updated_at = None if changed is None else at(seconds=changed)
    pull: Pull = a_pull(updated_at=updated_at)
    answer = first_head_seen(SAY, "/ascend-e2e", pull, at(), trusted=trusted)
    assert isinstance(answer, Refusal) is refused


@pytest.mark.parametrize(
    ("suite", "who", "allowed"),
    [
        ("unit", requester(Level.TRIAGE), Allowed()),
        ("unit", requester(Level.READ), "needs triage permission here, and you have read."),
        ("unit", requester(Level.NONE), "you have no permission"),
        ("nightly", requester(Level.TRIAGE), "needs write permission"),
        ("nightly", requester(Level.NONE, listed=True), Allowed()),
        ("unit", requester(Level.WRITE, trusted=False), Allowed(approves=True)),
        ("unit", requester(Level.TRIAGE, trusted=False), "is not approved, so it needs"),
        (
            "unit",
            requester(Level.READ, trusted=False, listed=True),
            "write permission here, and you have read.",
        ),
        (
            "unit",
            requester(Level.ADMIN, trusted=False, login="Ann"),
            "is your own commit",
        ),
        ("gone", requester(Level.ADMIN), "the policy no longer has it"),
    ],
)
def test_who_may_start_a_suite(suite: str, who: Requester, allowed: Allowed | str) -> None:
    answer = may_start(SAY, POLICY, suite, who, AGAIN)
    assert allowed in text_of(answer) if isinstance(allowed, str) else answer == allowed


def test_a_dry_run_starts_nothing() -> None:
    dry = POLICY.model_copy(update={"mode": "dry_run"})
    policy = loaded(with_suite() + "mode: dry_run\n")
    assert dry.mode == policy.mode
    assert "dry_run" in text_of(may_start(SAY, policy, "unit", requester(Level.ADMIN), AGAIN))


def test_approving_needs_the_level_and_another_person() -> None:
    assert may_approve(SAY, RULE, requester(Level.WRITE)) is None
    assert "needs write" in text_of(may_approve(SAY, RULE, requester(Level.TRIAGE)))
    assert "own commit" in text_of(may_approve(SAY, RULE, requester(Level.ADMIN, login="ANN")))


@pytest.mark.parametrize(
    ("again", "told"), [(AGAIN, f"to comment `{AGAIN}`."), ("", "to press *Re-run*.")]
)
def test_somebody_with_the_level_can_be_asked_for_it(again: str, told: str) -> None:
    text = text_of(may_start(SAY, POLICY, "unit", requester(Level.READ), again))
    assert text.endswith(f"Ask somebody with triage permission {told}")


@pytest.mark.parametrize(
    ("suite", "login", "level", "may"),
    [
        ("unit", "bob", Level.TRIAGE, True),
        ("unit", "bob", Level.READ, False),
        ("unit", "Ann", Level.NONE, True),
        ("nightly", "bob", Level.TRIAGE, False),
        ("gone", "bob", Level.WRITE, True),
    ],
)
def test_who_may_cancel(suite: str, login: str, level: Level, may: bool) -> None:
    run = replace(a_run(), suite=suite)
    assert may_cancel(POLICY, run, Person(account(login), level), account("ann")) is may


def test_what_is_not_green_is_the_latest_attempt_that_ended_badly() -> None:
    first = a_run(state=State.DONE, outcome=Outcome.FAILURE)
    again = replace(first, attempt=2, outcome=Outcome.SUCCESS)
    other = replace(first, suite="other")
    live = replace(first, suite="live", state=State.RUNNING, outcome=None)
    runs = tuple(RunClaimants(run, ()) for run in (again, first, other, live))
    assert latest(runs)["unit"] == again
    assert not_green(runs, AT) == ["other"]


def test_a_pass_by_another_policy_hides_no_failure_by_this_one() -> None:
    own = a_run(state=State.DONE, outcome=Outcome.FAILURE, snapshot=freeze(AT, "unit", NOTHING))
    weaker = freeze(replace(AT, ref="weak"), "unit", NOTHING)
    passed = replace(own, attempt=2, outcome=Outcome.SUCCESS, snapshot=weaker)
    runs = tuple(RunClaimants(run, ()) for run in (own, passed))
    assert not_green(runs, AT) == ["unit"]
    assert not_green(runs, replace(AT, ref="weak")) == []


@pytest.mark.parametrize(("level", "refused"), [(Level.WRITE, True), (Level.MAINTAIN, False)])
def test_an_unknown_pusher_may_be_the_approver_unless_they_maintain(
    level: Level, *, refused: bool
) -> None:
    known = requester(level, trusted=False)
    unknown = replace(known, authorship=replace(known.authorship, pusher_known=False))
    answers = (may_approve(SAY, RULE, unknown), may_start(SAY, POLICY, "unit", unknown, AGAIN))
    for answer in answers:
        assert isinstance(answer, Refusal) is refused
        if refused:
            assert "does not show who pushed" in text_of(answer)
    assert may_approve(SAY, RULE, known) is None


NATIVE = {"start": Start.NATIVE}


@pytest.mark.parametrize(
    ("person", "trusted", "native", "why"),
    [
        (None, True, False, None),
        (None, False, False, "the commit is no longer trusted (why)"),
        (None, False, True, None),
        (Person(account("bob"), Level.TRIAGE), True, False, None),
        (Person(account("bob"), Level.READ), True, False, "bob may no longer start this suite"),
        (Person(account("bob"), Level.READ), False, True, "bob may no longer start this suite"),
    ],
)
def test_what_waited_starts_while_its_commit_and_who_asked_for_it_may(
    person: Person | None, trusted: bool, native: bool, why: str | None
) -> None:
    run = a_run()
    if native:
        suite = run.snapshot.suite.model_copy(update=NATIVE)
        run = replace(run, snapshot=replace(run.snapshot, suite=suite))
    claimant = Claimant(run.id, "pr:5", auto=False, by=account("bob"))
    assert right_lost(RULE, run, claimant, Trusted(trusted, quote("why")), person) == why
