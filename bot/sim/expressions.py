"""`${{ }}` expressions: the declared subset, and a loud refusal of everything else.

Known: the contexts a caller passes, literals, `.name`, `['name']`, `[0]`, `.*`, `( )`, `!`, `==`,
`!=`, `<`, `<=`, `>`, `>=`, `&&`, `||`, and the functions of `FUNCTIONS` and `STATUS_FUNCTIONS`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|'(?P<string>(?:[^']|'')*)'"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[!<>().,\[\]*])|(?P<name>[A-Za-z_][\w-]*))"
)
INTERPOLATION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
STATUS_FUNCTIONS = ("success", "failure", "always", "cancelled")
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class ExpressionError(Exception):
    """The expression is outside what the simulation knows, or is malformed."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can see. `status` is of the job so far: success, failure or cancelled."""

    contexts: Mapping[str, Any]
    status: str = "success"


def text_of(value: Any) -> str:
    """Turn a value into text as GitHub does."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case dict():
            return "Object"
        case list():
            return "Array"
        case _:
            return str(value)


def truth(value: Any) -> bool:
    """Return True if a value counts as true: not null, false, 0, NaN or empty text."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value) if not isinstance(value, dict | list) else True


def _number(value: Any) -> float:
    match value:
        case None:
            return 0.0
        case bool() | int() | float():
            return float(value)
        case str():
            try:
                return float(value.strip() or "0")
            except ValueError:
                return math.nan
        case _:
            return math.nan


