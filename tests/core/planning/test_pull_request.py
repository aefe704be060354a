"""The plan for a pull request's head: what starts, what is joined and what is given up."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.messages import Message, quote
from bot.core.model.ids import RunId, Sha
from bot.core.model.runs import Claimant, Outcome, Rank, Run, State
from bot.core.model.selections import Cost, SelectionDetails
from bot.core.model.views import GateDue
from bot.core.planning.attempts import AttemptMaker, freeze
from bot.core.planning.plan import DropClaimant, Plan, RunClaimants
from bot.core.planning.pull_request import (
    Evaluation,
    ExistingRuns,
    gate_of_former_head,
    needs_trust,
    plan_closed,
    plan_head,
    pr_source,
    runs_by_itself,
    stored_selection,
    suites_awaiting_approval,
)
from bot.core.planning.trust import Trusted
from bot.core.policy.levels import Level
from bot.core.policy.models import Comment, Language, Mode
from bot.core.policy.selection import ChangedFile, select
from tests.core.building import OLD_SHA, REPO, SHA, a_pull, at, with_changes
from tests.core.planning.heads import (
    AT,
    BOTH,
    GITHUBS,
    NO,
    OWN,
    POLICY,
    SAME,
    YES,
    evaluation,
    with_policy,
)


def there(
    *, claimants: tuple[str, ...] = ("pr:5",), auto: bool = True, **changes: Any
) -> RunClaimants:
    """Return a run that exists, with its claimants."""
    base: dict[str, Any] = {"state": State.RUNNING, "snapshot": SAME, "suite": "unit", "sha": SHA}
    base = {"id": RunId("there"), "attempt": 1, **base, **changes}
    run = Run(repo_id=REPO, created_at=at(), **base)
    return RunClaimants(run, tuple(Claimant(run.id, source, auto) for source in claimants))


def done(outcome: Outcome, **changes: Any) -> RunClaimants:
    return there(state=State.DONE, outcome=outcome, claimants=(), **changes)


def planned(
    of: Evaluation, *present: RunClaimants, wanted: tuple[RunClaimants, ...] | None = None
) -> Plan:
    ids = count(1)
    open_ones = tuple(
        item for item in present if item.run.state is not State.DONE and item.claimants
    )
    at_head = tuple(item for item in present if item.run.sha == of.pull.head_sha)
    found = ExistingRuns(at_head, open_ones if wanted is None else wanted)
    return plan_head(of, found, AttemptMaker(at(), lambda: f"new-{next(ids)}"))


def in_words(changes: Plan) -> str:
    """Return what is started (+), joined (~) and dropped (-), in short."""
    new = [f"+{run.suite}#{run.attempt}" for run, _ in changes.new_runs]
    claimants = [f"~{claimant.run_id}" for claimant in changes.add_claimants]
    return " ".join([*new, *claimants, *(f"-{drop.run_id}" for drop in changes.drop_claimants)])


CHANGED = with_changes(SAME, timeout_minutes=1)
DRAFT: dict[str, Any] = {"pull": a_pull(draft=True), "fresh": False}
QUEUED = there(state=State.QUEUED)
OTHERS = there(claimants=("pr:6",))
CASES = [
    pytest.param(
        evaluation(), (), "+unit#1", id="opened: selected standard suites start, heavy not"
    ),
    pytest.param(evaluation(BOTH), (), "+unit#1 +two#1", id="two suites"),
    pytest.param(evaluation((ChangedFile("x"),)), (), "", id="nothing of ours"),
    pytest.param(evaluation(), (there(),), "~there", id="the same again: nothing starts twice"),
    pytest.param(evaluation(), (OTHERS,), "~there", id="two pull requests, one SHA: one run"),
    pytest.param(evaluation(), (there(sha=OLD_SHA),), "+unit#1 -there", id="synchronize: old goes"),
    pytest.param(
        evaluation(),
        (there(sha=OLD_SHA, auto=False),),
        "+unit#1 -there",
        id="synchronize: what a person asked for goes too",
    ),
    *(
        pytest.param(evaluation(), (done(outcome),), "", id=f"force-push back: {outcome} counts")
        for outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TIMED_OUT)
    ),
    *(
        pytest.param(
            evaluation(), (done(outcome),), "+unit#2", id=f"force-push back: {outcome} runs again"
        )
        for outcome in (Outcome.CANCELLED, Outcome.SUPERSEDED, Outcome.BROKEN)
    ),
    pytest.param(
        evaluation(), (done(Outcome.SUCCESS, snapshot=CHANGED),), "+unit#2", id="snapshot changed"
    ),
    pytest.param(
        evaluation(),
        (done(Outcome.BROKEN), done(Outcome.SUCCESS, attempt=2, id=RunId("second"))),
        "",
        id="the latest attempt counts",
    ),
    pytest.param(
        evaluation(fresh=False),
        (done(Outcome.CANCELLED),),
        "",
        id="retarget: a cancelled one stays",
    ),
    pytest.param(
        evaluation(fresh=False),
        (done(Outcome.SUCCESS, snapshot=CHANGED),),
        "",
        id="retarget: what is done stays",
    ),
    pytest.param(
        evaluation(fresh=False),
        (done(Outcome.SUPERSEDED),),
        "+unit#2",
        id="ready: superseded again",
    ),
    pytest.param(
        evaluation(BOTH, fresh=False), (there(),), "+two#1 ~there", id="retarget: newly selected"
    ),
    pytest.param(
        evaluation((ChangedFile("two/b"),), fresh=False),
        (there(),),
        "+two#1 -there",
        id="retarget: no longer selected",
    ),
    pytest.param(
        evaluation((ChangedFile("two/b"),), fresh=False),
        (there(auto=False),),
        "+two#1",
        id="retarget: a person's stays",
    ),
    pytest.param(evaluation(pull=a_pull(draft=True)), (), "", id="a draft starts nothing"),
    pytest.param(evaluation(**DRAFT), (QUEUED,), "-there", id="to draft: a queued one goes"),
    pytest.param(evaluation(**DRAFT), (there(),), "", id="to draft: a running one goes on"),
    pytest.param(
        evaluation(**DRAFT), (there(state=State.QUEUED, auto=False),), "", id="to draft: a person's"
    ),
    pytest.param(
        evaluation(pull=a_pull(draft=True), at=with_policy(drafts=True)),
        (),
        "+unit#1",
        id="drafts: true",
    ),
    pytest.param(evaluation(trust=NO), (), "", id="untrusted: nothing starts"),
    pytest.param(evaluation(OWN), (), "+own#1", id="GitHub starts it: a row waits"),
    pytest.param(evaluation(OWN, trust=NO), (), "+own#1", id="GitHub starts it for strangers, too"),
    pytest.param(
        evaluation(OWN, pull=a_pull(draft=True)),
        (),
        "+own#1",
        id="GitHub starts it for drafts, too",
    ),
    pytest.param(
        evaluation(OWN, **DRAFT),
        (there(suite="own", state=State.QUEUED, snapshot=GITHUBS),),
        "~there",
        id="to draft: what GitHub starts waits on",
    ),
    pytest.param(
        evaluation(OWN, at=with_policy(mode=Mode.DRY_RUN)), (), "", id="dry run: GitHub's are left"
    ),
    pytest.param(
        evaluation(fresh=False),
        (there(suite="own", state=State.QUEUED, snapshot=GITHUBS),),
        "+unit#1 -there",
        id="retarget: GitHub's is not selected any more",
    ),
    pytest.param(evaluation(trust=NO), (there(sha=OLD_SHA),), "-there", id="untrusted: old goes"),
    pytest.param(
        evaluation(at=with_policy(mode=Mode.DRY_RUN)), (there(sha=OLD_SHA),), "-there", id="dry run"
    ),
]


@pytest.mark.parametrize(("of", "present", "expected"), CASES)
def test_a_plan(of: Evaluation, present: tuple[RunClaimants, ...], expected: str) -> None:
    assert in_words(planned(of, *present)) == expected


@pytest.mark.parametrize(
    ("of", "item", "reason"),
    [
        (evaluation(), there(sha=OLD_SHA), "superseded by 9999999"),
        (evaluation((ChangedFile("x"),)), there(), Message("drop_base")),
        (evaluation(**DRAFT), QUEUED, "the pull request became a draft"),
        (evaluation(trust=NO), there(), "the commit is no longer trusted (a stranger)"),
    ],
)
def test_a_dropped_claimant_says_why(of: Evaluation, item: RunClaimants, reason: str) -> None:
    dropped = DropClaimant(RunId("there"), "pr:5", quote(reason))
    assert planned(of, item).drop_claimants == (dropped,)


@pytest.mark.parametrize(
    ("pushed", "seconds", "due"), [(True, 60, at(1)), (False, 60, None), (True, 0, None)]
)
def test_only_a_push_is_debounced(pushed: bool, seconds: int, due: object) -> None:
    limits = POLICY.limits.model_copy(update={"debounce_seconds": seconds})
    changes = planned(evaluation(pushed=pushed, at=with_policy(limits=limits)))
    assert changes.new_runs[0][0].not_before == due


@pytest.mark.parametrize(
    ("release", "trust", "rank"),
    [
        (True, YES, Rank.RELEASE),
        (False, Trusted(True, quote("approved by cat"), approved=True), Rank.APPROVED),
        (False, YES, Rank.AUTOMATIC),
    ],
)
def test_a_run_waits_in_the_class_of_its_branch_and_trust(
    release: bool, trust: Trusted, rank: Rank
) -> None:
    at = replace(AT, release=release)
    [(_, claimants)] = planned(evaluation(at=at, trust=trust)).new_runs
    assert [claimant.rank for claimant in claimants] == [rank]


@pytest.mark.parametrize(
    ("suite", "protected", "expected"),
    [
        ("unit", (), True),
        ("big", (".github/x",), False),
        ("own", (), False),
        ("own", (".github/x",), True),
    ],
)
def test_a_suite_depends_on_trust_if_it_starts_by_itself_or_may_be_rewritten(
    suite: str, protected: tuple[str, ...], *, expected: bool
) -> None:
    assert needs_trust(POLICY.suites[suite], protected) is expected


def test_a_new_run_knows_what_made_it() -> None:
    changes = planned(evaluation())
    ((run, claimants),) = changes.new_runs
    assert (run.id, run.sha, run.number, run.origin) == ("new-1", SHA, 5, "a push of 9999999")
    assert claimants == (Claimant(RunId("new-1"), "pr:5"),)
    assert changes.gates == (GateDue(REPO, SHA, 5, name="ascend-ci"),)
    assert changes.pull == a_pull()


def test_the_selection_row_holds_all_that_the_gate_says() -> None:
    pull = a_pull(draft=True, changed_files=3100)
    row = stored_selection(evaluation(BOTH, pull=pull, trust=NO))
    assert (row.repo_id, row.sha, row.number, row.policy_sha) == (REPO, SHA, 5, "p" * 40)
    suites = {item.choice.suite: item for item in row.data.suites}
    assert replace(row.data, suites=()) == SelectionDetails(
        policy_ref="main",
        mode=Mode.ON,
        trusted=False,
        trust_reason=quote("a stranger"),
        approve=Level.WRITE,
        draft=True,
        gate="ascend-ci",
        changed_files=3100,
        language=Language.EN,
        comment=Comment.ON_FAILURE,
    )
    assert row.data.selection == select(POLICY, BOTH)
    assert list(suites) == ["unit", "big", "two", "own"]
    two = suites["two"]
    assert two.cost == Cost(nodes=2, npus=4, npu_hours=12.0, where="cluster")
    assert two.choice.reason
    assert [item.auto for item in suites.values()] == [True, False, True, False]
    assert [item.required for item in suites.values()] == [True, False, True, True]
    assert [item.native for item in suites.values()] == [False, False, False, True]


@pytest.mark.parametrize(
    ("of", "names"),
    [
        (evaluation(BOTH, trust=NO), ("unit", "two")),  # no heavy one, and none that GitHub starts
        (evaluation(BOTH), ()),
        (evaluation(BOTH, trust=NO, pull=a_pull(draft=True)), ()),
        (evaluation(BOTH, trust=NO, at=with_policy(mode=Mode.DRY_RUN)), ()),
    ],
)
def test_an_approval_would_start_what_waits_for_it_alone(
    of: Evaluation, names: tuple[str, ...]
) -> None:
    assert suites_awaiting_approval(of) == names


def test_closing_drops_every_claimant_and_closes_the_gate() -> None:
    changes = plan_closed(
        a_pull(), (there(), there(id=RunId("b"))), quote("the pull request was closed")
    )
    assert [drop.run_id for drop in changes.drop_claimants] == ["there", "b"]
    assert changes.pull
    assert not changes.pull.open
    assert changes.gates == (GateDue(REPO, SHA, 5, closed=quote("the pull request was closed")),)


def test_a_commit_that_is_no_head_any_more_says_what_came() -> None:
    assert gate_of_former_head(OLD_SHA, a_pull()) == GateDue(
        REPO, OLD_SHA, 5, closed=quote("superseded by 9999999")
    )


def test_an_automatic_run_of_another_policy_is_given_up_and_a_new_one_starts() -> None:
    other = there(snapshot=replace(SAME, policy_ref="weak"))
    changes = planned(evaluation(), other)
    assert [drop.reason for drop in changes.drop_claimants] == [Message("drop_base")]
    assert [(run.suite, run.attempt) for run, _ in changes.new_runs] == [("unit", 2)]
    asked = there(snapshot=other.run.snapshot, auto=False)
    assert planned(evaluation(), asked).drop_claimants == ()


def test_a_result_of_another_policy_is_no_reason_not_to_run() -> None:
    passed = done(Outcome.SUCCESS, snapshot=replace(SAME, policy_ref="weak"))
    assert len(planned(evaluation(fresh=False), passed).new_runs) == 1


def test_what_would_start_by_itself_needs_nobody_to_ask_for_it() -> None:
    run = there().run
    assert runs_by_itself(run, evaluation())
    for of in (evaluation(trust=NO), evaluation(pull=a_pull(draft=True)), evaluation(OWN)):
        assert not runs_by_itself(run, of)
    assert not runs_by_itself(replace(run, suite="big"), evaluation())
    assert not runs_by_itself(replace(run, snapshot=replace(SAME, ref="x")), evaluation())


RUNS = st.lists(
    st.builds(
        lambda suite, old, attempt, outcome, auto: there(
            suite=suite,
            sha=OLD_SHA if old else SHA,
            attempt=attempt,
            id=RunId(f"{suite}-{old}-{attempt}"),
            snapshot=SAME if suite == "gone" else freeze(AT, suite, quote("")),
            state=State.DONE if outcome else State.RUNNING,
            outcome=outcome,
            auto=auto,
        ),
        st.sampled_from(["unit", "big", "two", "own", "gone"]),
        st.booleans(),
        st.integers(1, 3),
        st.sampled_from([None, *Outcome]),
        st.booleans(),
    ),
    unique_by=lambda item: item.run.id,
    max_size=8,
)


@given(RUNS, st.booleans(), st.booleans(), st.booleans())
def test_a_plan_makes_no_second_open_run_and_leaves_no_claimant_behind(
    runs: list[RunClaimants], trusted: bool, fresh: bool, draft: bool
) -> None:
    latest = {(item.run.sha, item.run.suite): item.run.attempt for item in runs}
    for item in runs:
        key = (item.run.sha, item.run.suite)
        latest[key] = max(latest[key], item.run.attempt)
    # only the last attempt of a suite can be open
    present = [
        item
        for item in runs
        if item.run.state is State.DONE or item.run.attempt == latest[item.run.sha, item.run.suite]
    ]
    pull = a_pull(draft=draft)
    of = evaluation(BOTH, trust=YES if trusted else NO, fresh=fresh, pull=pull)
    changes = planned(of, *present)
    is_open: set[tuple[Sha, str]] = {
        (item.run.sha, item.run.suite) for item in present if item.run.state is not State.DONE
    }
    made = [(run.sha, run.suite) for run, _ in changes.new_runs]
    assert not is_open & set(made)
    assert len(made) == len(set(made))
    assert set(made) <= {(SHA, "unit"), (SHA, "two")}
    assert not made or (trusted and not draft)
    dropped = {drop.run_id for drop in changes.drop_claimants}
    old = {
        item.run.id
        for item in present
        if item.run.sha == OLD_SHA and item.run.state is not State.DONE
    }
    assert old <= dropped
    assert pr_source(5) == "pr:5"
