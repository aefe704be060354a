"""Checks across the keys of a policy: names must exist, and sums must fit.

The checks read plain values, not the models. So they also work when another key is wrong, and the
author sees every error at once. They ignore values of a wrong type: pydantic reports those.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import islice, takewhile
from typing import Any

from bot.core.messages import NOTHING, Message
from bot.core.policy import values as v
from bot.core.policy.document import Path, Problem
from bot.core.policy.errors import shown, suggest, unknown
from bot.core.policy.globs import PatternError, compile_pattern, encode
from bot.core.policy.levels import Level
from bot.core.policy.models import Policy, Runner, Start, Suite, Tier, Trigger
from bot.core.policy.quarantine_checks import quarantine_problems, quarantine_warnings

_WILD = frozenset("*?+[\\!")


def spell_labels(data: Mapping[str, Any]) -> None:
    """Write the labels of suites as ``runners`` does: GitHub does not tell capitals apart."""
    known = {name.lower(): name for name in _mapping(data.get("runners"))}
    for suite in _mapping(data.get("suites")).values():
        labels = _mapping(suite).get("runners")
        if isinstance(labels, list):
            labels[:] = [known.get(str(label).lower(), label) for label in labels]


def problems(data: Mapping[str, Any], today: date | None = None) -> Iterator[Problem]:
    """Yield every error across keys of a policy given as plain values.

    With ``today`` they include what may not be written on that day.
    """
    runners = _mapping(data.get("runners"))
    pools = _mapping(data.get("pools"))
    first: dict[str, str] = {}
    for name in runners:
        known = first.setdefault(name.lower(), name)
        if known != name:
            yield Problem(("runners", name), Message("policy_label_again", label=shown(known)))
    for name in pools:
        if name.lower() in first:
            yield Problem(("pools", name), Message("policy_pool_label"))
    suites = _mapping(data.get("suites"))
    for key, suite in islice(suites.items(), v.MAX_ITEMS):
        for check in _SUITE_CHECKS:
            yield from check(("suites", key), _mapping(suite), data)
    yield from _nightly(data)
    yield from quarantine_problems(data, suites, today)
    yield from _signatures(data)


def _runners(path: Path, suite: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Problem]:
    known = _mapping(data.get("runners"))
    seen: set[str] = set()
    for index, label in _texts(suite.get("runners")):
        where = (*path, "runners", index)
        if label not in known:
            yield Problem(where, unknown("label", label, known))
        elif label in seen:
            yield Problem(where, Message("policy_label_twice", label=shown(label)))
        seen.add(label)


def _pool(path: Path, suite: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Problem]:
    pool = suite.get("pool")
    known = _mapping(data.get("pools"))
    if not isinstance(pool, str) or pool in known:
        return
    if pool in _mapping(data.get("runners")):
        yield Problem((*path, "pool"), Message("policy_pool_is_label", pool=shown(pool)))
    else:
        yield Problem((*path, "pool"), unknown("pool", pool, known))


def _capacity(path: Path, suite: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Problem]:
    """Refuse a suite that could wait for ever, because it needs more than a label or pool has.

    The jobs of a native suite queue at GitHub one by one. They use no slots of the bot together.
    """
    pool = suite.get("pool")
    if isinstance(pool, str) and pool in _mapping(data.get("pools")):
        yield from _fits_pool(path, suite, data)
        return
    for _, label in _texts(suite.get("runners")):
        runner = _mapping(data.get("runners")).get(label)
        if isinstance(runner, dict):
            yield from _fits_label(path, suite, (label, runner))


def _fits_pool(path: Path, suite: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Problem]:
    name = suite["pool"]
    room = _number(_mapping(data["pools"][name]), "npus", 8)
    nodes = _number(suite, "nodes", 1)
    runners = _mapping(data.get("runners"))
    labels = [_mapping(runners.get(label)) for _, label in _texts(suite.get("runners"))]
    own = [_number(runner, "npus", _default_npus()) for runner in labels]
    npus = _number(suite, "npus", max(own, default=0))
    if 0 <= room < nodes * npus:  # one below 0 is told already
        needs = _needs(nodes, npus)
        where = _nearest(path, suite, ("nodes", "npus", "pool"))
        yield Problem(where, Message("policy_pool_small", needs=needs, pool=shown(name), room=room))


def _fits_label(
    path: Path, suite: Mapping[str, Any], labelled: tuple[str, Mapping[str, Any]]
) -> Iterator[Problem]:
    label, runner = labelled
    own = _number(runner, "npus", _default_npus())
    slots = _number(runner, "slots", 1)
    npus = _number(suite, "npus", own)
    nodes = _number(suite, "nodes", 1)
    if own < 0 or slots < 1:
        return  # is told already
    if npus > own:
        text = Message("policy_node_large", npus=npus, label=shown(label), own=own)
        yield Problem((*path, "npus"), text)
    elif nodes * npus > own * slots and suite.get("start") != Start.NATIVE:
        where = _nearest(path, suite, ("nodes", "npus"))
        room = {"room": own * slots, "slots": slots, "own": own}
        needs = _needs(nodes, npus)
        yield Problem(where, Message("policy_label_small", needs=needs, label=shown(label), **room))


def _inputs(path: Path, suite: Mapping[str, Any], _data: Mapping[str, Any]) -> Iterator[Problem]:
    names = {*_mapping(suite.get("inputs")), *_mapping(suite.get("settable"))}
    total = len(names) + len(v.SENT_INPUTS)
    if total > v.MAX_INPUTS:
        most = v.MAX_INPUTS - len(v.SENT_INPUTS)
        where = _nearest(path, suite, ("inputs", "settable"))
        counts = {"own": len(names), "sent": len(v.SENT_INPUTS), "total": total}
        yield Problem(where, Message("policy_inputs", most=most, limit=v.MAX_INPUTS, **counts))


def _paths(path: Path, suite: Mapping[str, Any], _data: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("paths", "env_paths", "bases"):
        patterns = [text for _, text in _texts(suite.get(name))]
        if patterns and all(text.startswith("!") for text in patterns):
            yield Problem((*path, name), Message("policy_only_excludes"))


def _native(path: Path, suite: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Problem]:
    if suite.get("start") != Start.NATIVE:
        if suite.get("jobs"):
            yield Problem((*path, "jobs"), Message("policy_jobs_native"))
        for index, trigger in _texts(suite.get("triggers")):
            if trigger == Trigger.SCHEDULE:
                yield Problem((*path, "triggers", index), Message("policy_schedule_native"))
        return
    yield from _followed_once(path, suite, _mapping(data.get("suites")))
    if suite.get("bases"):
        yield Problem((*path, "bases"), Message("policy_bases_native"))
    for name in ("inputs", "settable"):
        if suite.get(name):
            yield Problem((*path, name), Message("policy_native_inputs"))
    for index, trigger in _texts(suite.get("triggers")):
        if trigger in (Trigger.NIGHTLY, Trigger.PUSH):
            text = Message("policy_native_trigger", trigger=trigger)
            yield Problem((*path, "triggers", index), text)


def _followed_once(
    path: Path, suite: Mapping[str, Any], suites: Mapping[str, Any]
) -> Iterator[Problem]:
    """Refuse a second native suite for one workflow, unless each names jobs of its own.

    A RayJob is told for an Actions run, so only one suite of a workflow can have RayJobs.
    """
    same = {"start": Start.NATIVE, "workflow": suite.get("workflow")}
    before = takewhile(lambda item: item[0] != path[-1], suites.items())
    others = [
        (key, _mapping(other)) for key, other in before if same.items() <= _mapping(other).items()
    ]
    named = dict(_texts(suite.get("jobs")))
    for key, other in others[:1]:
        if not (named and other.get("jobs")):
            yield Problem((*path, "workflow"), Message("policy_native_twice", suite=shown(key)))
    first = {name: key for key, other in others[::-1] for _, name in _texts(other.get("jobs"))}
    for index, name in named.items():
        if name in first:
            text = Message("policy_job_twice", suite=shown(first[name]))
            yield Problem((*path, "jobs", index), text)
    rayjobs = [key for key, other in others if other.get("rayjob") is True]
    for key in rayjobs[:1]:
        if suite.get("rayjob") is True:
            yield Problem((*path, "rayjob"), Message("policy_rayjob_twice", suite=shown(key)))


_SUITE_CHECKS: tuple[
    Callable[[Path, Mapping[str, Any], Mapping[str, Any]], Iterator[Problem]], ...
] = (_runners, _pool, _capacity, _inputs, _paths, _native)


def _nightly(data: Mapping[str, Any]) -> Iterator[Problem]:
    entries = data.get("nightly")
    first = islice(_mapping(data.get("suites")).items(), v.MAX_ITEMS)
    suites = {key: _mapping(suite) for key, suite in first}
    names: set[str] = set()
    for index, entry in enumerate(entries[: v.MAX_ITEMS] if isinstance(entries, list) else []):
        path: Path = ("nightly", index)
        name = _mapping(entry).get("name", "nightly")
        if isinstance(name, str) and name in names:
            yield Problem((*path, "name"), Message("policy_name_twice", name=shown(name)))
        names.add(str(name))
        for at, text in _texts(_mapping(entry).get("suites")):
            message = _nightly_match(text, suites)
            if message:
                yield Problem((*path, "suites", at), message)


def _signatures(data: Mapping[str, Any]) -> Iterator[Problem]:
    entries = _mapping(data.get("log")).get("signatures")
    for index, entry in enumerate(entries[: v.MAX_ITEMS] if isinstance(entries, list) else []):
        if isinstance(entry, dict) and not entry.get("match") and not entry.get("codes"):
            yield Problem(("log", "signatures", index), Message("policy_signature"))


def _nightly_match(text: str, suites: Mapping[str, Mapping[str, Any]]) -> Message:
    """Return what is wrong with a suite name or glob of a schedule, nothing if it is right."""
    triggers = {key: suite.get("triggers") for key, suite in suites.items()}  # default: not nightly
    scheduled = [key for key, at in triggers.items() if isinstance(at, list) and "nightly" in at]
    if text in suites:
        return NOTHING if text in scheduled else Message("policy_no_nightly", suite=shown(text))
    if not _WILD & set(text):
        return unknown("suite", text, suites)
    try:
        glob = compile_pattern(text)
    except PatternError:
        return NOTHING  # said where the pattern itself is checked
    if any(glob.matches(encode(key)) for key in scheduled):
        return NOTHING
    near = suggest(text.strip("*!"), scheduled)
    return Message("policy_glob_nothing", glob=shown(text), near=near)


def warnings(policy: Policy, today: date | None = None) -> Iterator[Problem]:
    """Yield the values that are allowed but are probably mistakes."""
    if today:
        yield from quarantine_warnings(policy, today)
    if not policy.suites:
        yield Problem((), Message("policy_no_suites"))
    for name in ("auto", "standard", "heavy"):
        if getattr(policy.trust, name) is Level.READ:
            yield Problem(("trust", name), Message("policy_pull"))
    for key, suite in policy.suites.items():
        yield from _suite_warnings(("suites", key), suite)


def _suite_warnings(path: Path, suite: Suite) -> Iterator[Problem]:
    by_files = suite.started_by(Trigger.PULL_REQUEST) or suite.started_by(Trigger.PUSH)
    if not suite.triggers:
        yield Problem((*path, "triggers"), Message("policy_no_trigger"))
    elif suite.paths and not by_files:
        yield Problem((*path, "paths"), Message("policy_no_pull_request"))
    chosen = "triggers" in suite.model_fields_set and suite.started_by(Trigger.PULL_REQUEST)
    if chosen and not suite.paths:
        yield Problem((*path, "triggers"), Message("policy_no_paths"))
    if suite.start is Start.NATIVE and suite.tier is Tier.HEAVY:
        yield Problem((*path, "tier"), Message("policy_native_heavy"))
    for name in ("paths", "env_paths"):
        for index, pattern in enumerate(getattr(suite, name)):
            body = pattern.removeprefix("!")
            if body.startswith(("/", "./", "../")) or body.endswith("/") or body != body.strip():
                text = Message("policy_path_root", pattern=shown(pattern))
                yield Problem((*path, name, index), text)


def _default_npus() -> int:
    return int(Runner.model_fields["npus"].default)


def _nearest(path: Path, suite: Mapping[str, Any], names: tuple[str, ...]) -> Path:
    """Return the path of the first of ``names`` that the suite sets."""
    return (*path, next((name for name in names if name in suite), names[-1]))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[tuple[int, str]]:
    items = value[: v.MAX_ITEMS] if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, str)]


def _needs(nodes: int, npus: int) -> Message:
    return Message("policy_needs", n=nodes, npus=npus, total=nodes * npus)


def _number(mapping: Mapping[str, Any], name: str, default: int) -> int:
    value = mapping.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