def equal(left: Any, right: Any) -> bool:
    """Compare loosely: text ignores case, unlike kinds compare as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return left is right
    if left is None and right is None:
        return True
    return _number(left) == _number(right)


def _contains(where: Any, what: Any) -> bool:
    if isinstance(where, list):
        return any(equal(item, what) for item in where)
    return text_of(what).lower() in text_of(where).lower()


def _format(form: Any, *values: Any) -> str:
    def fill(match: re.Match[str]) -> str:
        if match.group(0) in {"{{", "}}"}:
            return match.group(0)[0]
        place = int(match.group(1))
        if place >= len(values):
            raise ExpressionError(f"format has no argument {place}")
        return text_of(values[place])

    return re.sub(r"\{\{|\}\}|\{(\d+)\}", fill, text_of(form))


def _join(items: Any, separator: Any = ",") -> str:
    values = items if isinstance(items, list) else [items]
    return text_of(separator).join(text_of(value) for value in values)


def _from_json(text: Any) -> Any:
    try:
        return json.loads(text_of(text))
    except ValueError as error:
        raise ExpressionError(f"fromJSON: {error}") from error


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "startswith": lambda text, start: text_of(text).lower().startswith(text_of(start).lower()),
    "endswith": lambda text, end: text_of(text).lower().endswith(text_of(end).lower()),
    "format": _format,
    "join": _join,
    "tojson": lambda value: json.dumps(value, indent=2),
    "fromjson": _from_json,
}


class _Parser:
    """Parses and evaluates in one pass; `&&` and `||` return one of their sides."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._scope = scope
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0

    def evaluate(self) -> Any:
        value = self._either()
        if self._at < len(self._tokens):
            raise self._error(f"unexpected {self._tokens[self._at][1]!r}")
        return value

    def _error(self, why: str) -> ExpressionError:
        return ExpressionError(f"expression `{self._text.strip()}`: {why}")

    def _peek(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "op":
            return self._tokens[self._at][1]
        return ""

    def _take(self, wanted: str) -> bool:
        if self._peek() == wanted:
            self._at += 1
            return True
        return False

    def _need(self, wanted: str) -> None:
        if not self._take(wanted):
            raise self._error(f"{wanted!r} expected")

    def _either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = value if truth(value) else other
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._take("&&"):
            other = self._compared()
            value = other if truth(value) else value
        return value

    def _compared(self) -> Any:
        value = self._unary()
        while (op := self._peek()) in {"==", "!=", "<", "<=", ">", ">="}:
            self._at += 1
            value = _compare(op, value, self._unary())
        return value

    def _unary(self) -> Any:
        if self._take("!"):
            return not truth(self._unary())
        return self._postfix(self._primary())

    def _primary(self) -> Any:
        if self._take("("):
            value = self._either()
            self._need(")")
            return value
        if self._at >= len(self._tokens):
            raise self._error("ends too early")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return float(text)
        if kind == "string":
            return text.replace("''", "'")
        if kind != "name":
            raise self._error(f"unexpected {text!r}")
        return self._named(text)

    def _named(self, name: str) -> Any:
        if name in WORDS:
            return WORDS[name]
        if self._take("("):
            return self._called(name, self._arguments())
        if name not in self._scope.contexts:
            raise self._error(f"context {name!r} is not known here")
        return self._scope.contexts[name]

    def _arguments(self) -> list[Any]:
        values: list[Any] = []
        if self._take(")"):
            return values
        values.append(self._either())
        while self._take(","):
            values.append(self._either())
        self._need(")")
        return values

    def _called(self, name: str, values: list[Any]) -> Any:
        lowered = name.lower()
        if lowered in STATUS_FUNCTIONS:
            return lowered in {"always", self._scope.status}
        function = FUNCTIONS.get(lowered)
        if function is None:
            raise self._error(f"function {name!r} is not known here")
        try:
            return function(*values)
        except TypeError as error:
            raise self._error(f"wrong arguments for {name}") from error

    def _postfix(self, value: Any) -> Any:
        while True:
            if self._take("."):
                value = self._property(value)
            elif self._take("["):
                value = _item(value, self._either())
                self._need("]")
            else:
                return value

    def _property(self, value: Any) -> Any:
        if self._take("*"):
            return list(value.values()) if isinstance(value, dict) else list(value or [])
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind != "name":
            raise self._error("a name is expected after '.'")
        self._at += 1
        return _item(value, text)


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        wanted = text_of(key).lower()
        return next((item for name, item in value.items() if name.lower() == wanted), None)
    if isinstance(value, list):
        if isinstance(key, str):
            return [_item(item, key) for item in value]
        place = int(_number(key))
        return value[place] if 0 <= place < len(value) else None
    return None


def _compare(op: str, left: Any, right: Any) -> bool:
    if op in {"==", "!="}:
        return equal(left, right) == (op == "==")
    if isinstance(left, str) and isinstance(right, str):
        pair: tuple[Any, Any] = (left.lower(), right.lower())
    else:
        pair = (_number(left), _number(right))
    if op[0] == "<":
        return bool(pair[0] < pair[1] or (op == "<=" and pair[0] == pair[1]))
    return bool(pair[0] > pair[1] or (op == ">=" and pair[0] == pair[1]))


def _tokens(text: str) -> list[tuple[str, str]]:
    found, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        if match is None:
            message = f"expression `{text.strip()}`: cannot read {text[place:].strip()!r}"
            raise ExpressionError(message)
        kind = match.lastgroup or "string"
        found.append((kind, match.group(kind)))
        place = match.end()
    return found


def evaluate(text: str, scope: Scope) -> Any:
    """Return the value of an expression (without its `${{ }}`)."""
    return _Parser(text, scope).evaluate()


def interpolate(value: Any, scope: Scope) -> str:
    """Fill every `${{ }}` of a text. Other scalars become text."""
    if not isinstance(value, str):
        return text_of(value)
    return INTERPOLATION.sub(lambda match: text_of(evaluate(match.group(1), scope)), value)


def condition(text: Any, scope: Scope) -> bool:
    """Return the value of an `if:`. Without a status function an earlier failure makes it false."""
    if text is None:
        return scope.status == "success"
    if isinstance(text, bool):
        return text and scope.status == "success"
    source = str(text).strip()
    match = INTERPOLATION.fullmatch(source)
    inner = match.group(1) if match else source
    if match is None and "${{" in source:
        raise ExpressionError(f"`if: {source}` mixes text and expression")
    names = {text for kind, text in _tokens(inner) if kind == "name"}
    value = truth(evaluate(inner, scope))
    if any(name.lower() in STATUS_FUNCTIONS for name in names):
        return value
    return value and scope.status == "success"
