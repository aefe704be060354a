"""Find the literals of which one must stand in every line that a pattern matches.

They make a prefilter that can't miss a line: a pattern may match only where one of them is found.
The algorithm is that of RE2's own filter. It reads the syntax that the signatures use.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

_MOST = 32  # literals that one place of a pattern may stand for
_CLASS_MOST = 4  # characters of a class that is spelt out
_QUANTIFIER = re.compile(r"[*+?]\??|\{(\d+)(?:,\d*)?\}\??")
_FLAG = re.compile(r"\(\?(i)?(?::|(\)))|\(")
_CLASS = re.compile(
    r"\[\^?(?:\]|\[:\w+:\]|\\.|[^\]\\])(?:\[:\w+:\]|\\.|[^\]\\])*\]|\[\^?(?:\\.)*\]"
)
_LETTERS = re.compile(r"[^.^$|()\[\\*+?{]+")  # each stands for itself
_ESCAPED = {"t": "\t", "n": "\n"}

Literal = tuple[str, ...]  # its characters, each as a regular expression
Literals = frozenset[Literal]
_EMPTY: Literals = frozenset({()})


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern matches: exactly these, or at least one of those; None: anything."""

    exact: Literals | None = None
    needed: Literals | None = None


def needed(pattern: str, passes: Callable[[Literal], bool]) -> Literals | None:
    """Return literals of which one occurs in every match; None if matches share nothing.

    Of several such sets it returns one of literals that pass, or else the longest.
    """
    return _Parser(pattern, passes).choice().needed


def spellings(literal: Literal) -> set[str]:
    """Return a literal in lower case, in upper case, and with a capital."""
    lower = "".join(unit[1] if len(unit) > 2 else unit[-1] for unit in literal)
    upper = "".join(unit[2] if len(unit) > 2 else unit[-1] for unit in literal)
    return {lower, upper, upper[:1] + lower[1:]}


class _Parser:
    """Reads a pattern once, from left to right."""

    def __init__(self, pattern: str, passes: Callable[[Literal], bool]) -> None:
        self._pattern = pattern
        self._passes = passes
        self._at = 0
        self._folds = False  # letters match in both cases

    def choice(self) -> _Part:
        """Read alternatives up to the end of the group."""
        parts = [self._sequence()]
        while self._pattern[self._at : self._at + 1] == "|":
            self._at += 1
            parts.append(self._sequence())
        return _Part(_union(part.exact for part in parts), _union(part.needed for part in parts))

    def _sequence(self) -> _Part:
        run, best, whole = _EMPTY, None, True
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            part = self._repeated(self._atom())
            longer = None if part.exact is None else _joined(run, part.exact)
            if longer is None:
                best, whole = self._better(self._better(best, run), part.needed), False
            run = longer or part.exact or _EMPTY
        return _Part(run if whole else None, self._better(best, run))

    def _atom(self) -> _Part:
        char = self._pattern[self._at]
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        match = _LETTERS.match(self._pattern, self._at)
        if match is not None:
            return self._letters(match[0])
        self._at += 1
        if char == ".":
            return _Part()
        if char in "^$":
            return _Part(_EMPTY)
        return self._escape() if char == "\\" else self._letter(char)

    def _group(self) -> _Part:
        match = _FLAG.match(self._pattern, self._at)
        assert match is not None
        self._at, folds = match.end(), self._folds
        self._folds = folds or match[1] is not None
        if match[2]:  # a flag for the rest of the pattern
            return _Part(_EMPTY)
        part = self.choice()
        self._at += 1
        self._folds = folds
        return part

    def _class(self) -> _Part:
        match = _CLASS.match(self._pattern, self._at)
        assert match is not None
        self._at = match.end()
        chars = match[0][1:-1].replace("\\", "")
        plain = chars[:1] != "^" and "-" not in chars and not re.search(r"\\\w|\[:", match[0])
        if not plain or len(chars) > _CLASS_MOST:
            return _Part()
        return self._exactly(
            frozenset(one for char in chars for one in self._letter(char).exact or ())
        )

    def _escape(self) -> _Part:
        char = self._pattern[self._at]
        self._at += 1
        if char in "bBA":
            return _Part(_EMPTY)
        if char.isalnum() and char not in _ESCAPED:
            return _Part()
        return self._letter(_ESCAPED.get(char, char))

    def _letters(self, text: str) -> _Part:
        """Read letters that follow each other at once; a quantifier is of the last one alone."""
        if len(text) > 1 and _QUANTIFIER.match(self._pattern, self._at + len(text)):
            text = text[:-1]
        self._at += len(text)
        return self._exactly(frozenset({tuple(map(self._unit, text))}))

    def _letter(self, char: str) -> _Part:
        return self._exactly(frozenset({(self._unit(char),)}))

    def _unit(self, char: str) -> str:
        both = self._folds and char.lower() != char.upper()
        return f"[{char.lower()}{char.upper()}]" if both else re.escape(char)

    def _exactly(self, exact: Literals) -> _Part:
        return _Part(exact, self._better(None, exact))

    def _better(self, first: Literals | None, second: Literals | None) -> Literals | None:
        """Return the set that passes, or whose shortest literal is longer; an empty one is none."""
        told = [one for one in (first, second) if one and min(map(len, one)) > 0]
        return max(
            told, key=lambda one: (all(map(self._passes, one)), min(map(len, one))), default=None
        )

    def _repeated(self, part: _Part) -> _Part:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            return part
        self._at = match.end()
        if match[0][0] == "?" and part.exact is not None:
            return self._exactly(part.exact | _EMPTY)
        at_least_once = match[0][0] == "+" or (match[1] is not None and int(match[1]) > 0)
        return _Part(None, part.needed if at_least_once else None)


def _union(sets: Iterable[Literals | None]) -> Literals | None:
    """Return all members, None if one of the sets is open."""
    every: Literals = frozenset()
    for one in sets:
        if one is None:
            return None
        every |= one
    return every


def _joined(first: Literals, second: Literals) -> Literals | None:
    """Return each of the first followed by each of the second, None for too many."""
    if len(first) * len(second) > _MOST:
        return None
    return frozenset(one + other for one, other in product(first, second))
