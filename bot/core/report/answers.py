"""The answer to `explain`: for each suite the selection, its reason, who may start it, the cost."""

from collections.abc import Mapping
from datetime import datetime

from bot.core.explain.explaining import (
    Explanation,
    Starts,
    explain,
    hours,
    in_quarantine,
    where,
    who,
)
from bot.core.github.markdown import code, plain, prose, table
from bot.core.messages import Messages
from bot.core.messages.words import joined
from bot.core.model.ids import short
from bot.core.planning.permissions import guess
from bot.core.planning.pull_request import Evaluation, may_start_by_itself
from bot.core.policy.models import Mode
from bot.core.policy.selection import suites_named

HEAD = (
    "head_suite",
    "head_selected",
    "head_reason",
    "head_starts",
    "head_who",
    "head_cost",
    "head_state",
)


def explained(
    messages: Messages,
    evaluation: Evaluation,
    words: tuple[str, ...],
    stands: Mapping[str, str],
    now: datetime,
) -> str:
    """Return a table of a commit's suites: who may start them, and how far they are.

    ``words`` are names and globs of suites, none: all; what names no suite is said. ``stands``
    says of a suite where its latest attempt stands, as Markdown made safe.
    """
    policy = evaluation.at.policy
    named = {word: suites_named(policy, word) for word in words}
    parts = [
        messages(
            "unknown_suite", suite=code(word), guess=guess(messages, word, policy.suites)
        ).strip()
        for word, found in named.items()
        if not found
    ]
    names = {name for found in named.values() for name in found}
    if names or not words:
        key = "explain_trusted" if evaluation.trust.trusted else "explain_untrusted"
        sha = code(short(evaluation.pull.head_sha))
        parts.append(messages(key, sha=sha, why=prose(messages.render(evaluation.trust.why))))
        items = explain(policy, evaluation.selection, names)
        told = {it.suite: in_quarantine(messages, it.quarantine, now) for it in items}
        stands = {
            name: messages.render(joined(filter(None, (stands.get(name), prose(told[name])))))
            for name in told
        }
        parts.append(
            table(map(messages, HEAD), (_row(messages, evaluation, item, stands) for item in items))
        )
    return "\n\n".join(parts)


def _row(
    messages: Messages, evaluation: Evaluation, item: Explanation, stands: Mapping[str, str]
) -> tuple[str, ...]:
    return (
        code(item.suite),
        messages("yes" if item.selected else "no"),
        prose(messages.render(item.reason)),
        _starts(messages, evaluation, item.starts),
        plain(who(messages, item)),
        messages.render(joined((hours(messages, item.cost), plain(where(messages, item.cost))))),
        stands.get(item.suite, ""),
    )


def _starts(messages: Messages, evaluation: Evaluation, starts: Starts) -> str:
    """Return what starts a suite on this commit."""
    if starts is not Starts.ITSELF or may_start_by_itself(evaluation):
        return messages(f"starts_{starts}")
    if evaluation.at.policy.mode is Mode.DRY_RUN:
        return messages("starts_dry_run")
    return messages("starts_draft" if evaluation.trust.trusted else "starts_approval")
