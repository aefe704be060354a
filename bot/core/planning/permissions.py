"""The levels that starting, cancelling and approving need, and the commit that is meant.

Decisions are values; a refusal says who may, and what to type.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import NamedTuple

from bot.core.github.markdown import code, prose
from bot.core.messages import NOTHING, Message, Messages
from bot.core.messages.words import duration
from bot.core.model.command import SHA_CHARS
from bot.core.model.ids import Sha, short
from bot.core.model.people import Account
from bot.core.model.pulls import Head, Pull
from bot.core.model.runs import Claimant, Outcome, Run, State
from bot.core.planning.attempts import PolicyAt, freeze, latest
from bot.core.planning.commits import speaks_for
from bot.core.planning.offers import line
from bot.core.planning.plan import RunClaimants
from bot.core.planning.trust import Authorship, Person, Trusted
from bot.core.policy.levels import Level
from bot.core.policy.models import Mode, Policy, Start, Suite, Tier, Trigger, Trust
from bot.core.policy.selection import MISNAMED, POLICY_PATH, suites_named

# A push so shortly before a comment may not have been seen by its author.
UNSEEN = timedelta(seconds=60)
_SHA_OPTION = re.compile(r"\s--sha(?:=|\s+)\S+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was started, as Markdown made safe."""

    text: str


def broken_policy(messages: Messages, errors: tuple[Message, ...], ref: str) -> str:
    """Say that nothing starts by a policy with errors: how many, and the first with its line.

    Without errors there is no policy.
    """
    path, branch = code(POLICY_PATH), code(ref)
    if not errors:
        return messages("refuse_no_policy", path=path, ref=branch)
    first = prose(messages.render(errors[0]))
    if errors[0].key == MISNAMED:
        return messages("refuse_misnamed", why=first)
    return messages(
        "refuse_policy",
        path=path,
        ref=branch,
        n=len(errors),
        error=first,
    )


def level_for(rule: Trust, suite: Suite) -> Level:
    """Return the level that starting this suite needs."""
    return rule.heavy if suite.tier is Tier.HEAVY else rule.standard


def guess(messages: Messages, word: str, known: Iterable[str]) -> str:
    """Return `Did you mean …? ` for the nearest of ``known``, else the command that lists them."""
    near = get_close_matches(word, list(known), n=1)
    if near:
        return messages("guess", guess=code(near[0]))
    return messages("guess_none", command=code(line("explain")), help=code(line("help")))


def by_command(suite: Suite) -> bool:
    """Return True if a command starts the suite: a native one can only be run again."""
    return suite.started_by(Trigger.COMMAND) and suite.start is Start.DISPATCH


def named(
    messages: Messages,
    policy: Policy,
    words: tuple[str, ...],
    *,
    to_start: bool = True,
    left: Iterable[str] = (),
) -> tuple[list[str], list[Refusal]]:
    """Return the suites that words of a command stand for, and a refusal for each other word.

    ``to_start``: only suites that a command starts; GitHub starts native ones itself. ``left``
    are suites that may have left the policy and can't be started.
    """
    names: list[str] = []
    refusals = []
    for word in words:
        found = suites_named(policy, word, left)
        startable = [name for name in found if not to_start or by_command(policy.suites[name])]
        if found and not startable:
            refusals.append(
                _not_by_command(messages, word, [policy.suites[name] for name in found])
            )
        elif not found:
            near = guess(messages, word, (*policy.suites, *left))
            said = messages("refuse_suite", suite=code(word), guess=near)
            refusals.append(Refusal(said.rstrip()))
        names += [name for name in startable if name not in names]
    return names, refusals


def _not_by_command(messages: Messages, word: str, suites: list[Suite]) -> Refusal:
    """Say why no command starts what ``word`` stands for."""
    if all(suite.start is Start.NATIVE for suite in suites):
        again = code(line("rerun", word))
        return Refusal(messages("refuse_native", suite=code(word), command=again))
    explain = code(line("explain"))
    return Refusal(messages("refuse_no_command", suite=code(word), command=explain))


