"""With the longest names no text is longer than GitHub takes, and no title than a phone shows."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.commands.parser import MAX_COMMANDS
from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import code, size
from bot.core.messages import TABLES, Field, Message, Messages
from bot.core.messages.en.replies import REPLIES
from bot.core.model.runs import Outcome, Run
from bot.core.model.views import CheckWrite, GateView, Reply, SuiteView
from bot.core.policy.changes import compare
from bot.core.report.gate import gate_check
from bot.core.report.policy_change import render_policy_check
from bot.core.report.reply import reply_body
from bot.core.report.suite import suite_check
from tests.core import views as s
from tests.core.messages.uses import placeholders
from tests.core.proposed import HELD
from tests.core.report.suite_ends import ENDS
from tests.core.report.suite_views import pad_for
from tests.core.report.suite_waits import WAITS
from tests.core.report.test_golden_gates import GATES

SUITE = "s" * 64  # the longest that a policy may have
LABEL = "l" * 256
BRANCH = "b" * 255
MANY = [f"{number:02}{'s' * 62}" for number in range(90)]


# Of one, two, three and four bytes a character.
LONG_NAMES = ("a" * 255, "é" * 255, "昇" * 255, "🚀" * 255)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=255)


def _fits(check: CheckWrite) -> bool:
    labels = all(size(b.label) <= 20 and size(b.description) <= 40 for b in check.buttons)
    title = 0 < len(check.title) <= 120 and size(check.title) <= 255
    return labels and title and max(size(check.summary), size(check.text)) <= TEXT_BYTES


def _named(run: Run, name: str) -> Run:
    """Return a run of which all that a title shows has one name, but for its kind of reason."""
    fields = {key: name if type(value) is str else value for key, value in run.why.fields.items()}
    place = run.queue_position and replace(run.queue_position, resource=f"label:{name}")
    stop = run.stop_request and replace(run.stop_request, by=run.stop_request.by and name)
    return replace(
        run,
        suite=name,
        why=Message(run.why.key, **fields),
        cause=run.cause and name,
        label=run.label and name,
        queue_position=place,
        stop_request=stop,
    )


def _suite(view: SuiteView, name: str, language: str) -> CheckWrite:
    shown = replace(view, run=_named(view.run, name))
    return suite_check(shown, replace(s.CTX, language=language), s.NOW)


def _gate(view: GateView, name: str, language: str) -> CheckWrite:
    runs = tuple(replace(_named(run, name), suite=run.suite) for run in view.runs)
    wrong = Message("policy_error_at", ref=name, error=name)
    selections = tuple(
        replace(row, data=replace(row.data, policy_errors=(wrong,)))
        if row.data.policy_errors
        else row
        for row in view.selections
    )
    shown = replace(view, runs=runs, selections=selections)
    return gate_check(shown, replace(s.CTX, language=language), s.NOW)


def _policy(name: str, language: str) -> CheckWrite:
    ctx = replace(s.CTX, policy_ref=name, policy_sha=s.POLICY_SHA, language=language)
    wrong = (
        HELD + f"  {json.dumps(name, ensure_ascii=False)}: {{workflow: a.yml, runners: [npu-8]}}\n"
    )
    return render_policy_check(compare(HELD, wrong), s.SHA, ctx, s.NOW)


SUITES = (*ENDS.values(), *WAITS.values())


@pytest.mark.parametrize("language", TABLES)
@pytest.mark.parametrize("name", LONG_NAMES, ids=lambda name: name[0])
def test_no_title_or_button_exceeds_githubs_bytes(name: str, language: str) -> None:
    checks = [
        *(_suite(view, name, language) for view in SUITES),
        *(_gate(view, name, language) for view in GATES.values()),
        _policy(name, language),
    ]
    assert [check.title for check in checks if not _fits(check)] == []


@given(
    st.sampled_from(list(TABLES)),
    st.sampled_from(SUITES),
    st.sampled_from(list(GATES.values())),
    NAMES,
)
@settings(max_examples=60)
def test_no_title_of_any_name_exceeds_githubs_bytes(
    language: str, suite: SuiteView, gate: GateView, name: str
) -> None:
    assert _fits(_suite(suite, name, language))
    assert _fits(_gate(gate, name, language))
    assert _fits(_policy(name, language))


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
        assert body.startswith(longest)  # as sentences, and not as a block of a log


def test_a_reply_cut_just_before_a_row_leaves_room_for_its_marker() -> None:
    runs = [s.other(name, s.done(Outcome.FAILURE, "x" * 1_900)) for name in MANY]

    def made(pad: int) -> str:
        return reply_body(Reply(s.REPO, 5, 7013, "y" * (pad + 1), ()), runs, {}, s.CTX, s.NOW)

    assert size(made(pad_for(made(0)))) <= TEXT_BYTES
