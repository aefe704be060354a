"""Shows text from outside so that nothing in it acts.

GitHub reads Markdown first and then looks for mentions, issue numbers and addresses in what is
left as text. So punctuation that Markdown reads is written as HTML entities, and what GitHub looks
for is broken by a zero-width space; inside code neither is needed.
"""

import re
from collections.abc import Iterable

from bot.core.github.limits import TITLE_CHARS

SPACE = "\u200b"  # zero width: no eye sees it, and no mention survives it
ELLIPSIS = "…"
MAX_PLAIN = 2_000  # characters of a sentence: what is longer is a log and belongs in a block

# ECMA-48: CSI, OSC (ended by BEL or ST), other two-character sequences.
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x9b[0-?]*[@-~]"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Unicode's controls (Cc) and formats (Cf): direction marks make a line read as another.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f]"
)
_LONE = re.compile("[\ud800-\udfff]")  # half a surrogate pair: no UTF-8 can hold it
_SPACES = re.compile(r"\s+")
_RUN = re.compile("`+")
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_START = re.compile(r"^([0-9]{1,9}(?=[.)](?:\s|$)))?([#+\-=.)])")  # a heading, a list, a rule
_ACTS = re.compile(r"(?i)://|(?:@|#|\bgh-|\bwww|:(?=[0-9_+\-]*[a-z][a-z0-9_+\-]*:))(?=\S)")
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def clean(text: str) -> str:
    r"""Return ``text`` without ANSI sequences and invisible characters; its ends are ``\n``."""
    text = _LINE_ENDS.sub("\n", _ANSI.sub("", text))
    return _INVISIBLE.sub("", _LONE.sub("\ufffd", text))


def one_line(text: str) -> str:
    """Return ``text`` on one line, cleaned, its runs of spaces made one."""
    return _SPACES.sub(" ", clean(text)).strip()


def title(text: str, limit: int = TITLE_CHARS) -> str:
    """Return a check run's title: plain text of at most ``limit`` characters, no Markdown."""
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def plain(text: str) -> str:
    """Return ``text`` as Markdown that shows it as it is, in a sentence, a cell or HTML."""
    text = _ACTS.sub(_apart, title(text, MAX_PLAIN))
    text = _MARKUP.sub(lambda match: f"&#{ord(match.group())};", text)
    return _START.sub(_start, text)


def _apart(match: re.Match[str]) -> str:
    """Part a sign from what it acts on; an address from its scheme, as any sign makes a host."""
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
    """Write ASCII punctuation as an entity: nothing in it is Markdown any more."""
    if char.isascii() and not char.isalnum() and char != " ":
        return f"&#{ord(char)};"
    return char


def prose(text: str) -> str:
    """Return a sentence that may quote outside words: its `…` stays code, the rest is plain."""
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
    """Return ``text`` as a fenced block: nothing in it acts, no run of backticks closes it."""
    text = clean(text)
    fence = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def cut_bytes(text: str, limit: int, mark: str = "") -> str:
    """Return ``text``, or its longest start that with ``mark`` has at most ``limit`` bytes."""
    data = text.encode("utf-8", "replace")  # a lone surrogate can't be encoded
    if len(data) <= limit:
        return data.decode()
    return data[: max(0, limit - size(mark))].decode("utf-8", "ignore") + mark


def size(text: str) -> int:
    """Return the bytes of ``text`` in UTF-8: what GitHub counts."""
    return len(text.encode("utf-8", "replace"))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are Markdown made here (no bare pipe, no line end)."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