def commit_for(
    messages: Messages, command: str, pull: Pull, heads: tuple[Head, ...], wanted: str | None
) -> Sha | Refusal:
    """Return the commit that ``--sha`` names: the head or a former head of this pull request.

    GitHub serves every fork's commits by SHA from the base repository, so no other counts.
    """
    if wanted is None:
        return pull.head_sha
    known = {pull.head_sha, *(head.sha for head in heads)}
    found = [sha for sha in known if sha.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    bare = _SHA_OPTION.sub("", command)
    again = code(f"{bare} --sha {pull.head_sha[:SHA_CHARS]}")
    return Refusal(messages("refuse_sha", sha=code(wanted), command=again))


def head_moved(messages: Messages, sha: Sha, pull: Pull, todo: str) -> str:
    """Say that a commit is a former head."""
    old, new = code(short(sha)), code(short(pull.head_sha))
    return messages("refuse_head", old=old, new=new, pull=f"#{pull.number}", todo=todo)


def head_seen(
    messages: Messages,
    command: str,
    heads: tuple[Head, ...],
    written_at: datetime,
    *,
    trusted: bool,
) -> Refusal | None:
    """Refuse a command that does not name its commit when its author may not have seen it.

    ``heads`` oldest first, the last is the head; times are compared in whole seconds, as
    GitHub gives a comment's.
    """
    if len(heads) < 2:
        return None
    old, new = heads[-2], heads[-1]
    moved_at = new.seen_at.replace(microsecond=0)
    values = {
        "old": code(short(old.sha)),
        "new": code(short(new.sha)),
        "command": code(f"{command} --sha {new.sha[:SHA_CHARS]}"),
    }
    if moved_at > written_at:
        return Refusal(messages("refuse_moved_after", **values))
    before = written_at - moved_at
    if not trusted and before < UNSEEN:
        span = duration(before.total_seconds())
        return Refusal(messages("refuse_moved", span=span, **values))
    return None


def first_head_seen(
    messages: Messages, command: str, pull: Pull, written_at: datetime, *, trusted: bool
) -> Refusal | None:
    """Refuse when no head was known as the comment was written and the last change is young."""
    changed_at = pull.updated_at
    if trusted or changed_at is None or written_at - changed_at >= UNSEEN:
        return None
    again = code(f"{command} --sha {pull.head_sha[:SHA_CHARS]}")
    return Refusal(messages("refuse_unseen", new=code(short(pull.head_sha)), command=again))


@dataclass(frozen=True, slots=True)
class Allowed:
    """Somebody may start a suite; ``approves``: by starting it they approve the commit."""

    approves: bool = False


@dataclass(frozen=True, slots=True)
class Requester:
    """The person who asks, and the commit that is meant, with its authors and its trust."""

    person: Person
    sha: Sha
    authorship: Authorship
    trust: Trusted


def may_start(
    messages: Messages, policy: Policy, name: str, requester: Requester, again: str
) -> Allowed | Refusal:
    """Return whether a person may start a suite on a commit.

    ``again`` is the line by which somebody else starts it; "" where no comment can.
    """
    if policy.mode is Mode.DRY_RUN:
        return Refusal(messages("refuse_dry_run"))
    if name not in policy.suites:
        return Refusal(messages("refuse_gone", suite=code(name)))
    suite, level = policy.suites[name], requester.person.level
    needed = level_for(policy.trust, suite)
    enough = requester.person.may_start(needed)
    # GitHub's own rules let a native suite run.
    approves = not (requester.trust.trusted or suite.start is Start.NATIVE)
    if approves:
        enough = enough and level.at_least(policy.trust.approve)
        needed = max(needed, policy.trust.approve, key=list(Level).index)
    if not enough:
        text = messages(
            "refuse_start" if approves else "refuse_level",
            suite=code(name),
            tier=suite.tier.value,
            sha=code(short(requester.sha)),
            needed=messages(f"level_{needed}"),
            level=messages(f"level_{level}"),
            todo=_ask(messages, needed, again),
        )
        return Refusal(text)
    owned = _own(requester) if approves else None
    if owned is None:
        return Allowed(approves)
    todo = messages(owned.ask, needed=messages(f"level_{needed}"), command=code(again))
    sha = code(short(requester.sha))
    return Refusal(messages(owned.start, suite=code(name), sha=sha, todo=todo))


def _ask(messages: Messages, needed: Level, again: str) -> str:
    """Say whom to ask for what."""
    level = messages(f"level_{needed}")
    if not again:
        return messages("ask_click", needed=level)
    return messages("ask_comment", needed=level, command=code(again))


def may_approve(messages: Messages, rule: Trust, requester: Requester) -> Refusal | None:
    """Refuse an approval by somebody without the level, or of what may be one's own commit."""
    again, level = line("approve", sha=requester.sha), requester.person.level
    if level.at_least(rule.approve):
        owned = _own(requester)
        if owned is None:
            return None
        todo = messages(owned.ask, needed=messages(f"level_{rule.approve}"), command=code(again))
        return Refusal(messages(owned.approve, sha=code(short(requester.sha)), todo=todo))
    text = messages(
        "refuse_approve",
        sha=code(short(requester.sha)),
        needed=messages(f"level_{rule.approve}"),
        level=messages(f"level_{level}"),
        todo=_ask(messages, rule.approve, again),
    )
    return Refusal(text)


class _Owned(NamedTuple):
    """What is said to somebody whose own commit it is, or may be."""

    approve: str  # nothing was approved
    start: str  # nothing was started
    ask: str


_OWN = _Owned("refuse_own", "refuse_start_own", "ask_own")
_MAYBE_OWN = _Owned("refuse_pusher", "refuse_start_pusher", "ask_pusher")


def _own(requester: Requester) -> _Owned | None:
    """Return why nobody approves this commit for themselves; None: it is another's."""
    if requester.authorship.is_own(requester.person.account):
        return _OWN
    return _MAYBE_OWN if requester.authorship.may_be_own(requester.person.level) else None


def right_lost(
    rule: Trust, run: Run, claimant: Claimant, trust: Trusted, person: Person | None
) -> Message | None:
    """Return why a claimant may not have a run started any more, None if it may.

    ``person`` is who asked for the run, with their level now; None: nobody did.
    """
    if person and not person.may_start(level_for(rule, run.snapshot.suite)):
        return Message("drop_rights", by=claimant.by.login)
    if not trust.trusted and not run.snapshot.native:  # GitHub's own rules let a native one run
        return Message("drop_untrusted", why=trust.why)
    return None


def may_cancel(policy: Policy, run: Run, person: Person, author: Account) -> bool:
    """Return True if a person may start the run, or is the author of its pull request."""
    suite = policy.suites.get(run.suite)
    needed = level_for(policy.trust, suite) if suite else policy.trust.heavy
    return person.may_start(needed) or person.account == author


def not_green(runs: tuple[RunClaimants, ...], at: PolicyAt) -> list[str]:
    """Return the suites whose latest attempt has ended and did not pass.

    It is the latest of all, or of those that count by this policy.
    """
    own = counting(runs, at)
    ended = [
        run for run in (*latest(runs).values(), *latest(own).values()) if run.state is State.DONE
    ]
    red = {run.suite for run in ended if run.outcome is not Outcome.SUCCESS}
    return [name for name in latest(runs) if name in red]


def nothing_to_rerun(messages: Messages, runs: tuple[RunClaimants, ...], sha: Sha) -> str:
    """Say why no suite of a commit can be run again: none has run, not yet ended, all passed."""
    named = code(short(sha))
    found = latest(runs)
    if not found:
        return messages("nothing_ran", sha=named)
    going = [code(name) for name, run in found.items() if run.state is not State.DONE]
    if going:
        return messages("nothing_ended", sha=named, suites=", ".join(going))
    return messages("nothing_to_rerun", sha=named)


def counting(runs: tuple[RunClaimants, ...], at: PolicyAt) -> list[RunClaimants]:
    """Return the attempts whose results count by this policy."""
    known = [item for item in runs if item.run.suite in at.policy.suites]
    return [item for item in known if speaks_for(item.run, freeze(at, item.run.suite, NOTHING))]
