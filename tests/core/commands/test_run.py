"""`/ascend-e2e [run]`: how it is typed, what it starts, and when it starts nothing."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from bot.core.commands.run import FORCE, RUNNER, RunCommand
from bot.core.policy.models import OnHiddenFailure
from bot.core.policy.selection import ChangedFile
from tests.core.building import OLD_SHA, SHA, a_run, at, with_changes
from tests.core.commands.commenting import (
    COMMAND,
    HEAD,
    NAMED,
    OLD_HEAD,
    READER,
    TRUSTED,
    UNTRUSTED,
    carried_out,
    commented,
    mistake,
    read,
    started,
)


@pytest.mark.parametrize(
    ("words", "wanted", "options"),
    [
        ("", {"words": (), "sha": None, "settings": ()}, (None, None)),
        (" run unit", {"words": ("unit",)}, (None, None)),
        (" a-* b", {"words": ("a-*", "b")}, (None, None)),
        (f" unit --sha {NAMED}", {"words": ("unit",), "sha": NAMED}, (None, None)),
        (
            " unit --runner npu-8 --set script=a.sh --set mode=a=b --force",
            {"words": ("unit",), "settings": (("script", "a.sh"), ("mode", "a=b"))},
            ("npu-8", ""),
        ),
    ],
)
def test_the_command_is_read(
    words: str, wanted: dict[str, Any], options: tuple[str | None, str | None]
) -> None:
    found = read(f"{COMMAND}{words}")
    assert isinstance(found, RunCommand)
    given = {name: getattr(found, name) for name in wanted}
    assert given == wanted
    assert (found.typed.value(RUNNER), found.typed.value(FORCE)) == options


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--runner a;b", "`a;b` is not a suite's name"),
        ("--set novalue", "needs KEY=VALUE"),
        ("--set a=1 --set b=1 --set=a=2", "`--set a` is given twice"),
        ("--force=yes", "`--force` takes no value"),
    ],
)
def test_a_wrong_option_is_a_mistake(words: str, told: str) -> None:
    assert told in mistake(f"{COMMAND} {words}")


def test_without_a_name_the_selected_standard_suites_start() -> None:
    builder = carried_out(COMMAND, commented())
    assert started(builder) == ["unit"]
    assert builder.said == [f"`{COMMAND}` on `{SHA[:7]}`"]


def test_a_heavy_suite_starts_by_its_name() -> None:
    assert started(carried_out(f"{COMMAND} heavy", commented())) == ["heavy"]


def test_without_a_selection_the_suites_that_can_be_named_are_listed() -> None:
    builder = carried_out(COMMAND, commented(files=(ChangedFile("docs/a.md", "added"),)))
    assert started(builder) == []
    (said,) = builder.said
    assert "`unit`, `heavy`, `other`" in said


def test_an_unknown_suite_stops_the_whole_command() -> None:
    builder = carried_out(f"{COMMAND} unit nope", commented())
    assert started(builder) == []
    assert builder.refusals == 1


def test_a_person_without_the_level_starts_nothing() -> None:
    builder = carried_out(f"{COMMAND} unit", commented(person=READER))
    assert started(builder) == []
    assert builder.refusals == 1


def test_label_inputs_and_force_go_into_the_run() -> None:
    policy = commented().policy
    suites = {**policy.suites}
    suites["unit"] = suites["unit"].model_copy(update={"settable": {"script": "**"}})
    context = commented(policy=policy.model_copy(update={"suites": suites}))
    builder = carried_out(f"{COMMAND} unit --runner NPU-8 --set script=a.sh", context)
    ((run, _),) = builder.new_runs
    assert run.snapshot.suite.inputs["script"] == "a.sh"
    assert [label.name for label in run.snapshot.labels] == ["npu-8"]
    refused = carried_out(f"{COMMAND} unit --force", context)
    assert "maintain" in refused.said[-1]


def test_a_former_head_runs_the_suites_that_are_named() -> None:
    builder = carried_out(f"{COMMAND} unit --sha {OLD_SHA[:12]}", commented())
    ((run, _),) = builder.new_runs
    assert run.sha == OLD_SHA


def test_a_commit_of_no_head_is_refused() -> None:
    builder = carried_out(f"{COMMAND} unit --sha {'ab' * 8}", commented())
    assert started(builder) == []
    assert f"--sha {SHA[:12]}" in builder.said[0]


@pytest.mark.parametrize(
    ("seen_at", "trusted", "refused"),
    [
        (at(9), True, False),
        (at(9, seconds=30), True, False),
        (at(9, seconds=30), False, True),
        (at(11), True, True),
    ],
)
def test_a_head_that_the_author_may_not_have_seen_has_to_be_named(
    seen_at: datetime, *, trusted: bool, refused: bool
) -> None:
    heads = (OLD_HEAD, replace(HEAD, seen_at=seen_at))
    context = commented(heads=heads, trust=TRUSTED if trusted else UNTRUSTED)
    builder = carried_out(f"{COMMAND} unit", context)
    assert (f"--sha {SHA[:12]}" in "".join(builder.said)) is refused
    assert bool(started(builder)) is not refused


@pytest.mark.parametrize(("updated_at", "refused"), [(at(9, seconds=30), True), (at(0), False)])
def test_a_first_head_seen_after_the_comment_counts_by_the_pull_requests_own_time(
    updated_at: datetime, *, refused: bool
) -> None:
    context = commented(trust=UNTRUSTED, heads=(replace(HEAD, seen_at=at(11)),))
    pull = replace(context.pull, updated_at=updated_at)
    context = replace(context, evaluation=replace(context.evaluation, pull=pull))
    builder = carried_out(f"{COMMAND} unit", context)
    assert bool(started(builder)) is not refused


def test_a_suite_that_runs_already_is_joined() -> None:
    frozen = with_changes(a_run().snapshot, on_hidden_failure=OnHiddenFailure.WARN)
    run = replace(a_run(), snapshot=frozen)  # as the policy has it for all suites
    builder = carried_out(f"{COMMAND} unit", commented(runs=(run,)))
    assert started(builder) == []
    assert builder.run_ids == [run.id]
