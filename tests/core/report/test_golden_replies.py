"""Every kind of reply to a command, refusals above all, as it reads."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from bot.core.commands.context import CommandContext
from bot.core.commands.parser import parse
from bot.core.github.markdown import code
from bot.core.messages import NOTHING, TABLES, Field, Message, Messages
from bot.core.messages.en.replies import REPLIES
from bot.core.model.runs import Claimant, Outcome, Run, State
from bot.core.model.views import Reply
from bot.core.planning.attempts import PolicyAt, freeze
from bot.core.planning.permissions import (
    Requester,
    broken_policy,
    may_start,
    nothing_to_rerun,
)
from bot.core.planning.plan import RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.starts import Starter
from bot.core.planning.trust import Authorship, Person
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode
from bot.core.policy.selection import MISNAMED, POLICY_PATH, POLICY_TWIN, ChangedFile
from bot.core.queue.usage import Spent, Usage
from bot.core.report.reply import reply_body
from tests.accounts import account
from tests.core import views as s
from tests.core.building import OLD_SHA, SHA, a_run, at
from tests.core.commands.commenting import (
    COMMAND,
    HEAD,
    OLD_HEAD,
    READER,
    TRUSTED,
    UNTRUSTED,
    WRITER,
    commented,
    offered,
)
from tests.core.policies import loaded, with_suite
from tests.core.report.goldens import golden

POLICY = loaded(
    with_suite("paths: ['src/**']", "settable: {size: '[1-8]'}")
    + "  heavy: {workflow: h.yml, runners: [npu-16], tier: heavy, paths: ['src/**']}\n"
    + "  quiet: {workflow: q.yml, runners: [npu-8], triggers: [nightly]}\n"
    + "  own: {workflow: o.yml, runners: [npu-8], start: native}\n"
    + "  wide: {workflow: w.yml, runners: [npu-8, npu-16], settable: {size: '*'}}\n"
    + "limits: {npu_hours_per_day: 10}\n"
)
NO_HOURS = POLICY.model_copy(
    update={"limits": POLICY.limits.model_copy(update={"npu_hours_per_day": 0})}
)
DRY_RUN = POLICY.model_copy(update={"mode": Mode.DRY_RUN})
ONLY_NIGHTLY = POLICY.model_copy(update={"suites": {"quiet": POLICY.suites["quiet"]}})
AUTHOR = Person(account("ann"), Level.WRITE)
TRIAGER = Person(account("tom"), Level.TRIAGE)
MAINTAINER = Person(account("mia"), Level.MAINTAIN)
OLD = OLD_SHA[:12]
MISTAKE = Message("policy_error", line=8, path="suites.unit", message="unknown key `path`")
MISNAMED_POLICY = Message(MISNAMED, ref="main", path=POLICY_PATH, twin=POLICY_TWIN)
DOCS = (ChangedFile("docs/a.md", "added"),)
UNSEEN = (OLD_HEAD, replace(HEAD, seen_at=at(9.5)))
MOVED = (OLD_HEAD, replace(HEAD, seen_at=at(11)))


class Heard(Messages):
    """Remembers which sentences were said."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self.keys: set[str] = set()

    def __call__(self, key: str, /, **fields: Field) -> str:
        self.keys.add(key)
        return super().__call__(key, **fields)

    def render(self, text: str) -> str:
        self._hear(text)
        return super().render(text)

    def _hear(self, text: Field) -> None:
        if isinstance(text, Message):
            self.keys.add(text.key)
            for field in text.fields.values():
                self._hear(field)


@dataclass(frozen=True)
class Scene:
    """A comment, and what is known when it comes."""

    typed: str
    context: CommandContext

    def reply(self, messages: Messages) -> str:
        """Return the comment and the reply to it."""
        context = replace(
            self.context, messages=messages, starts=Starter(messages, lambda: "new-1")
        )
        builder = PlanBuilder()
        for command in parse(f"{COMMAND} {self.typed}".strip()):
            command.carry_out(context, builder)
        lines = self.typed.replace(f"\n{COMMAND}", f"\n> {COMMAND}")
        asked = f"> {COMMAND} {lines}".rstrip()
        return "\n\n".join((asked if len(asked) < 200 else f"{asked[:40]} …", *builder.said))


