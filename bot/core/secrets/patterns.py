"""The expressions that find secrets, compiled once for each set of a policy's values."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from bot.core.secrets.forms import HIDES, own_forms, plain
from bot.core.secrets.looks import MARK, blanked, is_code, is_number, looks_mixed, looks_random
from bot.core.secrets.rules import SecretBlock, SecretRule, shipped_rules
from bot.core.secrets.seams import Seams, Span, compiled, options

_SEPARATOR = r"""(?:\\?["']?\s*(?:=>|:=|[:=])\s*)"""
# Quoted to the quote that is not escaped, within JSON in JSON too; else to the next space, quote or
# `&` (a query's next value).
_VALUE = (
    r"""(\\"(?:[^"\\]|\\\\\\"|\\\\|\\[^"\\]){3,}|\\'[^'\\]{3,}|"(?:[^"\\]|\\.){3,}"""
    r"""|'(?:[^'\\]|\\.){3,}|[^\s"'&\\][^\s"'&]{2,})"""
)
# Vocabulary of language models, which fills training logs: `pad_token=…` is no secret.
_VOCABULARY = compiled(
    r"(?i)(?:pad|eos|bos|unk|cls|sep|mask|image|video|audio|vision|special|next|last|first|stop"
    r"|end|start|per|new|prompt|input|output|max|num)[_\- .]?token$"
)
_KEY_WORDS = ("pass", "pwd", "secret", "credential", "key", "token")  # each key has one
_HIDES = compiled(HIDES)
_NEWLINE = 10
_LOOKS: dict[str, Callable[[str], bool]] = {
    "random": lambda value: looks_random(value) and not is_code(value),
    "mixed": looks_mixed,
}
# A word begins behind a letter, too, if that ends a colour.
_WORD = r"(?:\b|\[[0-9;]*m)"


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression, and where the secret stands in what it finds."""

    pattern: Any
    spans: Callable[[Any], Iterator[Span]]
    words: Sequence[str] = ("",)  # in lower case: one is in each line that the rule may change

    def without(self, line: bytes) -> bytes:
        """Return a line without what the rule finds."""
        out, at = [], 0
        for found in self.pattern.finditer(line):
            for begin, end in self.spans(found):
                out += [line[at:begin], blanked(line[begin:end])]
                at = end
        return b"".join((*out, line[at:])) if out else line


@dataclass(frozen=True, slots=True)
class KeyBlock:
    """A secret over lines, such as a private key."""

    hint: bytes
    begin: Any
    end: Any
    on_one_line: Any  # with `\\n` as two characters, in JSON


@dataclass(frozen=True, slots=True)
class Patterns:
    """All expressions that a redactor needs."""

    rules: tuple[Rule, ...]
    words: Any  # finds the hints of a line
    told: tuple[tuple[int, ...], ...]  # by each hint: the numbers of its rules
    blocks: tuple[KeyBlock, ...]
    seams: Seams
    hint: Any  # quick: text without it shows no secret
    quick: Any  # finds a hint, and what may hide one
    any: Any  # all rules in one

    def may_find(self, text: bytes) -> bool:
        """Return True if text may hold a secret; most of a log holds nothing like one."""
        if self.quick.search(text) is None:
            return False
        if self.hint.search(text) is not None:
            return True
        return _HIDES.search(text) is not None and self.hint.search(_plain(text)) is not None

    def unbroken(self, text: bytes, before: bytes) -> bytes:
        """Blank the secrets over several lines; `before` is what stood before the text."""
        data = before + b"\n" + text
        start = at = len(before) + 1
        out = []
        for first, end in self.seams.spans(data):
            if end > start:
                begin = max(first, start)
                out += [data[at:begin], blanked(data[begin:end])]
                at = end
        return b"".join((*out, data[at:]))

    def redacted(self, text: bytes, without: Callable[[bytes], bytes]) -> bytes:
        """Redact lines, without what spans them; `without` is called for those with secrets."""

        def shown(line: bytes) -> bytes:
            """Return a line without what hides a secret, if it hides one."""
            bare = _plain(line)
            return without(bare) if self.any.search(bare) else line

        return self._changed(self.any, self._changed(_HIDES, text, shown), without)

    @staticmethod
    def _changed(pattern: Any, text: bytes, change: Callable[[bytes], bytes]) -> bytes:
        """Change the lines in which a pattern finds something."""
        out, at = [], 0
        while found := pattern.search(text, at):
            first = found.start() + (text[found.start()] == _NEWLINE)
            begin = text.rfind(b"\n", at, first) + 1 or at
            end = text.find(b"\n", first)
            end = len(text) if end < 0 else end
            out += [text[at:begin], change(text[begin:end])]
            at = end
        return b"".join((*out, text[at:])) if out else text

    def without(self, line: bytes) -> bytes:
        """Return a line without its secrets."""
        once = self._pass(line)
        # A replacement may complete another secret: `AK=token=@host`.
        return once if once == line else self._pass(once)

    def _pass(self, line: bytes) -> bytes:
        # RE2 gives up a set, and finds nothing, if it takes too much memory: then all are tried.
        hints = self.words.Match(line.lower()) or range(len(self.told))
        for number in sorted({number for hint in hints for number in self.told[hint]}):
            line = self.rules[number].without(line)
        return line


def _plain(text: bytes) -> bytes:
    return plain(text.decode(errors="replace")).encode()  # its first character may be cut


@lru_cache(maxsize=64)
def patterns(values: tuple[str, ...]) -> Patterns:
    """Compile the shipped rules, and those of a policy's values."""
    shipped = shipped_rules()
    mine = [value for value in values if len(value) >= len(MARK) and value != MARK]
    seams = Seams(shipped.rules, mine)
    # Longest first: a value that holds another one must not leave its rest behind.
    own = ["|".join(forms) for forms in [own_forms(mine, len(MARK))] if forms]
    keys = _key_places(shipped.keys)
    found = [*own, *map(_expression, shipped.rules), *keys]
    hints = [one for rule in shipped.rules for one in _hints(rule)]
    hints += [re2.escape(block.hint) for block in shipped.blocks]
    exact = [f"(?-i:{one})" for one in (*own, seams.hint)]
    rules = (*(Rule(re2.compile(form), _whole) for form in own), *_shared_rules())
    hint = "(?i)" + "|".join((*exact, *hints, *keys))
    return Patterns(
        rules,
        *_by_word(rules),
        tuple(map(_block, shipped.blocks)),
        seams,
        compiled(hint),
        compiled(f"(?:{hint})|(?:{HIDES})"),
        compiled("|".join(f"(?:{one})" for one in found)),
    )


@lru_cache(maxsize=1)
def _shared_rules() -> tuple[Rule, ...]:
    """Compile the shipped rules once: whatever a policy's values are, they are the same."""
    shipped = shipped_rules()
    return (*map(_shipped, shipped.rules), *_key_rules(shipped.keys))


def _by_word(rules: Sequence[Rule]) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        for word in rule.words:
            numbers[word].append(number)
    words = re2.Set.SearchSet(options())
    for word in numbers:
        words.Add(re2.escape(word))
    words.Compile()
    return words, tuple(map(tuple, numbers.values()))


def _expression(rule: SecretRule) -> str:
    r"""Return a rule's expression; `\\b` at its beginning also stands for the end of a colour."""
    begin, bound, rest = rule.match.partition(r"\b")
    if not bound or begin not in {"", "(?i)"}:
        return rule.match
    return f"{begin}{_WORD}({rest})" if rule.begins else f"{begin}{_WORD}{rest}"


def _hints(rule: SecretRule) -> Sequence[str]:
    return [rule.near] if rule.near else [re2.escape(hint) for hint in rule.hint]


def _block(block: SecretBlock) -> KeyBlock:
    begin, end = block.begin, block.end
    hint = block.hint.encode()
    return KeyBlock(hint, compiled(begin), compiled(end), compiled(f"{begin}.*?{end}"))


def _whole(found: Any) -> Iterator[Span]:
    yield found.span()


def _shipped(rule: SecretRule) -> Rule:
    pattern = re2.compile(_expression(rule))
    groups = range(1, pattern.groups + 1) or (0,)
    unless = re2.compile(rule.unless)
    looks = _LOOKS[rule.looks] if rule.looks else None

    def spans(found: Any) -> Iterator[Span]:
        if rule.unless and unless.match(found.string, found.end()):
            return
        for group in groups:
            begin, end = found.span(group)
            if begin >= 0 and (looks is None or looks(found.group(group).decode())):
                yield begin, end

    return Rule(pattern, spans, [hint.lower() for hint in rule.hint])


def _key_places(keys: Sequence[str]) -> list[str]:
    """Return expressions of where a value stands: after a key, and after an option."""
    names = "|".join((*keys, "token"))
    return [f"(?i:{names}){_SEPARATOR}", rf"--[A-Za-z0-9\-]*(?i:{names})\s"]


def _key_rules(keys: Sequence[str]) -> list[Rule]:
    names = "|".join(keys)
    key, option = rf"[A-Za-z0-9_.\-]*(?:{names})", rf"--[A-Za-z0-9\-]*(?:{names}|token)\s+"
    return [
        Rule(re2.compile(f"(?i)()({key}{_SEPARATOR}){_VALUE}"), _value, _KEY_WORDS),
        Rule(re2.compile(f"(?i)()({option}){_VALUE}"), _value, ("--",)),
        Rule(
            re2.compile(rf"(?i)([A-Za-z0-9_.\-]*token)({_SEPARATOR}){_VALUE}"), _token, ("token",)
        ),
    ]


def _value(found: Any) -> Iterator[Span]:
    """Yield where a value stands, without the quote that it begins with."""
    value = found.group(3).decode()
    quote = value[:2] if value[0] == "\\" else value[:1]
    if quote[-1] in "\"'":
        yield found.start(3) + len(quote), found.end(3)
    elif not is_code(value):
        yield found.span(3)


def _token(found: Any) -> Iterator[Span]:
    """Yield the value of `token=…`, but not a vocabulary's, a number, or a word after ': '."""
    value = found.group(3).decode()
    bare = value.strip("\\\"'")
    is_word = b":" in found.group(2) and not looks_mixed(value)
    if not (_VOCABULARY.search(found.group(1)) or is_number(bare) or is_word):
        yield from _value(found)
