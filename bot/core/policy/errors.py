"""Rewrite pydantic's errors as sentences that a maintainer can act on."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from bot.core.policy.document import Document, Path, Problem
from bot.core.policy.models import Policy

# The search for a similar key takes time, so a hostile file must not cause many.
MAX_PROBLEMS = 200

# Words of other systems, and the policy's words for them.
_OTHER_WORDS = {"push": "write", "read": "pull", "owner": "admin", "none": "pull"}


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` with the most similar of ``known``, or ""."""
    near = get_close_matches(word[:80], list(known)[:MAX_PROBLEMS], n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def unknown(kind: str, word: str, known: Iterable[str]) -> str:
    """Return the sentence for a name that is not among ``known``."""
    names = list(known)
    near = suggest(word, names)
    listed = ", ".join(f"`{name}`" for name in names[:10]) or "none"
    rest = "" if len(names) <= 10 else f" and {len(names) - 10} more"
    return f"unknown {kind} `{shown(word)}`{near or f'; known are {listed}{rest}'}"


def shown(text: str) -> str:
    """Return ``text`` cleaned and shortened for one line of a message."""
    clean = "".join(char if char.isprintable() else "?" for char in text)
    return clean if len(clean) <= 80 else clean[:77] + "..."


def problems_of(error: ValidationError, document: Document) -> list[Problem]:
    """Return pydantic's errors, one problem for each path."""
    found = []
    for item in error.errors(include_url=False)[:MAX_PROBLEMS]:
        path = tuple(part for part in item["loc"] if part != "[key]")
        if path not in document.unreadable:
            found.append(Problem(path, _words(item, path, document)))
    return found


def _words(item: Any, path: Path, document: Document) -> str:
    writer = _WRITERS.get(item["type"])
    if writer is not None:
        return writer(item, path, document)
    kind = _KINDS.get(item["type"])
    if kind is not None:
        return _wrong_kind(kind, item["input"], path, document)
    message = str(item["msg"])
    return message[:1].lower() + message[1:]


def _missing(_item: Any, path: Path, _document: Document) -> str:
    return f"`{path[-1]}` is required"


def _extra(_item: Any, path: Path, _document: Document) -> str:
    word = str(path[-1])
    known = _keys_at(path[:-1])
    return unknown("key", word, known) if known else "is reserved; nothing may be written here yet"


def _own_text(item: Any, _path: Path, _document: Document) -> str:
    return str(item["msg"]).removeprefix("Value error, ")


def _choice(item: Any, path: Path, document: Document) -> str:
    given = document.texts.get(path, "")
    options = [word for word in _expected(item) if word != "none"]
    listed = ", ".join(f"`{word}`" for word in options)
    other = _OTHER_WORDS.get(given, "")
    near = f"; did you mean `{other}`?" if other in options else suggest(given, options)
    was = f"`{shown(given)}` is none of" if path in document.texts else "is one of"
    return f"{was} {listed}{near}"


def _expected(item: Any) -> list[str]:
    words = str(item["ctx"]["expected"]).replace(" or ", ", ").split(",")
    return [word.strip().strip("'") for word in words]


def _literal(item: Any, path: Path, document: Document) -> str:
    if path == ("version",):
        return f"is {item['ctx']['expected']}, the only version of this format so far"
    return _choice(item, path, document)


def _at_least(item: Any, _path: Path, _document: Document) -> str:
    return f"is {item['input']}; the least is {item['ctx']['ge']}"


def _at_most(item: Any, _path: Path, _document: Document) -> str:
    return f"is {item['input']}; the most is {item['ctx']['le']}"


def _too_short(_item: Any, _path: Path, _document: Document) -> str:
    return "is empty; at least one is needed"


def _too_many(item: Any, _path: Path, _document: Document) -> str:
    return f"has {len(item['input']):,} items; at most {item['ctx']['max_length']}"


def _too_long(item: Any, _path: Path, _document: Document) -> str:
    return f"is longer than {item['ctx']['max_length']} characters"


def _wrong_kind(kind: str, value: Any, path: Path, document: Document) -> str:
    if value is None:
        return f"has no value; it is {kind}, or leave the key out"
    if kind == _TEXT and not isinstance(value, list | dict):
        return f'is {_TEXT}: put it in quotes, "{shown(document.texts.get(path, ""))}"'
    if kind == _LIST and isinstance(value, str):
        return f"is a list: write [{shown(value)}]"
    return f"is {kind}, not {_named(value)}"


def _named(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{shown(value)}"'
        case list():
            return "a list"
        case _:
            return "a mapping"


_TEXT = "text"
_LIST = "a list"
_MAPPING = "a mapping of keys"

_KINDS = {
    "string_type": _TEXT,
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
}

_WRITERS: Mapping[str, Callable[[Any, Path, Document], str]] = {
    "missing": _missing,
    "extra_forbidden": _extra,
    "value_error": _own_text,
    "enum": _choice,
    "literal_error": _literal,
    "greater_than_equal": _at_least,
    "less_than_equal": _at_most,
    "too_short": _too_short,
    "too_long": _too_many,
    "string_too_short": _too_short,
    "string_too_long": _too_long,
}


def _keys_at(path: Path) -> list[str]:
    """Return the keys that the models allow at ``path``."""
    here: Any = Policy
    for part in path:
        here = _inside(here, part)
    model = _model_in(here)
    fields = model.model_fields.items() if model else ()
    return [info.alias or name for name, info in fields]


def _inside(annotation: Any, part: str | int) -> Any:
    """Return the type of the value at ``part`` of a value of type ``annotation``."""
    model = _model_in(annotation)
    if model is not None and annotation is model and isinstance(part, str):
        by_key = {info.alias or name: info for name, info in model.model_fields.items()}
        return by_key[part].annotation if part in by_key else None
    arguments = get_args(annotation)
    return arguments[0] if isinstance(part, int) else arguments[-1]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None
