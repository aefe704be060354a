"""Compare two policies: every difference, loosened rules first.

A rule is loosened if more people may do something, if more may be spent, or if the gate needs less.
A difference that can't be judged counts as loosened. `paths` are never judged; use `ascend-ci
simulate` for those.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from operator import gt, lt
from typing import Any

from bot.core.messages import Message
from bot.core.messages.words import number
from bot.core.policy.globs import compile_pattern, encode
from bot.core.policy.levels import Level
from bot.core.policy.loading import PolicyError, PolicyErrors, check_policy, load_policy
from bot.core.policy.models import Mode, Policy, Suite, Tier
from bot.core.policy.quarantine import Quarantine

_WILD = frozenset("*?+[\\")


class Effect(StrEnum):
    """The kind of a difference, in the order in which people should look at them."""

    LOOSENED = "loosened"
    TIGHTENED = "tightened"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference; ``what`` is the key of the words that name the rule."""

    kind: Effect
    path: str  # dotted, as in errors
    value: tuple[str, str] | None = None  # the values; "" is the default
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    what: str = ""


class Before(StrEnum):
    """The policy that a proposal is compared with."""

    READ = "read"
    NONE = "none"  # there was no policy
    BROKEN = "broken"  # the policy has errors and can't be compared


@dataclass(frozen=True, slots=True)
class Comparison:
    """A proposed policy compared with the current one, as the check run shows it."""

    before: Before
    changes: tuple[Change, ...] = ()
    errors: tuple[PolicyError, ...] = ()  # errors of the proposal; then there are no changes
    warnings: tuple[PolicyError, ...] = ()
    deleted: bool = False  # the proposal deletes the policy

    @property
    def is_same(self) -> bool:
        """Return True if the proposal says what the current policy says."""
        read = self.before is Before.READ
        return read and not (self.changes or self.errors or self.deleted)

    @property
    def loosened(self) -> tuple[Change, ...]:
        """Return the changes that need a deliberate decision."""
        return self.of(Effect.LOOSENED)

    def of(self, kind: Effect) -> tuple[Change, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)


def compare(
    old: str | bytes | None, new: str | bytes | None, today: date | None = None
) -> Comparison:
    """Compare the current policy with a proposed one, both as text; None: there is no file.

    ``today`` is the day on which it is proposed.
    """
    held = load_policy(old) if old is not None else None
    before = Before.BROKEN if isinstance(held, PolicyErrors) else Before.READ
    before = Before.NONE if held is None else before
    if new is None:
        return Comparison(before, deleted=True)
    checked = check_policy(new, today=today)
    if isinstance(checked.result, PolicyErrors):
        return Comparison(before, errors=checked.result.errors, warnings=checked.warnings)
    found = () if isinstance(held, PolicyErrors) else changes(held, checked.result)
    return Comparison(before, found, warnings=checked.warnings)


def changes(old: Policy | None, new: Policy) -> tuple[Change, ...]:
    """Return every difference, loosened rules first; with ``old`` None everything is added."""
    found: list[Change] = []
    if old:  # Permissions come first: many changed suites must not bury them.
        found += _parts("trust", old.trust, new.trust, _TRUST)
        found += _parts("", old, new, _TOP)
        found += _quarantines(old.quarantine, new.quarantine)
        found += _parts("limits", old.limits, new.limits, _LIMITS)
        found += _parts("gate", old.gate, new.gate, {"name": _with(_plain, what="what_gate")})
        found += _parts("report", old.report, new.report, {})
        found += _log(old, new)
    found += _suites(old, new)
    found += _named("runners", old.runners if old else {}, new.runners)
    found += _named("pools", old.pools if old else {}, new.pools)
    found += _named("nightly", _by_name(old.nightly if old else ()), _by_name(new.nightly))
    order = list(Effect)
    return tuple(sorted(found, key=lambda change: order.index(change.kind)))


# A handler takes a path and two different values.
Handler = Callable[[str, Any, Any], Iterator[Change]]


def _parts(path: str, old: Any, new: Any, special: Mapping[str, Handler]) -> Iterator[Change]:
    """Compare two mappings of the policy key by key; other handlers compare ``_apart``."""
    for name in type(new).model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            where = f"{path}.{name}".removeprefix(".")
            yield from special.get(name, _plain)(where, before, after)


def _apart(_path: str, _old: Any, _new: Any) -> Iterator[Change]:
    """Report nothing: another handler compares this key."""
    return iter(())


