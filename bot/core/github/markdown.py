"""Makes text from outside safe to show on GitHub.

GitHub reads Markdown first and then looks for mentions, issue numbers and addresses in what is
left as text. So punctuation that Markdown reads is written as HTML entities, and what GitHub looks
for is broken by a zero-width space; inside code neither is needed.
"""

import re
from collections.abc import Iterable

from bot.core.github.limits import TITLE_BYTES, TITLE_CHARS
from bot.core.secrets.forms import ANSI, INVISIBLE

SPACE = "\u200b"  # zero width: no eye sees it, and no mention survives it
ELLIPSIS = "…"
MAX_PLAIN = 2_000  # characters of a sentence: what is longer is a log and belongs in a block

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_LONE = re.compile("[\ud800-\udfff]")  # half a surrogate pair: no UTF-8 can hold it
_SPACES = re.compile(r"\s+")
_RUN = re.compile("`+")
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_START = re.compile(r"^([0-9]{1,9}(?=[.)](?:\s|$)))?([#+\-=.)])")  # a heading, a list, a rule
_ACTS = re.compile(r"(?i)://|(?:@|#|\bgh-|\bwww|:(?=[0-9_+\-]*[a-z][a-z0-9_+\-]*:))(?=\S)")
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def clean(text: str) -> str:
    r"""Return ``text`` without ANSI sequences and invisible characters, with ``\n`` as line end."""
    text = _LINE_ENDS.sub("\n", ANSI.sub("", text))
    return INVISIBLE.sub("", _LONE.sub("\ufffd", text))


def one_line(text: str) -> str:
    """Return ``text`` cleaned and on one line, with single spaces."""
    return _SPACES.sub(" ", clean(text)).strip()


def title(text: str, limit: int = TITLE_CHARS) -> str:
    """Return a check run's title: plain text of at most ``limit`` characters, no Markdown."""
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def headline(text: str, chars: int, limit: int = TITLE_BYTES) -> str:
    """Return a title of at most so many characters, and of ``limit`` bytes."""
    return cut_bytes(title(text, chars), limit, ELLIPSIS)


def plain(text: str) -> str:
    """Return Markdown that shows ``text`` literally, in a sentence, a cell or HTML."""
    text = _ACTS.sub(_apart, title(text, MAX_PLAIN))
    text = _MARKUP.sub(lambda match: f"&#{ord(match.group())};", text)
    return _START.sub(_start, text)


def _apart(match: re.Match[str]) -> str:
    """Separate a sign from its name, and an address from its scheme."""
    sign = match.group()
    return SPACE + sign if sign == "://" else sign + SPACE


def _start(match: re.Match[str]) -> str:
    return f"{match.group(1) or ''}&#{ord(match.group(2))};"


def code(text: str) -> str:
    """Return ``text`` as inline code, safe in a table's cell too; "" for nothing."""
    text = one_line(text)
    if not text:
        return ""
    if "|" in text:  # ends a cell even inside backticks, and parsers differ on `\\|`
        return f"<code>{''.join(map(_literal, text))}</code>"
    fence = "`" * (1 + max((len(run) for run in _RUN.findall(text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _literal(char: str) -> str:
    """Return a character; ASCII punctuation becomes an entity, so that no Markdown is left."""
    if char.isascii() and not char.isalnum() and char != " ":
        return f"&#{ord(char)};"
    return char


def prose(text: str) -> str:
    """Return a sentence in which text between backticks stays code, and the rest is plain."""
    text = title(text, MAX_PLAIN)
    out, at = [], 0
    for span in _SPAN.finditer(text):
        out += [_between(text[at : span.start()]), code(span.group(2))]
        at = span.end()
    return "".join((*out, _between(text[at:])))


def _between(text: str) -> str:
    """Escape a part of a sentence and keep the spaces around it."""
    if not text.strip():
        return text
    left = " " if text[0] == " " else ""
    right = " " if text[-1] == " " else ""
    return f"{left}{plain(text)}{right}"


def block(text: str) -> str:
    """Return ``text`` as a fenced block that no backticks in it can close."""
    text = clean(text)
    fence = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def cut_bytes(text: str, limit: int, mark: str = "") -> str:
    """Return ``text``; if it is longer than ``limit`` bytes, its start followed by ``mark``."""
    data = text.encode("utf-8", "replace")  # a lone surrogate can't be encoded
    if len(data) <= limit:
        return data.decode()
    return data[: max(0, limit - size(mark))].decode("utf-8", "ignore") + mark


def size(text: str) -> int:
    """Return the size of ``text`` in bytes of UTF-8, as GitHub counts it."""
    return len(text.encode("utf-8", "replace"))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table. Its cells are safe Markdown without pipes and line ends."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
