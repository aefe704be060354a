"""Rewrite pydantic's errors as sentences that a maintainer can act on."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from bot.core.messages import NOTHING, Message, quote
from bot.core.policy.document import Document, Path, Problem
from bot.core.policy.models import Policy

# The search for a similar key takes time, so a hostile file must not cause many.
MAX_PROBLEMS = 200

# Words of other systems, and the policy's words for them.
_OTHER_WORDS = {"owner": "admin", "none": "read"}


def suggest(word: str, known: Iterable[str]) -> Message:
    """Return `; did you mean …?` with the most similar of ``known``, or nothing."""
    near = get_close_matches(word[:80], list(known)[:MAX_PROBLEMS], n=1)
    return Message("wrong_near", word=near[0]) if near else NOTHING


def unknown(
    kind: Literal["key", "label", "pool", "suite"], word: str, known: Iterable[str]
) -> Message:
    """Return the sentence for a name that is not among ``known``."""
    names = list(known)
    hint = suggest(word, names) or _known(names)
    return Message(f"wrong_unknown_{kind}", word=shown(word), hint=hint)


def _known(names: list[str]) -> Message:
    if not names:
        return Message("wrong_known_none")
    listed, rest = tuple(f"`{name}`" for name in names[:10]), len(names) - 10
    more = Message("wrong_known_more", count=rest) if rest > 0 else NOTHING
    return Message("wrong_known", names=listed, more=more)


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


def _words(item: Any, path: Path, document: Document) -> Message:
    kind, given, context = item["type"], item["input"], item.get("ctx", {})
    if kind in _KINDS:
        return _wrong_kind(_KINDS[kind], given, path, document)
    match kind:
        case "missing":
            return Message("wrong_required", name=str(path[-1]))
        case "extra_forbidden":
            known = _keys_at(path[:-1])
            return unknown("key", str(path[-1]), known) if known else Message("wrong_reserved")
        case "value_error":
            return quote(*context["error"].args)
        case "literal_error" if path == ("version",):
            return Message("wrong_version", version=context["expected"])
        case "enum" | "literal_error":
            return _choice(context["expected"], path, document)
    message = str(item["msg"])
    return _bound(kind, given, context) or quote(message[:1].lower() + message[1:])


def _bound(kind: str, given: Any, context: Mapping[str, Any]) -> Message:
    match kind:
        case "greater_than_equal":
            return Message("wrong_least", value=given, least=context["ge"])
        case "less_than_equal":
            return Message("wrong_most", value=given, most=context["le"])
        case "too_short" | "string_too_short":
            return Message("wrong_empty")
        case "too_long":
            return Message("wrong_many", count=len(given), most=context["max_length"])
        case "string_too_long":
            return Message("wrong_long", most=context["max_length"])
    return NOTHING


def _choice(expected: str, path: Path, document: Document) -> Message:
    given = document.texts.get(path, "")
    words = [word.strip(" '") for word in expected.replace(" or ", ", ").split(",")]
    options = [word for word in words if word != "none"]
    listed = tuple(f"`{word}`" for word in options)
    other = _OTHER_WORDS.get(given, "")
    near = Message("wrong_near", word=other) if other in options else suggest(given, options)
    if path not in document.texts:
        return Message("wrong_choice", options=listed, near=near)
    return Message("wrong_choice_given", given=shown(given), options=listed, near=near)


def _wrong_kind(kind: Message, value: Any, path: Path, document: Document) -> Message:
    if value is None:
        return Message("wrong_no_value", kind=kind)
    if kind == _TEXT and not isinstance(value, list | dict):
        return Message("wrong_quotes", text=shown(document.texts.get(path, "")))
    if kind == _LIST and isinstance(value, str):
        return Message("wrong_list", text=shown(value))
    return Message("wrong_kind", kind=kind, found=_named(value))


def _named(value: Any) -> Message:
    match value:
        case bool():
            return Message("kind_bool")
        case int() | float():
            return Message("found_number", value=value)
        case str():
            return Message("found_text", text=shown(value))
        case list():
            return Message("kind_list")
        case _:
            return Message("found_mapping")


_TEXT = Message("kind_text")
_LIST = Message("kind_list")
_MAPPING = Message("kind_mapping")

_KINDS = {
    "string_type": _TEXT,
    "int_type": Message("kind_int"),
    "float_type": Message("kind_float"),
    "bool_type": Message("kind_bool"),
    "tuple_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
}


def _keys_at(path: Path) -> list[str]:
    """Return the keys that the models allow at ``path``."""
    here: Any = Policy
    for part in path:
        keys = _keys_of(here)
        here = keys[str(part)] if keys else get_args(here)[0 if isinstance(part, int) else -1]
    return list(_keys_of(here))


def _keys_of(model: Any) -> dict[str, Any]:
    """Return the keys of a model and the types of their values; another type has none."""
    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    fields = model.model_fields.items() if is_model else ()
    return {info.alias or name: info.annotation for name, info in fields}