def _plain(path: str, old: Any, new: Any) -> Iterator[Change]:
    """Report a difference that neither loosens nor tightens."""
    if isinstance(new, tuple):
        yield _listed(path, old, new)
    elif isinstance(new, Mapping):
        yield from _keyed(path, old, new)
    else:
        yield Change(Effect.CHANGED, path, (_text(old), _text(new)))


def _keyed(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            value = (_text(old.get(name)), _text(new.get(name)))
            yield Change(_presence(name, old, new), f"{path}.{name}", value)


def _presence(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Effect:
    if name not in old:
        return Effect.ADDED
    return Effect.CHANGED if name in new else Effect.REMOVED


def _listed(path: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Change:
    """Report the items that a list gained and lost, or that only its order changed."""
    added = tuple(_text(item) for item in new if item not in old)
    removed = tuple(_text(item) for item in old if item not in new)
    what = "" if added or removed else "what_order"
    return Change(Effect.CHANGED, path, added=added, removed=removed, what=what)


def _with(handler: Handler, *, what: str, kind: Effect | None = None) -> Handler:
    """Return ``handler`` with the words that name the rule, and a kind if one is given."""

    def named(path: str, old: Any, new: Any) -> Iterator[Change]:
        for change in handler(path, old, new):
            yield replace(change, what=what, kind=kind or change.kind)

    return named


def _by(looser: Callable[[Any, Any], bool], what: str) -> Handler:
    """Return a handler that asks ``looser(old, new)``: ``lt`` where more is looser."""

    def judged(path: str, old: Any, new: Any) -> Iterator[Change]:
        kind = Effect.LOOSENED if looser(old, new) else Effect.TIGHTENED
        yield Change(kind, path, (_text(old), _text(new)), what=what)

    return judged


def _more_loosens(path: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    """Judge a list of people or branches: an added item or a removed exclusion loosens."""
    change = _listed(path, old, new)
    gained = [item for item in change.added if not item.startswith("!")]
    freed = [item for item in change.removed if item.startswith("!")]
    looser = gained or freed or not (change.added or change.removed)
    yield replace(change, kind=Effect.LOOSENED if looser else Effect.TIGHTENED)


def _mode(path: str, old: Mode, new: Mode) -> Iterator[Change]:
    """Judge the mode: in a dry run the gate always passes."""
    kind = Effect.LOOSENED if new is Mode.DRY_RUN else Effect.CHANGED
    yield Change(kind, path, (_text(old), _text(new)), what="what_mode")


def _settable(path: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    """Judge the values that `--set` may set: fewer values or a narrower pattern tighten."""
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield _setting(f"{path}.{name}", before, after)


def _setting(path: str, old: str | None, new: str | None) -> Change:
    what = "what_settable"
    if new is None:
        return Change(Effect.TIGHTENED, path, removed=(old or "",), what=what)
    if old is None:
        return Change(Effect.LOOSENED, path, added=(new,), what=what)
    kind = Effect.TIGHTENED if _is_within(new, old) else Effect.LOOSENED
    return Change(kind, path, (old, new), what=what)


def _is_within(text: str, pattern: str) -> bool:
    """Return True if ``pattern`` surely allowed every value that ``text`` allows."""
    if pattern == "**":
        return True
    return not _WILD & set(text) and compile_pattern(pattern).matches(encode(text))


def _named(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Compare mappings of named parts: added, removed and changed parts."""
    for name in dict.fromkeys((*old, *new)):
        where = f"{path}.{name}"
        if name in old and name in new:
            yield from _parts(where, old[name], new[name], {})
        else:
            yield Change(_presence(name, old, new), where)


def _by_name(entries: tuple[Any, ...]) -> dict[str, Any]:
    return {entry.name: entry for entry in entries}


def _suites(old: Policy | None, new: Policy) -> Iterator[Change]:
    held = old.suites if old else {}
    for name in dict.fromkeys((*held, *new.suites)):
        path = f"suites.{name}"
        before, after = held.get(name), new.suites.get(name)
        if after is None:
            yield from _removed(path, before)
        elif old is None or before is None:
            told = (after.tier.value, number(_hours(after, new)))
            yield Change(Effect.ADDED, path, added=told, what="what_suite")
        else:
            yield from _parts(path, before, after, _SUITE)
            yield from _effects(path, (before, _hours(before, old)), (after, _hours(after, new)))


def _removed(path: str, suite: Suite | None) -> Iterator[Change]:
    required = suite is not None and suite.is_required
    yield Change(
        Effect.LOOSENED if required else Effect.REMOVED,
        path,
        what="what_required_removed" if required else "",
    )


def _effects(path: str, old: tuple[Suite, float], new: tuple[Suite, float]) -> Iterator[Change]:
    """Report the combined effect of several keys of a suite: required or not, and its cost."""
    (before, hours), (after, hours_now) = old, new
    if before.is_required is not after.is_required:
        kind = Effect.LOOSENED if before.is_required else Effect.TIGHTENED
        value = (_text(before.is_required), _text(after.is_required))
        yield Change(kind, f"{path}.required", value, what="what_required")
    if hours != hours_now:
        yield Change(Effect.CHANGED, path, (number(hours), number(hours_now)), what="what_cost")


def _hours(suite: Suite, policy: Policy) -> float:
    return suite.npu_hours_on(suite.runners[0], policy)


def _quarantines(old: tuple[Quarantine, ...], new: tuple[Quarantine, ...]) -> Iterator[Change]:
    """Judge quarantines: a new one and a later end loosen, whenever it is; fewer failures count."""
    before, after = _by_what(old), _by_what(new)
    for name in dict.fromkeys((*before, *after)):
        path, held, now = f"quarantine.{name}", before.get(name), after.get(name)
        if now is None:
            yield Change(Effect.TIGHTENED, path, what="what_quarantine_removed")
        elif held is None:
            yield Change(Effect.LOOSENED, path, added=(now.until,), what="what_quarantine")
        else:
            yield from _parts(path, held, now, _QUARANTINE)


def _by_what(entries: tuple[Quarantine, ...]) -> dict[str, Quarantine]:
    """Return the entries by suite and test; another test is another quarantine."""
    return {f"{it.suite} {it.test}" if it.test else it.suite: it for it in entries}


def _until(path: str, old: str, new: str) -> Iterator[Change]:
    longer = new > old
    kind = Effect.LOOSENED if longer else Effect.TIGHTENED
    what = "what_quarantine_longer" if longer else "what_quarantine_shorter"
    yield Change(kind, path, (old, new), what=what)


def _log(old: Policy, new: Policy) -> Iterator[Change]:
    """Compare how logs are read; values to hide are counted, never shown."""
    yield from _parts("log", old.log, new.log, {"redact": _redact, "signatures": _apart})
    yield from _named("log.signatures", _by_name(old.log.signatures), _by_name(new.log.signatures))


def _redact(path: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    kind = Effect.TIGHTENED if set(old) <= set(new) else Effect.LOOSENED
    fresh = len(set(new) - set(old))
    now = str(len(new))
    if fresh and kind is Effect.LOOSENED:
        now = Message("value_new", count=len(new), fresh=fresh)
    yield Change(kind, path, (str(len(old)), now), what="what_redact")


def _text(value: Any) -> str:
    """Return a value as the file would write it, "" for the default."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


_TOP: Mapping[str, Handler] = {
    "mode": _mode,
    "branches": _with(_more_loosens, what="what_branches"),
    "dispatch_ref": _with(_plain, what="what_dispatch_ref", kind=Effect.LOOSENED),
    "drafts": _by(lt, "what_drafts"),
    **dict.fromkeys(
        (
            *("runners", "pools", "suites", "nightly", "quarantine", "trust", "limits", "gate"),
            *("report", "log"),
        ),
        _apart,
    ),
}

_TRUST: Mapping[str, Handler] = {
    "auto": _by(Level.at_least, "what_auto"),
    "standard": _by(Level.at_least, "what_standard"),
    "heavy": _by(Level.at_least, "what_heavy"),
    "approve": _by(Level.at_least, "what_approve"),
    "users": _with(_more_loosens, what="what_listed"),
    "teams": _with(_more_loosens, what="what_listed"),
}

_LIMITS: Mapping[str, Handler] = {
    "runs_per_pr": _by(lt, "what_runs_per_pr"),
    "npu_hours_per_day": _by(lt, "what_npu_hours"),
    "commands_per_minute": _by(lt, "what_commands"),
}

_QUARANTINE: Mapping[str, Handler] = {"until": _until}

_SUITE: Mapping[str, Handler] = {
    "required": _apart,
    "tier": _by(lambda _old, new: new is Tier.STANDARD, "what_tier"),
    "settable": _settable,
    "rayjob": _by(gt, "what_rayjob"),
    "min_minutes": _by(gt, "what_min_minutes"),
}
