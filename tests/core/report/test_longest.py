"""With the longest names no text is longer than GitHub takes, and no title than a phone shows."""

from dataclasses import replace

import pytest

from bot.core.commands.parser import MAX_COMMANDS
from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import code, size
from bot.core.messages import TABLES, Field, Messages
from bot.core.messages.en.replies import REPLIES
from bot.core.model.runs import Outcome
from bot.core.model.views import CheckWrite, Reply
from bot.core.policy.changes import compare
from bot.core.report.gate import gate_check
from bot.core.report.policy_change import render_policy_check
from bot.core.report.reply import reply_body
from tests.core import views as s
from tests.core.messages.uses import placeholders
from tests.core.proposed import HELD

SUITE = "s" * 64  # the longest that a policy may have
LABEL = "l" * 256
BRANCH = "b" * 255
MANY = [f"{number:02}{'s' * 62}" for number in range(90)]


def _fits(check: CheckWrite) -> bool:
    return len(check.title) <= 120 and max(size(check.summary), size(check.text)) <= TEXT_BYTES


@pytest.mark.parametrize("language", TABLES)
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("outcome", [None, *Outcome])
def test_a_gate_of_many_long_names_fits(
    language: str, outcome: Outcome | None, *, trusted: bool
) -> None:
    reason = f"`{'p' * 900}` matches `{'g' * 900}`"
    suites = [s.chosen(name, reason=reason, cost=s.cost(where=LABEL)) for name in MANY]
    runs = tuple(s.other(name, s.done(outcome, LABEL * 4)) for name in MANY if outcome)
    selection = s.selection(
        *suites, trusted=trusted, trust_reason=LABEL * 8, policy_ref=BRANCH, unprotected=BRANCH
    )
    ctx = replace(s.CTX, gate=SUITE, language=language)
    assert _fits(gate_check(s.gate(selection, runs=runs), ctx, s.NOW))


@pytest.mark.parametrize("language", TABLES)
def test_a_check_of_a_policy_with_many_long_errors_fits(language: str) -> None:
    wrong = "".join(f"  {name}: {{workflow: a.yml, runners: [{LABEL}]}}\n" for name in MANY)
    ctx = replace(s.CTX, policy_ref=BRANCH, policy_sha=s.POLICY_SHA, language=language)
    check = render_policy_check(compare(HELD, HELD + wrong), s.SHA, ctx, s.NOW)
    assert check.conclusion == "failure"
    assert _fits(check)


@pytest.mark.parametrize("language", TABLES)
def test_a_reply_of_the_longest_refusals_fits(language: str) -> None:
    say = Messages(language)
    said = []
    for key, text in REPLIES.items():
        fields: dict[str, Field] = {
            name: 1_000 if f"{{{name}:" in text else code(LABEL) for name in placeholders(text)
        }
        said.append(say(key, **fields))
    longest = sorted(said, key=size)[-1]
    runs = tuple(s.other(name, s.done(Outcome.FAILURE, LABEL * 8)) for name in MANY)
    reply = Reply(s.REPO, 5, 7013, "\n\n".join([longest] * MAX_COMMANDS), ())
    for shown in ((), runs):
        body = reply_body(reply, shown, {run.id: 10**12 for run in runs}, s.CTX, s.NOW)
        assert size(body) <= TEXT_BYTES
        assert longest in body
