"""From a comment's text to commands; a mistake stops its line and says what to type."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from bot.core.commands.lines import top_level
from bot.core.commands.types import (
    Approve,
    Cancel,
    Command,
    Explain,
    Help,
    Mistake,
    Rerun,
    Run,
    Status,
)
from bot.core.messages import Messages
from bot.core.report.markdown import code

NAME = "/ascend-e2e"
MAX_COMMANDS = 10
MAX_WORDS = 50
MAX_LINE = 1_000  # characters; a command is a few words
MIN_SHA = 12  # hex digits: fewer could name another commit

USAGE = {
    "run": f"{NAME} [run] [SUITE…] [--sha SHA] [--runner LABEL] [--set KEY=VALUE] [--force]",
    "rerun": f"{NAME} rerun [SUITE…] [--sha SHA]",
    "cancel": f"{NAME} cancel [SUITE…]",
    "approve": f"{NAME} approve [--sha SHA]",
    "explain": f"{NAME} explain [SUITE…]",
    "status": f"{NAME} status",
    "help": f"{NAME} help [VERB]",
}
VERBS = tuple(USAGE)

# What follows the name directly and could not belong to a longer word is a mistake to be told.
_LINE = re.compile(rf"{re.escape(NAME)}(?:\s+(.*)|([^A-Za-z0-9_./\s-].*))?", re.DOTALL)
_SUITE = re.compile(r"[A-Za-z0-9._*?\[\]!+-]+", re.ASCII)
_SHA = re.compile(r"[0-9a-f]+")
_SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=(.*)", re.ASCII | re.DOTALL)
_LABEL = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
# Options that each verb takes, and whether a value follows.
_OPTIONS: dict[str, dict[str, bool]] = {
    "run": {"--sha": True, "--runner": True, "--set": True, "--force": False},
    "rerun": {"--sha": True},
    "approve": {"--sha": True},
}
_NAMED = {"run", "rerun", "cancel", "explain"}  # verbs that suites may follow
_messages = Messages()


class _MistakeError(Exception):
    """Carries what is wrong, as Markdown made safe."""


@dataclass(slots=True)
class _Line:
    """A command line taken apart."""

    verb: str
    words: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    settings: list[tuple[str, str]] = field(default_factory=list)


def parse(body: str) -> tuple[Command | Mistake, ...]:
    """Return the commands of a comment, in order; a line that can't be followed as a mistake."""
    found: list[Command | Mistake] = []
    for line, rest in _command_lines(body):
        if len(found) == MAX_COMMANDS:
            found.append(Mistake(line, _messages("mistake_many", limit=MAX_COMMANDS)))
            break
        found.append(_read(line, rest))
    return tuple(found)


def help_text(verb: str | None) -> str:
    """Return how to type one command, or all of them; of a word that is none, that it is none."""
    verbs = [verb] if verb in USAGE else list(USAGE)
    lines = "\n".join(f"- {code(USAGE[name])}: {_messages(f'help_{name}')}" for name in verbs)
    if verb is None or verb in USAGE:
        return lines
    near = get_close_matches(verb, VERBS, n=1)
    guess = _messages("guess", guess=code(f"{NAME} help {near[0]}")) if near else ""
    return f"{_messages('unknown_topic', word=code(verb), guess=guess)}\n\n{lines}"


def _command_lines(body: str) -> Iterator[tuple[str, str]]:
    for line in top_level(body):
        found = _LINE.fullmatch(line)
        if found:
            yield line.strip(), found[1] or found[2] or ""


def _read(line: str, rest: str) -> Command | Mistake:
    if len(line) > MAX_LINE:
        return Mistake(line[:MAX_LINE], _messages("mistake_long", limit=MAX_LINE))
    try:
        return _command(line, _taken_apart(rest.split()))
    except _MistakeError as mistake:
        return Mistake(line, f"{mistake} {_messages('nothing_started')}")


def _taken_apart(words: list[str]) -> _Line:
    if len(words) > MAX_WORDS:
        raise _MistakeError(_messages("mistake_words", limit=MAX_WORDS))
    verb = words[0].lower() if words else "run"
    line = _Line(verb if verb in USAGE else "run")
    rest = iter(words[1:] if words and verb in USAGE else words)
    for word in rest:
        if word.startswith("--"):
            _option(line, word, rest)
        else:
            _word(line, word)
    return line


def _word(line: _Line, word: str) -> None:
    if not _SUITE.fullmatch(word):
        raise _MistakeError(_messages("mistake_word", word=code(word)))
    near = get_close_matches(word.lower(), VERBS, n=1, cutoff=0.75)
    if not (line.words or line.options) and line.verb == "run" and near and near[0] != "run":
        raise _MistakeError(
            _messages("mistake_verb", word=code(word), near=code(f"{NAME} {near[0]}"))
        )
    line.words.append(word)


def _option(line: _Line, word: str, rest: Iterator[str]) -> None:
    name, equals, value = word.partition("=")
    known = _OPTIONS.get(line.verb, {})
    if name not in known:
        near = get_close_matches(name, list(known), n=1)
        guess = _messages("guess", guess=code(near[0])) if near else ""
        usage = code(USAGE[line.verb])
        raise _MistakeError(
            _messages("mistake_option", option=code(name), guess=guess, usage=usage)
        )
    if known[name] and not equals:
        value = next(rest, "")
    if known[name] is not bool(value):
        raise _MistakeError(
            _messages("mistake_value", option=code(name), usage=code(USAGE[line.verb]))
        )
    if name == "--set":
        key, text = _setting(value)
        if key in dict(line.settings):
            raise _MistakeError(_messages("mistake_twice", option=code(f"{name} {key}")))
        line.settings.append((key, text))
    elif name in line.options:
        raise _MistakeError(_messages("mistake_twice", option=code(name)))
    else:
        line.options[name] = _checked(name, value)


def _setting(value: str) -> tuple[str, str]:
    found = _SETTING.fullmatch(value)
    if not found:
        raise _MistakeError(_messages("mistake_setting", value=code(value)))
    return found[1], found[2]


def _checked(name: str, value: str) -> str:
    if name == "--runner" and not _LABEL.fullmatch(value):
        raise _MistakeError(_messages("mistake_word", word=code(value)))
    if name != "--sha":
        return value
    sha = value.lower()
    if not _SHA.fullmatch(sha) or not MIN_SHA <= len(sha) <= 64:
        raise _MistakeError(_messages("mistake_sha", sha=code(value), least=MIN_SHA))
    return sha


def _command(line: str, parts: _Line) -> Command:
    words = tuple(parts.words)
    if words and parts.verb not in {*_NAMED, "help"}:
        usage = code(USAGE[parts.verb])
        raise _MistakeError(_messages("mistake_extra", word=code(words[0]), usage=usage))
    match parts.verb:
        case "rerun":
            return Rerun(line, words, parts.options.get("--sha"))
        case "cancel":
            return Cancel(line, words)
        case "approve":
            return Approve(line, parts.options.get("--sha"))
        case "explain":
            return Explain(line, words)
        case "status":
            return Status(line)
        case "help":
            return Help(line, words[0].lower() if words else None)
    return _run(line, words, parts)


def _run(line: str, words: tuple[str, ...], parts: _Line) -> Run:
    return Run(
        line=line,
        suites=words,
        sha=parts.options.get("--sha"),
        runner=parts.options.get("--runner"),
        settings=tuple(parts.settings),
        force="--force" in parts.options,
    )
