"""Why each suite is selected or not, who may start it, and at what cost."""

import json
from datetime import UTC, datetime

import pytest

from bot.core.explain import explaining
from bot.core.explain.explaining import Explanation, Starts, explain
from bot.core.messages import Messages
from bot.core.model.selections import Cost
from bot.core.policy.levels import Level
from bot.core.policy.models import Policy, Tier, Trigger
from bot.core.policy.selection import ChangedFile, select
from bot.core.workflows.holdings import read_checkout
from bot.core.workflows.notes import SourceFile
from tests.core.policies import loaded

TEXT = """\
version: 1
runners: {npu-8: {slots: 2}, npu-16: {npus: 16}}
pools: {cluster: {npus: 32}}
suites:
  unit: {workflow: u.yml, runners: [npu-8], paths: ["src/**", "!**/*.md"], title: Unit tests}
  both: {workflow: b.yml, runners: [npu-8], nodes: 2, npus: 4, pool: cluster, timeout_minutes: 90}
  dear: {workflow: d.yml, runners: [npu-16, npu-8], paths: ["src/**"], tier: heavy}
  own: {workflow: o.yml, runners: [npu-8, npu-16], paths: ["**"], start: native,
    triggers: [pull_request]}
  quiet: {workflow: q.yml, runners: [npu-8], paths: ["**"], triggers: [pull_request]}
  night: {workflow: n.yml, runners: [npu-8], triggers: [nightly]}
"""
POLICY = loaded(TEXT)
FILES = [ChangedFile("src/a.py"), ChangedFile("src/b.md"), ChangedFile("src/c.py")]
LISTED = "permission, or listed in the policy"
messages = Messages()


def one(name: str, policy: Policy = POLICY) -> Explanation:
    (item,) = explain(policy, select(policy, FILES), [name])
    return item


def with_trust(trust: str) -> Policy:
    return loaded(f"{TEXT}trust: {trust}\n")


def test_a_suite_says_by_which_pattern_and_files_it_is_selected() -> None:
    assert one("unit") == Explanation(
        suite="unit",
        title="Unit tests",
        selected=True,
        reason="`src/a.py` matches `src/**`",
        pattern="src/**",
        files=("src/a.py", "src/c.py"),
        tier=Tier.STANDARD,
        required=True,
        starts=Starts.ITSELF,
        author=Level.WRITE,
        level=Level.TRIAGE,
        listed=False,
        cost=Cost(nodes=1, npus=8, minutes=240, npu_hours=32, where="npu-8"),
    )


def test_all_are_explained_when_none_is_named_and_else_the_named_in_the_policys_order() -> None:
    assert [item.suite for item in explain(POLICY, select(POLICY, FILES))] == list(POLICY.suites)
    assert [item.suite for item in explain(POLICY, select(POLICY, FILES), {"own", "unit"})] == [
        "unit",
        "own",
    ]


def test_a_list_that_is_not_whole_selects_all_that_have_paths() -> None:
    selected = [
        item.suite for item in explain(POLICY, select(POLICY, (), truncated=True)) if item.selected
    ]
    assert selected == ["unit", "dear", "own", "quiet"]


@pytest.mark.parametrize(
    ("name", "starts", "how", "who"),
    [
        ("unit", "itself", "by itself for authors with write", "triage permission"),
        ("both", "command", "by command", "triage permission"),
        ("dear", "command", "by command", "write permission"),
        ("own", "github", "by GitHub", "re-run: triage permission"),
        ("quiet", "itself", "by itself for authors with write", "nobody by command"),
        ("night", "elsewhere", "not on pull requests", "nobody by command"),
    ],
)
def test_what_starts_a_suite_and_who_may(name: str, starts: str, how: str, who: str) -> None:
    item = one(name)
    assert (item.starts, explaining.how(messages, item), explaining.who(messages, item)) == (
        starts,
        how,
        who,
    )


