"""A comment on a pull request, and what is known when its commands are carried out."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any

from bot.core.commands.context import CommandContext
from bot.core.commands.parser import parse
from bot.core.commands.verb import Command, Mistake
from bot.core.commands.verbs import USAGES
from bot.core.github.events import IssueCommentEvent
from bot.core.messages import Messages, quote
from bot.core.model.ids import Sha
from bot.core.model.pulls import Head
from bot.core.model.repos import Repo
from bot.core.model.runs import Run
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.permissions import Requester
from bot.core.planning.plan import RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import Evaluation
from bot.core.planning.starts import Starter, StartRequest
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.core.policy.levels import Level
from bot.core.policy.models import Policy
from bot.core.policy.selection import ChangedFile, Selection, select
from tests.accounts import account
from tests.core.building import OLD_SHA, REPO, SHA, a_pull, at
from tests.core.policies import loaded, with_suite

COMMAND = "/ascend-e2e"
NAMED = "0123456789ab"  # a commit in a command
MESSAGES = Messages()
_USAGES = frozenset(USAGES.values())
POLICY = loaded(
    with_suite("paths: ['src/**']")
    + "  heavy: {workflow: h.yml, runners: [npu-16], tier: heavy, paths: ['src/**']}\n"
    + "  other: {workflow: o.yml, runners: [npu-8]}\n"
)
SOURCE = (ChangedFile("src/a.py", "modified"),)
TRUSTED = Trusted(True, quote("the author and the pusher may start runs here"))
UNTRUSTED = Trusted(False, quote("the author may not start runs here"))
WRITER = Person(account("bob"), Level.WRITE)
READER = Person(account("eve"), Level.READ)
OLD_HEAD = Head(REPO, 5, OLD_SHA, account("ann"), at(-120))
HEAD = Head(REPO, 5, SHA, account("ann"), at(-60))


def read(text: str) -> Command:
    """Return the only command of a comment."""
    (found,) = parse(text)
    return found


def mistake(text: str) -> str:
    """Return what is answered to a comment whose only command is wrong."""
    found = read(text)
    assert isinstance(found, Mistake)
    return found.text


def offered(text: str) -> list[str]:
    """Return the commands that a text offers to type; each has to be one."""
    lines = [line for line in re.findall(rf"`({COMMAND}[^`]*)`", text) if line not in _USAGES]
    for line in lines:
        (command,) = parse(line)
        assert not isinstance(command, Mistake), command.text
    return lines


def commented(
    *,
    person: Person = WRITER,
    trust: Trusted = TRUSTED,
    files: tuple[ChangedFile, ...] = SOURCE,
    policy: Policy = POLICY,
    runs: Iterable[Run] = (),
    **changes: Any,
) -> CommandContext:
    """Return the context of a comment; ``runs`` are the attempts at the head."""
    evaluation = Evaluation(
        pull=a_pull(),
        at=PolicyAt(policy, "main", "p" * 40),
        selection=select(policy, files),
        files=files,
        trust=trust,
        origin=quote(f"the approval of {person.login}"),
        fresh=False,
        pushed=False,
    )
    claimed = tuple(RunClaimants(run, ()) for run in runs)
    numbers = count(1)
    base: dict[str, Any] = {
        "event": IssueCommentEvent(
            Repo(REPO, "org", "verl", "main"), 5, 77, person.account, "", at(10)
        ),
        "evaluation": evaluation,
        "person": person,
        "heads": (OLD_HEAD, HEAD),
        "requests": {
            SHA: request(evaluation, person, SHA, trust, runs=claimed),
            OLD_SHA: request(
                replace(evaluation, selection=Selection(()), files=()),
                person,
                OLD_SHA,
                Trusted(False, quote("nobody has approved this commit")),
            ),
        },
        "claimed": (),
        "overruled": frozenset(),
        "usages": USAGES,
        "starts": Starter(MESSAGES, lambda: f"new-{next(numbers)}"),
        "messages": MESSAGES,
        "now": at(10),
    }
    return CommandContext(**{**base, **changes})


def request(
    evaluation: Evaluation,
    person: Person,
    sha: Sha,
    trust: Trusted,
    *,
    runs: tuple[RunClaimants, ...] = (),
) -> StartRequest:
    requester = Requester(person, sha, Authorship(frozenset({account("ann")})), trust)
    return StartRequest(evaluation, requester, "pr:5", runs)


def carried_out(text: str, context: CommandContext) -> PlanBuilder:
    """Return what the only command of a comment adds up to."""
    builder = PlanBuilder()
    read(text).carry_out(context, builder)
    return builder


def started(builder: PlanBuilder) -> list[str]:
    """Return the suites of which a command makes a new attempt."""
    return [run.suite for run, _ in builder.new_runs]
