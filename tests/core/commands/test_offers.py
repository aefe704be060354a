"""A line that a reply offers to type is read, and does what the reply says of it."""

import re
from dataclasses import replace
from typing import Any

import pytest

from bot.core.commands.context import CommandContext
from bot.core.messages import NOTHING
from bot.core.model.ids import Sha
from bot.core.model.runs import Claimant, Outcome, Run, State
from bot.core.model.views import CheckWrite
from bot.core.planning.attempts import PolicyAt, freeze
from bot.core.planning.plan import RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.trust import Person
from bot.core.policy.levels import Level
from bot.core.policy.selection import ChangedFile
from bot.core.queue.usage import Spent
from bot.core.report.gate import gate_check
from bot.core.report.suite import suite_check
from tests.accounts import account
from tests.core import views
from tests.core.building import OLD_SHA, SHA, a_run, at
from tests.core.commands.commenting import (
    COMMAND,
    HEAD,
    OLD_HEAD,
    READER,
    SOURCE,
    UNTRUSTED,
    WRITER,
    carried_out,
    commented,
    offered,
    started,
)
from tests.core.policies import loaded, with_suite

POLICY = loaded(
    with_suite("paths: ['src/**']", "settable: {size: '*'}")
    + "  heavy: {workflow: h.yml, runners: [npu-16], tier: heavy, paths: ['src/**']}\n"
    + "  quiet: {workflow: q.yml, runners: [npu-8], triggers: [nightly]}\n"
    + "  reruns: {workflow: r.yml, runners: [npu-8]}\n"
    + "  own: {workflow: o.yml, runners: [npu-8], start: native}\n"
    + "  wide: {workflow: w.yml, runners: [npu-8, npu-16], settable: {size: '*'}}\n"
    + "limits: {npu_hours_per_day: 10}\n"
)
MAINTAINER = Person(account("mia"), Level.MAINTAIN)
TRIAGER = Person(account("tom"), Level.TRIAGE)
AUTHOR = Person(account("ann"), Level.WRITE)
OLD = OLD_SHA[:12]


def heard(person: Person = WRITER, **changes: Any) -> CommandContext:
    return commented(person=person, policy=POLICY, **changes)


def spent(context: CommandContext) -> CommandContext:
    """Use up the hours of the day."""
    used = {sha: replace(one, spent=Spent(10)) for sha, one in context.requests.items()}
    return replace(context, requests=used)


def going(*sources: str) -> CommandContext:
    """Return a context with an open attempt of a suite, which runs for these."""
    frozen = freeze(PolicyAt(POLICY, "main", "p" * 40), "wide", NOTHING)
    run = replace(a_run(state=State.RUNNING, label="npu-16", snapshot=frozen), suite="wide")
    item = RunClaimants(run, tuple(Claimant(run.id, source) for source in sources))
    context = heard()
    requests = {**context.requests, SHA: replace(context.head, runs=(item,))}
    own = (item,) if "pr:5" in sources else ()
    return replace(context, requests=requests, claimed=own)


def ended(suite: str) -> Run:
    frozen = freeze(PolicyAt(POLICY, "main", "p" * 40), suite, NOTHING)
    done = a_run(state=State.DONE, outcome=Outcome.FAILURE, actions_run_id=9, snapshot=frozen)
    return replace(done, suite=suite)


def follow(line: str, context: CommandContext, person: Person = MAINTAINER) -> PlanBuilder:
    """Return what an offered line does when somebody who may do it types it a while later."""
    requests = {
        sha: replace(one, requester=replace(one.requester, person=person))
        for sha, one in context.requests.items()
    }
    event = replace(context.event, author=person.account, created_at=at(30))
    heads = (OLD_HEAD, HEAD)
    later = replace(context, event=event, person=person, requests=requests, heads=heads)
    return carried_out(line, later)


UNSEEN = (OLD_HEAD, replace(HEAD, seen_at=at(9.5)))
SIZE = {"size": "3"}

