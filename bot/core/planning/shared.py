"""One commit, several pull requests: which of them its one gate is about."""

from dataclasses import dataclass

from bot.core.model.pulls import Pull
from bot.core.model.selections import StoredSelection
from bot.core.planning.merge_group import waiting_group


@dataclass(frozen=True, slots=True)
class Weighed:
    """The selections that count for the gate of a commit, and the pull requests that do not."""

    selections: tuple[StoredSelection, ...]
    overruled: tuple[Pull, ...] = ()


def weigh(
    pulls: tuple[Pull, ...], rows: tuple[StoredSelection, ...], default_branch: str
) -> Weighed:
    """Return what counts for the gate; ``pulls`` are the open ones whose head the commit is.

    A merge group that waits counts alone. A pull request that nobody trusts does not count beside
    a trusted one with the same base, or with the default branch as its base. Beside one with
    another base it does: that base may need less.
    """
    group = waiting_group(rows)
    if group:
        return Weighed((group,), pulls)
    if not pulls:
        return Weighed(rows)
    known = {row.number: row for row in rows}
    trusted = {pull.base_ref for pull in pulls if _is_trusted(known.get(pull.number))}
    overruled = tuple(
        pull
        for pull in pulls
        if not (
            _is_trusted(known.get(pull.number))
            or trusted.isdisjoint((pull.base_ref, default_branch))
        )
    )
    gone = {pull.number for pull in overruled}
    counting = (known[pull.number] for pull in pulls if pull.number in known)
    return Weighed(tuple(row for row in counting if row.number not in gone), overruled)


def _is_trusted(row: StoredSelection | None) -> bool:
    return row is not None and row.data.trusted is True


def meant_pull(
    pulls: tuple[Pull, ...],
    rows: tuple[StoredSelection, ...],
    default_branch: str,
    *,
    approves: bool,
) -> Pull | None:
    """Return the pull request that a click on a check of the commit means; None: not any.

    An approval is for one that lacks it, everything else for one that is trusted.
    """
    weighed = weigh(pulls, rows, default_branch)
    counting = [pull for pull in pulls if pull not in weighed.overruled]
    trusted = {row.number for row in rows if _is_trusted(row)}
    order = sorted(counting, key=lambda pull: ((pull.number in trusted) is approves, pull.number))
    return next(iter(order), None)
