"""From a comment's text to commands; a mistake stops its line and says what to type."""

import re
from difflib import get_close_matches

from bot.core.commands.lines import top_level
from bot.core.commands.verb import Command, Mistake, MistakeError, Option, TypedLine, Verb
from bot.core.commands.verbs import VERBS
from bot.core.github.markdown import code
from bot.core.messages import NOTHING, Message
from bot.core.model.command import COMMAND
from bot.core.planning.offers import line, verb_meant

MAX_COMMANDS = 10
MAX_WORDS = 50
MAX_LINE = 1_000  # characters; a command is a few words

_UNSEEN = "\u200b-\u200f\u2060\ufeff"  # zero width, direction marks, a byte order mark
_WIDE = f"\xa0\u3000{_UNSEEN}"  # stands before a command; Markdown indents nothing by it
# Chinese punctuation, and the typographic quotes and dots that it shares with other scripts.
_PUNCTUATION = (
    "\u2018-\u201f\u2026\u3001-\u3003\u3008-\u3011\u3014-\u301b"
    "\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f"
)
_GAP = re.compile(rf"[\s{_UNSEEN}{_PUNCTUATION}]+")
# A character that follows the name directly and could not continue a word is a mistake to be told.
_LINE = re.compile(
    rf" {{0,3}}(?:[{_WIDE}][ {_WIDE}]*)?(?ai:{re.escape(COMMAND)})(|\s.*|[^A-Za-z0-9_./\s-].*)",
    re.DOTALL,
)
_SUITE = re.compile(r"[A-Za-z0-9._*?\[\]!+-]+", re.ASCII)
_BY_NAME = {verb.name: verb for verb in VERBS}
_IMPLIED = next(verb for verb in VERBS if verb.implied)


def parse(body: str) -> tuple[Command, ...]:
    """Return the commands of a comment in order; a line that can't be followed is a mistake."""
    lines = [list(filter(None, _GAP.split(text))) for text in command_lines(body)]
    found = [_read(words) for words in lines[:MAX_COMMANDS]]
    if len(lines) > MAX_COMMANDS:
        rest = TypedLine(" ".join(lines[MAX_COMMANDS]))
        found.append(Mistake(rest, Message("mistake_many", limit=MAX_COMMANDS)))
    return tuple(found)


def command_lines(body: str) -> tuple[str, ...]:
    """Return the lines of a comment that are commands, without what stands before them."""
    found = filter(None, map(_LINE.fullmatch, top_level(body)))
    return tuple(f"{COMMAND}{match[1]}" for match in found)


def _read(words: list[str]) -> Command:
    text = " ".join(words)
    if len(text) > MAX_LINE:
        return Mistake(TypedLine(text[:MAX_LINE]), Message("mistake_long", limit=MAX_LINE))
    try:
        verb, words = _split_verb(words[1:])
        return verb.command(_LineReader(verb, words).read(text))
    except MistakeError as mistake:
        said = Message(mistake.key, **mistake.fields)
        if mistake.fields.keys() & {"usage", "near"}:  # how it is typed rightly
            return Mistake(TypedLine(text), Message("mistake_shown", mistake=said))
        help_line = code(line("help"))
        return Mistake(TypedLine(text), Message("mistake_help", mistake=said, command=help_line))


def _split_verb(words: list[str]) -> tuple[Verb, list[str]]:
    if len(words) > MAX_WORDS:
        raise MistakeError(key="mistake_words", limit=MAX_WORDS)
    verb = _BY_NAME.get(words[0].lower()) if words else None
    if verb:
        return verb, words[1:]
    near = verb_meant(words[0]) if words and _SUITE.fullmatch(words[0]) else ""
    if near not in {"", _IMPLIED.name}:
        raise MistakeError(key="mistake_verb", word=code(words[0]), near=code(line(near)))
    return _IMPLIED, words


class _LineReader:
    """Takes one command line apart by what its verb takes."""

    def __init__(self, verb: Verb, words: list[str]) -> None:
        self._verb = verb
        self._rest = iter(words)
        self._words: list[str] = []
        self._options: list[tuple[str, str]] = []
        self._given: set[str] = set()

    def read(self, text: str) -> TypedLine:
        for word in self._rest:
            if word.startswith("--"):
                self._read_option(word)
            else:
                self._read_word(word)
        if self._words and not self._verb.words:
            raise MistakeError(
                key="mistake_extra", word=code(self._words[0]), usage=code(self._verb.usage)
            )
        return TypedLine(text, tuple(self._words), tuple(self._options))

    def _read_word(self, word: str) -> None:
        if not _SUITE.fullmatch(word):
            raise MistakeError(key="mistake_word", word=code(word))
        self._words.append(word)

    def _read_option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self._known(name)
        if option.value and not equals:
            value = next(self._rest, "")
        if bool(option.value) is not bool(value):
            key = "mistake_value_missing" if option.value else "mistake_value_extra"
            raise MistakeError(key=key, option=code(name), usage=code(self._verb.usage))
        value = option.check(value)
        identity = option.identity(value)
        if identity in self._given:
            raise MistakeError(key="mistake_twice", option=code(identity))
        self._given.add(identity)
        self._options.append((name, value))

    def _known(self, name: str) -> Option:
        known = {option.name: option for option in self._verb.options}
        if name in known:
            return known[name]
        near = get_close_matches(name, known, n=1)
        guess = Message("guess", guess=code(near[0])) if near else NOTHING
        usage = code(self._verb.usage)
        raise MistakeError(key="mistake_option", option=code(name), guess=guess, usage=usage)