@pytest.mark.parametrize(
    ("trust", "unit", "dear"),
    [
        ("{standard: pull, users: [eve]}", "anybody", f"write {LISTED}"),
        ("{teams: [npu]}", f"triage {LISTED}", f"write {LISTED}"),
        ("{heavy: maintain, users: [eve]}", f"triage {LISTED}", "maintain permission"),
    ],
)
def test_who_may_start_follows_the_trust_rules_and_the_listed_count_as_write(
    trust: str, unit: str, dear: str
) -> None:
    policy = with_trust(trust)
    assert explaining.who(messages, one("unit", policy)) == unit
    assert explaining.who(messages, one("dear", policy)) == dear


def test_the_cost_is_that_of_the_first_label_up_to_the_time_limit() -> None:
    assert explaining.hours(messages, one("dear").cost) == "up to 64 NPU-hours"
    assert explaining.where(messages, one("dear").cost) == "npu-16"
    assert explaining.where(messages, one("own").cost) == "npu-8 and npu-16"
    assert explaining.hours(messages, one("both").cost) == "up to 12 NPU-hours"
    assert explaining.where(messages, one("both").cost) == "2 nodes × 4 NPUs, cluster"


def test_as_json_it_is_plain_values() -> None:
    data = json.loads(json.dumps(explaining.to_json(one("unit"))))
    assert data == {
        "name": "unit",
        "title": "Unit tests",
        "selected": True,
        "reason": "`src/a.py` matches `src/**`",
        "pattern": "src/**",
        "files": ["src/a.py", "src/c.py"],
        "tier": "standard",
        "required": True,
        "starts": "itself",
        "author": "write",
        "level": "triage",
        "listed": False,
        "cost": {"nodes": 1, "npus": 8, "minutes": 240, "npu_hours": 32.0, "where": "npu-8"},
        "quarantine": [],
    }


WORKFLOWS = read_checkout(
    [
        SourceFile(
            "o.yml",
            b"on: {pull_request: {branches: [main]}}\n"
            b"jobs: {a: {runs-on: npu-8, timeout-minutes: 60}, b: {runs-on: npu-16}}\n",
        )
    ],
    base="v1",
)


def test_jobs_at_once_cost_what_they_hold() -> None:
    (item,) = explain(POLICY, select(POLICY, FILES), ["own"], WORKFLOWS)
    assert item.cost == Cost(1, 24, 240, 8 * 1 + 16 * 4.0, "npu-8 and npu-16")
    (unit,) = explain(POLICY, select(POLICY, FILES), ["unit"], WORKFLOWS)
    assert unit == one("unit")


def test_a_native_suite_is_not_selected_for_a_base_that_its_workflow_leaves_out() -> None:
    left = select(POLICY, FILES, workflows=WORKFLOWS.triggers)
    assert {choice.suite for choice in left.choices if choice.selected} == {"unit", "dear", "quiet"}
    choice = left.choice("own")
    assert choice is not None
    assert choice.reason == "GitHub starts `o.yml` for no pull request into `v1`"


def test_what_only_schedules_start_is_started_elsewhere() -> None:
    night = POLICY.suites["own"].model_copy(update={"triggers": (Trigger.SCHEDULE,)})
    assert explaining.starts(night) is Starts.ELSEWHERE


@pytest.mark.parametrize(
    ("until", "words"),
    [
        ("2026-12-31", "in quarantine until 2026-12-31"),
        ("2026-12-05", "its quarantine ended on 2026-12-05"),
        ("2027-02-01", "its quarantine until 2027-02-01 does not hold yet"),
    ],
)
def test_a_quarantine_is_told_as_it_stands(until: str, words: str) -> None:
    rest = f"until: {until}, owner: amy, reason: flaky, issue: 12"
    entries = f"{{suite: unit, {rest}}}, {{suite: unit, test: a*, {rest}}}"
    policy = loaded(f"{TEXT}quarantine: [{entries}]\n")
    item = one("unit", policy)
    now = datetime(2026, 12, 5, tzinfo=UTC)
    assert (
        explaining.in_quarantine(messages, item.quarantine, now) == f"{words}, tests `a*`: {words}"
    )
    assert explaining.in_quarantine(messages, one("dear", policy).quarantine, now) == ""
    told = explaining.to_json(item)["quarantine"]
    assert told[1] == {
        "test": "a*",
        "until": until,
        "owner": "amy",
        "reason": "flaky",
        "issue": 12,
    }
