"""The forms in which a secret may be written: escaped, encoded, or hidden."""

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import re2

# ECMA-48: CSI, OSC (ended by BEL or ST), other two-character sequences.
ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x9b[0-?]*[@-~]"
)
# Unicode's controls (Cc) and formats (Cf): direction marks make a line read as another.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f]"
)
# Unicode's other characters that are drawn as nothing (Default_Ignorable_Code_Point): joiners,
# fillers, and selectors of a letter's form, which belong to emoji and stay in a text.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
# Of all forms of a policy's values: beyond it a value is looked for only as it stands.
_MOST_CHARS = 100_000
_MIN_ENCODED = 6  # shorter base64 or hexadecimal text occurs by chance

_PERCENT = re.compile(r"%[0-9A-F]{2}")
# Escapes of JSON in ASCII. A quote and a backslash stay escaped: they would end the string.
_ESCAPE = re.compile(r"\\u00((?!22|5[cC])[2-7][0-9A-Fa-f])|\\/")
# What may hide a secret: signs that no eye sees, between others, or escapes.
HIDES = (
    r"[^\x00-\x20\x7f](?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\\]-_]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x{9f}\x{ad}\x{600}-\x{605}\x{61c}\x{6dd}\x{70f}\x{890}"
    r"\x{891}\x{8e2}\x{180e}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{feff}"
    r"\x{fff9}-\x{fffb}\x{110bd}\x{110cd}\x{13430}-\x{1343f}\x{1bca0}-\x{1bca3}"
    r"\x{1d173}-\x{1d17a}\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{3164}"
    r"\x{fe00}-\x{fe0f}\x{ffa0}\x{fff0}-\x{fff8}\x{e0000}-\x{e0fff}])+[^\x00-\x20\x7f]"
    r"|[^\x00-\x20\x7f]\x1b[!-?`-~]|\\u00[2-7][0-9A-Fa-f]|\\/"
)


def plain(line: str) -> str:
    """Return a line without invisible characters and colours, and its JSON escapes read."""
    shown = _UNSEEN.sub("", INVISIBLE.sub("", ANSI.sub("", line)))
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "/", shown)


def own_forms(values: list[str], least: int) -> list[str]:
    """Return the patterns of all forms of a policy's values, the longest first."""
    found: dict[str, str] = {}
    for value in values:
        for part in value.splitlines():  # a rule sees one line
            found[part] = re2.escape(part)
    for value in values:
        if sum(map(len, found)) > _MOST_CHARS:
            break
        for part in (value, *value.splitlines()):
            found.update((form, re2.escape(form)) for form in (*_escaped(part), *_url(part)))
        found.update(_encoded(value.encode("utf-8", "replace")))
    fit = [form for form in found if len(form) >= least and "\n" not in form]
    return [found[form] for form in sorted(fit, key=len, reverse=True)]


def _escaped(value: str) -> Iterator[str]:
    for text in {value, html.escape(value), html.escape(value, quote=False)}:
        yield text
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]  # JSON within JSON
        for text in (once, twice):
            yield text
            yield text.replace("/", "\\/")


def _url(value: str) -> Iterator[str]:
    safe = value.encode("utf-8", "replace")
    for text in (quote(safe, safe=""), quote(safe), quote_plus(safe)):
        yield text
        yield _PERCENT.sub(lambda found: found[0].lower(), text)


def _encoded(value: bytes) -> Iterator[tuple[str, str]]:
    """Yield base64 and hexadecimal forms, each with its pattern.

    Base64 depends on what stands before a value: there are three ways, and the characters at the
    ends are shared with the neighbours.
    """
    for before, skipped in enumerate((0, 2, 3)):
        text = b64encode(bytes(before) + value).decode()
        core = text[skipped : (before + len(value)) * 8 // 6]
        for form in {core, core.translate({43: "-", 47: "_"})}:
            if len(form) >= _MIN_ENCODED:
                yield form, re2.escape(form) + r"[A-Za-z0-9+/_\-]?={0,2}"
    yield from ((form, form) for form in (value.hex(), value.hex().upper()))
