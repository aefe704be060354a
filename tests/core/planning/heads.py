"""A policy, and evaluations of a pull request's head under it, for the tests of planning."""

from dataclasses import replace
from typing import Any

from bot.core.messages import quote
from bot.core.planning.attempts import PolicyAt, freeze
from bot.core.planning.pull_request import (
    Evaluation,
)
from bot.core.planning.trust import Trusted
from bot.core.policy.selection import ChangedFile, select
from tests.core.building import a_pull
from tests.core.policies import loaded

POLICY = loaded("""\
version: 1
runners:
  npu-8: {npus: 8, slots: 2, chip: a2}
  npu-16: {npus: 16}
pools: {cluster: {npus: 32}}
limits: {debounce_seconds: 60}
log: {repo_roots: ["/verl"], redact: [secret-value]}
suites:
  unit: {workflow: unit.yml, runners: [npu-8, npu-16], paths: ["src/**"], env_paths: ["docker/**"]}
  big: {workflow: big.yml, runners: [npu-16], paths: ["src/**"], tier: heavy, title: Big one}
  two:
    workflow: two.yml
    runners: [npu-8]
    paths: ["two/**"]
    nodes: 2
    npus: 4
    pool: cluster
    rayjob: true
    timeout_minutes: 90
    inputs: {a: b}
  own: {workflow: own.yml, runners: [npu-8], paths: ["own/**"], start: native}
""")
AT = PolicyAt(POLICY, "main", "p" * 40)
SRC = (ChangedFile("src/a.py"),)
BOTH = (*SRC, ChangedFile("two/b.py"))
YES, NO = (
    Trusted(True, quote("the author and the pusher may start runs here")),
    Trusted(False, quote("a stranger")),
)
SAME = freeze(AT, "unit", quote("another reason"))
OWN = (ChangedFile("own/a.py"),)
GITHUBS = freeze(AT, "own", quote("another reason"))


def evaluation(files: tuple[ChangedFile, ...] = SRC, **changes: Any) -> Evaluation:
    made = Evaluation(
        pull=a_pull(),
        at=AT,
        selection=select(POLICY, files),
        files=files,
        trust=YES,
        origin=quote("a push of 9999999"),
        fresh=True,
        pushed=False,
    )
    return replace(made, **changes)


def with_policy(**changes: Any) -> PolicyAt:
    return replace(AT, policy=POLICY.model_copy(update=changes))