def heard(person: Person = WRITER, **changes: Any) -> CommandContext:
    return commented(**{"person": person, "policy": POLICY, **changes})


def going(suite: str, *sources: str, **changes: Any) -> CommandContext:
    """Return a context with an open attempt of a suite, which runs for these."""
    frozen = freeze(PolicyAt(POLICY, "main", "p" * 40), suite, NOTHING)
    run = replace(a_run(state=State.RUNNING, label="npu-16", snapshot=frozen), suite=suite)
    item = RunClaimants(run, tuple(Claimant(run.id, source) for source in sources))
    context = heard(**changes)
    requests = {**context.requests, SHA: replace(context.head, runs=(item,))}
    return replace(context, requests=requests, claimed=(item,) if "pr:5" in sources else ())


def spent(context: CommandContext, *, soon: bool = True) -> CommandContext:
    """Use up the hours of the day."""
    start = at(10) - timedelta(hours=20)
    used = (Usage(8, start, start + timedelta(hours=2)),) if soon else ()
    requests = {
        sha: replace(one, spent=Spent(16 if soon else 0, usages=used))
        for sha, one in context.requests.items()
    }
    return replace(context, requests=requests)


def ended(outcome: Outcome) -> Run:
    frozen = freeze(PolicyAt(POLICY, "main", "p" * 40), "unit", NOTHING)
    return a_run(state=State.DONE, outcome=outcome, actions_run_id=9, snapshot=frozen)


def unknown_pusher(context: CommandContext) -> CommandContext:
    """Return a context whose head was pushed by nobody knows whom."""
    authorship = Authorship(frozenset({account("ann")}), pusher_known=False)
    requests = {
        sha: replace(one, requester=replace(one.requester, authorship=authorship))
        for sha, one in context.requests.items()
    }
    return replace(context, requests=requests)


def draft(context: CommandContext) -> CommandContext:
    """Return the context of a comment on a draft."""
    evaluation = replace(context.evaluation, pull=replace(context.pull, draft=True))
    return replace(context, evaluation=evaluation)


