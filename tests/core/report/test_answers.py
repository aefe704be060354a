"""What `explain` answers."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.core.messages import Messages, quote
from bot.core.planning.attempts import PolicyAt
from bot.core.planning.pull_request import Evaluation
from bot.core.planning.trust import Trusted
from bot.core.policy.selection import ChangedFile, select
from bot.core.report.answers import explained
from tests.core.building import a_pull
from tests.core.policies import loaded, with_suite

TEXT = (
    with_suite("paths: ['**']", "tier: standard")
    + "  nightly: {workflow: n.yml, runners: [npu-16], tier: heavy, pool: cluster, nodes: 2}\n"
    + "  own: {workflow: o.yml, runners: [npu-8], start: native, paths: ['b/**']}\n"
)
NOW = datetime(2026, 8, 22, 15, 2, tzinfo=UTC)
messages = Messages()


def evaluation(*, trusted: bool, mode: str = "on", draft: bool = False) -> Evaluation:
    policy = loaded(f"{TEXT}mode: {mode}\n")
    files = (ChangedFile("a.py"),)
    return Evaluation(
        pull=replace(a_pull(), draft=draft),
        at=PolicyAt(policy, "main", "p" * 40),
        selection=select(policy, files),
        files=files,
        trust=Trusted(trusted, quote("the author and the pusher may start runs here")),
        origin=quote(""),
        fresh=False,
        pushed=False,
    )


def test_each_suite_says_why_who_and_at_what_cost() -> None:
    assert explained(
        messages, evaluation(trusted=True), (), {"unit": "queued"}, NOW
    ).splitlines() == [
        "`9999999` is trusted: the author and the pusher may start runs here.",
        "",
        "| suite | selected | why | starts | who may start it | cost | state |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        (
            "| `unit` | yes | `a.py` matches `**` | by itself | triage permission "
            "| up to 32 NPU-hours, npu-8 | queued |"
        ),
        (
            "| `nightly` | no | has no `paths`, so no file selects it | by command "
            "| write permission | up to 128 NPU-hours, 2 nodes × 16 NPUs, cluster |  |"
        ),
        (
            "| `own` | no | the changed file matches none of its paths | by GitHub "
            "| re-run: triage permission | up to 32 NPU-hours, npu-8 |  |"
        ),
    ]


@pytest.mark.parametrize(
    ("at", "starts"),
    [
        (evaluation(trusted=False), "after an approval"),
        (evaluation(trusted=True, draft=True), "when ready for review"),
        (evaluation(trusted=True, mode="dry_run"), "never: dry run"),
    ],
)
def test_what_keeps_a_suite_from_starting_by_itself_is_said(at: Evaluation, starts: str) -> None:
    text = explained(messages, at, ("unit",), {}, NOW)
    assert f"| {starts} |" in text
    assert "nightly" not in text
    assert ("is not trusted" in text) is (starts == "after an approval")


def test_globs_stand_for_suites_and_what_names_none_is_said_before_the_rest() -> None:
    text = explained(messages, evaluation(trusted=True), ("n*", "unti", "n*", "zzz@bob"), {}, NOW)
    assert text.startswith(
        "No suite `unti`. Did you mean `unit`?\n\n"
        "No suite `zzz@bob`. `/ascend-e2e explain` lists the suites, `/ascend-e2e help` the "
        "commands.\n\n`9999"
    )
    assert "| `nightly` |" in text
    assert "| `unit` |" not in text


def test_when_no_word_names_a_suite_there_is_no_table() -> None:
    assert explained(messages, evaluation(trusted=True), ("unti",), {}, NOW) == (
        "No suite `unti`. Did you mean `unit`?"
    )


def test_a_quarantine_stands_beside_the_state() -> None:
    rest = "owner: amy, reason: flaky, issue: 12"
    policy = loaded(f"{TEXT}quarantine: [{{suite: unit, until: 2026-08-30, {rest}}}]\n")
    asked = evaluation(trusted=True)
    asked = replace(asked, at=replace(asked.at, policy=policy))
    for stands, told in (({"unit": "queued"}, "queued, in"), ({}, "in")):
        text = explained(messages, asked, (), stands, NOW)
        assert f"| {told} quarantine until 2026-08-30 |" in text