STARTS: list[tuple[str, CommandContext, list[tuple[str, Sha, dict[str, str]]]]] = [
    ("unit", heard(READER), [("unit", SHA, {})]),
    ("heavy unit", heard(TRIAGER), [("heavy", SHA, {})]),
    ("unit", heard(READER, trust=UNTRUSTED), [("unit", SHA, {})]),
    ("unit", heard(TRIAGER, trust=UNTRUSTED), [("unit", SHA, {})]),
    ("heavy", heard(AUTHOR, trust=UNTRUSTED), [("heavy", SHA, {})]),
    ("run reruns", heard(READER), [("reruns", SHA, {})]),
    ("unit --set size=3 --runner npu-8", heard(READER), [("unit", SHA, SIZE)]),
    (f"unit --sha {OLD}", heard(TRIAGER), [("unit", OLD_SHA, {})]),
    (f"rerun unit --sha {OLD}", heard(AUTHOR), [("unit", OLD_SHA, {})]),
    ("rerun quiet", heard(READER), [("quiet", SHA, {})]),
    ("rerun", heard(READER, runs=[ended("reruns")]), [("reruns", SHA, {})]),
    ("rerun own", heard(READER, runs=[ended("own")]), [("own", SHA, {})]),
    ("unit --set size=3", spent(heard()), [("unit", SHA, SIZE)]),
    (f"run unit --sha={OLD}", spent(heard()), [("unit", OLD_SHA, {})]),
    ("rerun reruns", spent(heard()), [("reruns", SHA, {})]),
    ("unit --force", heard(), [("unit", SHA, {})]),
    ("rerun quiet", spent(heard()), []),  # no command may start it, so none overrides the limit
    (f"run reruns --sha {'ab' * 8}", heard(), [("reruns", SHA, {})]),
    ("unit", heard(trust=UNTRUSTED, heads=UNSEEN), [("unit", SHA, {})]),
    (f"--sha {OLD}", heard(), []),
]


@pytest.mark.parametrize(("typed", "context", "wanted"), STARTS)
def test_an_offered_line_starts_what_was_asked_for(
    typed: str, context: CommandContext, wanted: list[tuple[str, Sha, dict[str, str]]]
) -> None:
    refused = carried_out(f"{COMMAND} {typed}", context)
    ran = []
    for line in offered("\n".join(text for text in refused.said if not text.startswith("`/"))):
        builder = follow(line, context)
        assert builder.refusals == 0, (line, builder.said)
        ran += [(run.suite, run.sha, run.snapshot.suite.inputs) for run, _ in builder.new_runs]
    assert ran == wanted, refused.said


def _check_runs(run: Run) -> list[CheckWrite]:
    """Return the check run of a failed suite, and the gate of its commit."""
    frozen = freeze(PolicyAt(POLICY, "main", "p" * 40), "unit", NOTHING)
    chosen = views.chosen("unit", essence=frozen.essence, labels=frozen.suite.runners)
    gate = replace(views.gate(views.selection(chosen), runs=(run,)), sha=run.sha)
    return [
        suite_check(views.suite(run), views.CTX, views.NOW),
        gate_check(gate, views.CTX, views.NOW),
    ]


@pytest.mark.parametrize("sha", [SHA, OLD_SHA])
def test_a_check_run_offers_to_run_its_own_commit_again(sha: Sha) -> None:
    run = replace(ended("unit"), sha=sha)
    context = heard()
    requests = dict(context.requests)
    requests[sha] = replace(requests[sha], runs=(RunClaimants(run, ()),))
    for check in _check_runs(run):
        (line,) = (line for line in offered(check.summary) if " rerun " in f"{line} ")
        made = follow(line, replace(context, requests=requests)).new_runs
        assert [(item.suite, item.sha) for item, _ in made] == [("unit", sha)], line


@pytest.mark.parametrize("typed", ["approve", f"approve --sha {OLD}"])
@pytest.mark.parametrize("person", [READER, AUTHOR])
def test_an_offered_line_approves_the_head(typed: str, person: Person) -> None:
    context = heard(person, trust=UNTRUSTED)
    (line,) = offered(carried_out(f"{COMMAND} {typed}", context).said[0])
    approval = follow(line, context).approval
    assert approval is not None
    assert approval.sha == SHA


@pytest.mark.parametrize(
    ("sources", "ends"), [(("pr:5",), True), (("pr:5", "pr:6"), False), (("group:9",), False)]
)
@pytest.mark.parametrize("option", ["--set size=3", "--runner npu-8"])
def test_a_cancel_is_offered_where_it_ends_the_open_attempt(
    option: str, sources: tuple[str, ...], *, ends: bool
) -> None:
    context = going(*sources)
    lines = offered(carried_out(f"{COMMAND} wide {option}", context).said[-1])
    assert bool(lines) is ends
    for line in lines:
        assert follow(line, context).drop_claimants


@pytest.mark.parametrize(
    "typed", [(f"{COMMAND} --sha {OLD}", SOURCE), (COMMAND, (ChangedFile("a.md", "added"),))]
)
def test_each_suite_that_is_offered_by_its_name_starts(
    typed: tuple[str, tuple[ChangedFile, ...]],
) -> None:
    line, files = typed
    context = heard(files=files)
    (said,) = carried_out(line, context).said
    names = re.findall(r"`([a-z]+)`", said.partition("ame ")[2])
    assert names == ["unit", "heavy", "reruns", "wide"]
    for name in names:
        assert started(follow(line.replace(COMMAND, f"{COMMAND} run {name}"), context)) == [name]