SCENES: dict[str, Scene] = {
    "started": Scene("unit", heard()),
    "selected suites started": Scene("", heard()),
    "nothing selected": Scene("", heard(files=DOCS)),
    "nothing selected, and nothing to name": Scene("", heard(files=DOCS, policy=ONLY_NIGHTLY)),
    "former head without a name": Scene(f"--sha {OLD}", heard()),
    "level": Scene("heavy", heard(TRIAGER)),
    "level on an untrusted commit": Scene("unit", heard(TRIAGER, trust=UNTRUSTED)),
    "no permission at all": Scene("unit", heard(READER)),
    "dry run": Scene("unit", heard(policy=DRY_RUN)),
    "unknown suite, one is near": Scene("unti", heard()),
    "unknown suite, none is near": Scene("zzz-zzz", heard()),
    "glob that matches none": Scene("zzz-*", heard()),
    "native": Scene("own", heard()),
    "native that GitHub has not started": Scene("rerun own", heard()),
    "not by command": Scene("quiet", heard()),
    "settable, another value": Scene("unit --set size=99", heard()),
    "nothing settable": Scene("heavy --set size=99", heard()),
    "open with other inputs": Scene("wide --set size=3", going("wide", "pr:5")),
    "open with other inputs for others too": Scene(
        "wide --set size=3", going("wide", "pr:5", "pr:6")
    ),
    "open on another label": Scene("wide --runner npu-8", going("wide", "pr:5")),
    "label of another suite": Scene("unit --runner npu-16", heard()),
    "force without maintain": Scene("unit --force", heard()),
    "NPU-hours used": Scene("unit", spent(heard())),
    "NPU-hours used, to run again": Scene("rerun quiet", spent(heard())),
    "no NPU-hours at all": Scene("unit", spent(heard(policy=NO_HOURS), soon=False)),
    "head moved before the comment": Scene("unit", heard(trust=UNTRUSTED, heads=UNSEEN)),
    "head moved after the comment": Scene("approve", heard(trust=UNTRUSTED, heads=MOVED)),
    "head younger than the pull request seen": Scene(
        "unit",
        replace(
            heard(trust=UNTRUSTED, heads=(replace(HEAD, seen_at=at(11)),)),
            evaluation=replace(
                (_made := heard(trust=UNTRUSTED)).evaluation,
                pull=replace(_made.pull, updated_at=at(9.5)),
            ),
        ),
    ),
    "another commit": Scene(f"unit --sha {'ab' * 8}", heard()),
    "rerun, nothing has run": Scene("rerun", heard()),
    "rerun, all is green": Scene("rerun", heard(runs=[ended(Outcome.SUCCESS)])),
    "rerun, one still runs": Scene("rerun", going("unit", "pr:5")),
    "rerun, one failed": Scene("rerun", heard(runs=[ended(Outcome.FAILURE)])),
    "approved": Scene("approve", heard(trust=UNTRUSTED)),
    "approve without the level": Scene("approve", heard(READER, trust=UNTRUSTED)),
    "approve one's own": Scene("approve", heard(AUTHOR, trust=UNTRUSTED)),
    "approve, pusher unknown": Scene("approve", unknown_pusher(heard(trust=UNTRUSTED))),
    "start one's own": Scene("unit wide", heard(AUTHOR, trust=UNTRUSTED)),
    "start, pusher unknown": Scene("unit", unknown_pusher(heard(trust=UNTRUSTED))),
    "approve a former head": Scene(f"approve --sha {OLD}", heard(trust=UNTRUSTED)),
    "approved draft": Scene("approve", draft(heard(trust=UNTRUSTED))),
    "cancelled": Scene("cancel", going("unit", "pr:5")),
    "cancel, others need it": Scene("cancel unit", going("unit", "pr:5", "pr:6", "group:9")),
    "cancel, branches need it": Scene(
        "cancel unit",
        going("unit", "pr:5", "push:main", "nightly:deep@2026-08-22", "pin:operator-01J9"),
    ),
    "cancel, the head moved after the comment": Scene(
        "cancel", going("unit", "pr:5", heads=(OLD_HEAD, replace(HEAD, seen_at=at(11))))
    ),
    "cancel without the level": Scene("cancel unit", going("unit", "pr:5", person=READER)),
    "cancel, nothing runs": Scene("cancel", heard()),
    "cancel, that suite does not run": Scene("cancel heavy", going("unit", "pr:5")),
    "cancel, an approval is missing": Scene("cancel", heard(trust=UNTRUSTED)),
    "status, nothing has run": Scene("status", heard()),
    "status, an approval is missing": Scene("status", heard(trust=UNTRUSTED)),
    "explain": Scene("explain", heard(runs=[ended(Outcome.FAILURE)])),
    "explain an untrusted commit": Scene("explain unit", heard(trust=UNTRUSTED)),
    "explain an unknown suite": Scene("explain unti", heard()),
    "help": Scene("help", heard()),
    "help of one verb": Scene("help rerun", heard()),
    "help of an unknown verb": Scene("help rerunn", heard()),
    "a word that is no suite": Scene("unit;rm", heard()),
    "a verb mistyped": Scene("aprove", heard()),
    "an unknown option": Scene("unit --shaa 1", heard()),
    "an option without a value": Scene("unit --sha", heard()),
    "an option with a value too many": Scene("unit --force=yes", heard()),
    "an option twice": Scene("unit --force --force", heard()),
    "a setting without a value": Scene("unit --set size", heard()),
    "a short commit": Scene("unit --sha 12ab", heard()),
    "a word too many": Scene("status unit", heard()),
    "too many words": Scene("unit " * 101, heard()),
    "too long a line": Scene("unit" * 1_000, heard()),
    "too many commands": Scene(f"status\n{COMMAND} " * 30 + "status", heard()),
}


