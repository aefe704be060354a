"""Who makes a commit trusted: one row a case."""

import pytest

from bot.core.messages import quote
from bot.core.model.pulls import Approval
from bot.core.planning.trust import Authorship, Person, Trusted, trust_former, trust_sha
from bot.core.policy.levels import Level
from bot.core.policy.models import Trust
from tests.accounts import account
from tests.core.building import REPO, SHA, T0, a_pull, person

RULE = Trust()
ANN, BOB = person("ann", Level.WRITE), person("bob", Level.WRITE)
MAINTAINERS = person("ann", Level.MAINTAIN), person("bob", Level.ADMIN)
FORK = a_pull(head_repo_id=8)
GONE = a_pull(head_repo_id=None)
OWN = a_pull()


def approval(by: str, level: Level = Level.WRITE) -> Approval:
    return Approval(REPO, SHA, account(by), level, "button", T0)


def judged(
    people: tuple[Person, Person | None],
    *approvals: Approval,
    rule: Trust = RULE,
    fork: bool = True,
    protected: tuple[str, ...] = (),
) -> Trusted:
    pusher = people[1]
    own = frozenset(one.account for one in people if one)
    counts = Authorship(own, pusher_known=pusher is not None).approval(rule, approvals)
    return trust_sha(rule, FORK if fork else OWN, people, protected, counts)


@pytest.mark.parametrize("author", list(Level))
@pytest.mark.parametrize("pusher", list(Level))
def test_author_and_pusher_both_need_the_level(author: Level, pusher: Level) -> None:
    both = author.at_least(Level.WRITE) and pusher.at_least(Level.WRITE)
    assert judged((person("ann", author), person("bob", pusher))).trusted is both


@pytest.mark.parametrize(
    ("people", "options", "trusted"),
    [
        pytest.param((ANN, ANN), {}, True, id="one person, author and pusher"),
        pytest.param((ANN, person("Ann", Level.WRITE)), {}, True, id="case of a login: harmless"),
        pytest.param((ANN, None), {"fork": True}, False, id="unknown pusher, fork: untrusted"),
        pytest.param((ANN, None), {"fork": False}, True, id="unknown pusher, own branch: trusted"),
        pytest.param(
            (MAINTAINERS[0], None),
            {"fork": False, "rule": RULE.model_copy(update={"auto": Level.MAINTAIN})},
            False,
            id="unknown pusher, own branch: who has write is not enough here",
        ),
        pytest.param(
            (person("eve", Level.READ), None),
            {"fork": False},
            False,
            id="unknown pusher, own branch: the author still needs the level",
        ),
        pytest.param(
            (person("", Level.NONE), BOB), {}, False, id="an author GitHub forgot: untrusted"
        ),
        pytest.param((ANN, BOB), {"protected": ("x",)}, False, id="protected file: not by write"),
        pytest.param(MAINTAINERS, {"protected": ("x",)}, True, id="protected file: by maintain"),
        pytest.param(
            (MAINTAINERS[0], BOB), {"protected": ("x",)}, False, id="protected file: both needed"
        ),
        pytest.param(
            (MAINTAINERS[0], None),
            {"protected": ("x",), "fork": False},
            False,
            id="protected file, unknown pusher: untrusted even in the own repository",
        ),
        pytest.param(
            (person("ann", Level.NONE, listed=True), BOB), {}, True, id="listed counts as write"
        ),
        pytest.param(
            (person("ann", Level.NONE, listed=True), BOB),
            {"rule": Trust(auto=Level.MAINTAIN)},
            False,
            id="listed counts as no more than write",
        ),
        pytest.param(
            (person("ann", Level.NONE, listed=True), BOB),
            {"protected": ("x",)},
            False,
            id="listed does not maintain",
        ),
        pytest.param(
            (person("ann", Level.TRIAGE), BOB),
            {"rule": Trust(auto=Level.TRIAGE)},
            True,
            id="the policy may ask for less",
        ),
    ],
)
def test_trust_without_approval(
    people: tuple[Person, Person | None], options: dict[str, object], trusted: bool
) -> None:
    assert judged(people, **options).trusted is trusted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "rule", "trusted"),
    [
        pytest.param(approval("cat"), RULE, True, id="a third person's counts"),
        pytest.param(approval("ann"), RULE, False, id="the author's does not"),
        pytest.param(approval("ANN"), RULE, False, id="the author's does not, in any case"),
        pytest.param(approval("Eve"), RULE, False, id="the pusher's does not, in any case"),
        pytest.param(approval("cat", Level.TRIAGE), RULE, False, id="too low a level"),
        pytest.param(approval("cat", Level.ADMIN), RULE, True, id="a higher level"),
        pytest.param(approval("cat"), Trust(approve=Level.MAINTAIN), False, id="policy asks more"),
    ],
)
@pytest.mark.parametrize("protected", [(), (".github/workflows/x.yml",)])
def test_approvals(given: Approval, rule: Trust, trusted: bool, protected: tuple[str, ...]) -> None:
    people = (ANN, person("eve", Level.READ))
    assert judged(people, given, rule=rule, protected=protected).trusted is trusted


def test_one_approval_that_counts_is_enough() -> None:
    verdict = judged((ANN, person("eve", Level.NONE)), approval("ann"), approval("cat"))
    assert verdict == Trusted(True, quote("approved by cat"), approved=True)


def test_an_approval_of_an_unknown_pushers_commit_needs_maintain() -> None:
    assert not judged((ANN, None), approval("cat")).trusted
    assert judged((ANN, None), approval("cat"), approval("dan", Level.MAINTAIN)).trusted


def test_a_former_head_is_trusted_by_an_approval_alone() -> None:
    assert trust_former(approval("cat")) == Trusted(True, quote("approved by cat"), approved=True)
    assert trust_former(None) == Trusted(False, quote("nobody has approved this commit"))


def test_a_deleted_fork_counts_as_a_fork() -> None:
    assert not trust_sha(RULE, GONE, (ANN, None), (), None).trusted


@pytest.mark.parametrize(
    ("people", "protected", "why"),
    [
        ((person("a", Level.READ), BOB), (), "the author may not start"),
        ((ANN, person("b", Level.READ)), (), "the pusher may not start"),
        ((ANN, None), (), "does not show who pushed"),
        ((ANN, BOB), (".github/x.yml",), "`.github/x.yml`"),
    ],
)
def test_a_refusal_names_its_reason(
    people: tuple[Person, Person | None], protected: tuple[str, ...], why: str
) -> None:
    assert why in judged(people, protected=protected).why


@pytest.mark.parametrize("needed", list(Level))
@pytest.mark.parametrize("level", list(Level))
def test_a_person_may_start_by_level_or_as_if_with_write(level: Level, needed: Level) -> None:
    assert person("a", level).may_start(needed) is level.at_least(needed)
    listed = level.at_least(needed) or Level.WRITE.at_least(needed)
    assert person("a", level, listed=True).may_start(needed) is listed
