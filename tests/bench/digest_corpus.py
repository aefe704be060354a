"""How often the digest names the right class, root line and retry, by corpus.

Run `python -m tests.bench.digest_corpus [--principles] [--misses] [--held-out]`. A change of a
principle shows here what it costs elsewhere. The unseen cases were labelled before the digest read
them. Whoever mends the digest works with the half `tune`; nobody tunes on the half `held out`, so
`--misses` lists its misses only with `--held-out`. A rate is no test: it asserts nothing.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.core.digest.result import Digest
from tests.core.digest.corpus import HERE, SHARED, Case, digest, load
from tests.core.digest.unseen_cases import Half, Unseen, load_unseen


@dataclass(frozen=True, slots=True)
class Read:
    """One case as the digest read it."""

    corpus: str
    case: Case
    found: Digest
    principle: int = 0

    @property
    def class_right(self) -> bool:
        """Say whether the class is the case's, or one that it tolerates."""
        return self.found.failure_class in _tolerated(self.case, "class")

    @property
    def root_right(self) -> bool:
        """Say whether the root is the case's line, or one that tells the same."""
        return self.found.root_cause_line in _tolerated(self.case, "root_cause_line")

    @property
    def infra_right(self) -> bool:
        """Say whether a retry is worth its cost exactly if the case says so."""
        return self.found.infra is self.case.expected["infra"]

    @property
    def all_right(self) -> bool:
        """Say whether class, root and infra are right together."""
        return self.class_right and self.root_right and self.infra_right


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rates, and what was asked for besides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--principles", action="store_true", help="the unseen cases by principle")
    parser.add_argument("--misses", action="store_true", help="each miss: expected and got")
    parser.add_argument("--held-out", action="store_true", help="with the misses held out")
    asked = parser.parse_args(arguments)
    unseen = load_unseen()
    read = [*_known(), *_unseen(unseen)]
    for line in report(read):
        print(line)  # noqa: T201 - a bench prints
    if asked.principles:
        for line in by_principle(read, {one.principle: one.about for one in unseen}):
            print(line)  # noqa: T201 - a bench prints
    shown = [one for one in read if asked.held_out or one.corpus != _corpus(Half.HELD_OUT)]
    for line in misses(shown) if asked.misses else ():
        print(line)  # noqa: T201 - a bench prints


def report(read: Sequence[Read]) -> list[str]:
    """Return a table with a line a corpus."""
    corpora = dict.fromkeys(one.corpus for one in read)
    rows = [(name, [one for one in read if one.corpus == name]) for name in corpora]
    return [_HEAD, *(_row(name, of) for name, of in rows), _row("all", read)]


def by_principle(read: Iterable[Read], about: dict[int, str]) -> list[str]:
    """Return a table with a line a principle and half."""
    lines = ["", _HEAD]
    kept = [one for one in read if one.principle]
    for principle, words in sorted(about.items()):
        lines.append(f"{principle} {words}")
        for half in Half:
            of = [x for x in kept if (x.principle, x.corpus) == (principle, _corpus(half))]
            lines.append(_row(f"  {half}", of))
    return lines


def misses(read: Iterable[Read]) -> list[str]:
    """Return what the digest read otherwise than labelled, four lines a case."""
    return [line for one in read if not one.all_right for line in _miss(one)]


_HEAD = f"{'':24}{'cases':>6}{'class':>14}{'root':>14}{'infra':>14}{'all three':>14}"


def _known() -> list[Read]:
    folders = {
        "shared logs": SHARED,
        "shared logs-2": SHARED.parent / "logs-2",
        "own cases": HERE / "cases",
    }
    return [
        Read(name, case, digest(case)) for name, folder in folders.items() for case in load(folder)
    ]


def _unseen(cases: Iterable[Unseen]) -> list[Read]:
    halves = sorted(cases, key=lambda one: list(Half).index(one.half))
    return [Read(_corpus(x.half), x.case, digest(x.case), x.principle) for x in halves]


def _corpus(half: Half) -> str:
    return f"unseen, {half}"


def _row(name: str, of: Sequence[Read]) -> str:
    counts = (
        sum(one.class_right for one in of),
        sum(one.root_right for one in of),
        sum(one.infra_right for one in of),
        sum(one.all_right for one in of),
    )
    shares = "".join(f"{n:>7} {n / max(1, len(of)):>5.0%} " for n in counts)
    return f"{name:24}{len(of):>6}{shares}"


def _miss(one: Read) -> list[str]:
    expected, found = one.case.expected, one.found
    lines = one.case.raw.decode(errors="replace").split("\n")
    wrong = [
        name
        for name, right in (
            ("class", one.class_right),
            ("root", one.root_right),
            ("infra", one.infra_right),
        )
        if not right
    ]
    principle = f", principle {one.principle}" if one.principle else ""
    wanted, root = expected["root_cause_line"], found.root_cause_line
    return [
        "",
        f"{one.case.name} ({one.corpus}{principle}): {', '.join(wrong)}",
        f"  expected {expected['class']}, infra {expected['infra']}, {_quoted(lines, wanted)}",
        f"  got      {found.failure_class}, infra {found.infra}, {_quoted(lines, root)}",
    ]


def _quoted(lines: Sequence[str], at: object) -> str:
    return f"line {at}: {lines[at - 1].strip()[:150]}" if isinstance(at, int) else "no root line"


def _tolerated(case: Case, key: str) -> list[object]:
    others = case.expected.get(f"{key}_alternatives", [])
    assert isinstance(others, list)
    return [case.expected[key], *others]


if __name__ == "__main__":
    main()