def _elsewhere(say: Messages) -> dict[str, str]:
    """Return what is said outside of commands, to clicks and by the service."""
    sha, new = code("8888888"), code("9999999")
    again, head = code(f"{COMMAND} rerun unit --sha {OLD}"), code(f"{COMMAND} approve --sha {OLD}")
    asks = Requester(TRIAGER, SHA, Authorship(frozenset()), TRUSTED)
    gone = may_start(say, POLICY, "left", asks, "")
    click = may_start(say, POLICY, "heavy", asks, "")
    moved = say("refuse_pin", old=sha, command=again)
    return {
        "a broken policy": broken_policy(say, (MISTAKE,), "main"),
        "a broken policy, several errors": broken_policy(say, (MISTAKE, MISTAKE), "main"),
        "a policy of the wrong name": broken_policy(say, (MISNAMED_POLICY,), "main"),
        "a policy that is gone": broken_policy(say, (), "main"),
        "commands too many in a minute": say("refuse_rate", limit=10),
        "people without rights comment too often": say("refuse_often"),
        "too many comments of people without rights": say("refuse_often"),
        "a click on a suite that left the policy": getattr(gone, "text", ""),
        "a click by somebody without the level": getattr(click, "text", ""),
        "a click on what no pull request has": say("refuse_no_head", old=sha),
        "a click on a closed pull request's head": say("refuse_closed", old=sha, pull="#5"),
        "a click where nothing has run": nothing_to_rerun(say, (), SHA),
        "a click on a former head": say("refuse_head", old=sha, new=new, pull="#5", todo=moved),
        "a click on a gate that waits for an approval": say(
            "refuse_trust",
            sha=sha,
            why="the author may not start runs here",
            needed=say("level_write"),
            command=head,
        ),
        "the same click twice": say("merged_click"),
    }


def _table(language: str) -> str:
    runs = (
        s.done(Outcome.FAILURE, "NPU out of memory"),
        s.other("nightly-gspo-qwen3-8b", s.done(Outcome.SUCCESS, ""), started_at=s.at("13:33")),
        s.other("waits", s.QUEUED),
        s.other("goes", s.live(attempt=2)),
        s.other("starts", s.run(state=State.DISPATCHING)),
        s.other("old", s.done(Outcome.SUCCESS, "", started_at=None)),
        s.other("odd", s.live(state=State.DONE)),
    )
    typed = code("/ascend-e2e multinode-ppo nightly-gspo-*")
    head = Messages(language)("reply_for", command=typed, sha=code("9f8e7d6"))
    reply = Reply(s.REPO, 5, 7013, head, tuple(run.id for run in runs))
    return reply_body(reply, runs, {"01J5": 4711}, replace(s.CTX, language=language), s.NOW)


def _texts(messages: Messages, language: str) -> dict[str, str]:
    scenes = {name: scene.reply(messages) for name, scene in SCENES.items()}
    return {"table": _table(language), **scenes, **_elsewhere(messages)}


@pytest.mark.parametrize("language", TABLES)
def test_each_reply_reads_as_its_golden_file(language: str) -> None:
    said, made = golden("replies", language, _texts(Heard(language), language))
    assert made == said


def test_the_golden_file_has_every_sentence_of_replies() -> None:
    messages = Heard("en")
    _texts(messages, "en")
    table = {"reply_for"}
    assert REPLIES.keys() - messages.keys - table == set()


@pytest.mark.parametrize("language", TABLES)
def test_each_command_of_a_reply_can_be_typed(language: str) -> None:
    texts = _texts(Heard(language), language)
    assert sum(len(offered(text)) for text in texts.values()) > 30


def test_no_reply_shouts_or_shows_pictures() -> None:
    made = "".join(_texts(Heard("en"), "en").values())
    assert "!" not in made.replace("<!--", "")
    assert not [char for char in made if ord(char) > 0x2FFF]
