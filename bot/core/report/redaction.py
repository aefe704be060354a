"""Removes secrets from text before it is sent or stored.

Everything runs on RE2, so that a hostile line costs no more than a plain one. A secret becomes
``***``, which is never longer than what it stands for: text does not grow. A line is the unit, so
that a whole text and a stream of chunks give the same; only private keys span lines, and secrets
that a terminal has broken at its width.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import re2

from bot.core.report.secret_forms import BROKEN, HIDES, MIN_COLUMNS, own_broken, own_forms, plain

MARK = "***"
MIN_CHARS = 3  # MARK's own length: shorter values would make the text grow
KEY_LINES = 220  # a 16,384-bit key in PEM; a stray "BEGIN" blanks no more than this
_SEAM_CHARS = 400  # of a line: no token that a terminal breaks is longer
MAX_LINE_CHARS = 1 << 20  # an unfinished line kept back; longer ones are cut at a space


# Takes a match's groups, the whole first; "" stands for one that took no part.
Replace = Callable[[Sequence[str]], str]

# A key that ends in one of these words names a secret whatever its value is.
_SURE = (
    r"(?:passwords?|passwd|passphrase|pwd|secret|a(?:pi|ccount)[_-]?key|access[_-]?key(?:[_-]?id)?"
    r"|secret[_-]?(?:access[_-]?)?key(?:[_-]?id)?|private[_-]?key|client[_-]?secret|credentials?)"
)
_KEY = rf"(?:[A-Za-z0-9_.\-]*{_SURE})"
_SEPARATOR = r"""(?:\\?["']?\s*(?:=>|:=|[:=])\s*)"""
# Quoted to the quote that is not escaped, within JSON in JSON too; else to the next space, quote or
# `&` (a query's next value).
_VALUE = (
    r"""(\\"(?:[^"\\]|\\\\\\"|\\\\|\\[^"\\]){3,}|\\'[^'\\]{3,}|"(?:[^"\\]|\\.){3,}"""
    r"""|'(?:[^'\\]|\\.){3,}|[^\s"'&\\][^\s"'&]{2,})"""
)


def _keep_first(match: Sequence[str]) -> str:
    return match[1] + MARK


def _whole(_match: Sequence[str]) -> str:
    return MARK


def _quoted(match: Sequence[str]) -> str:
    """Keep the key, the separator and the opening quote."""
    return match[1] + _opening(match[2]) + MARK


def _opening(value: str) -> str:
    """Return the quote that a value begins with, with its backslash."""
    quote = value[:2] if value[0] == "\\" else value[:1]
    return quote if quote[-1:] in {'"', "'"} else ""


def _is_number(value: str) -> bool:
    return not value.strip("0123456789.,eE+-%)]}").strip()


def _looks_secret(value: str) -> bool:
    """Return True if the value looks like a credential: digits, inner capitals, or its length."""
    bare = value.strip("\\\"'")
    if bare == MARK:
        return True
    return len(bare) >= 24 or any(c.isdigit() for c in bare) or bare[1:].lower() != bare[1:]


# Vocabulary of language models, which fills training logs: `pad_token=…` is no secret.
_VOCABULARY = re2.compile(
    r"(?i)(?:pad|eos|bos|unk|cls|sep|mask|image|video|audio|vision|special|next|last|first|stop"
    r"|end|start|per|new|prompt|input|output|max|num)[_\- .]?token$"
)


def _token(match: Sequence[str]) -> str:
    """Redact ``token=…``, but not a model's vocabulary, a number, or a word after ': '."""
    key, separator, value = match[1], match[2], match[3]
    bare = value.strip("\\\"'")
    word = ":" in separator and not _looks_secret(value)
    if _VOCABULARY.search(key) or _is_number(bare) or word:
        return match[0]
    return key + separator + _opening(value) + MARK


def _scheme(match: Sequence[str]) -> str:
    """Redact the text after ``Bearer`` or ``Basic``, but not a word of a sentence."""
    if not _looks_secret(match[2]):
        return match[0]
    return match[1] + MARK


def _url(match: Sequence[str]) -> str:
    """Redact the user part of a URL; ``image@sha256:…`` has no such part."""
    if match[3]:
        return match[0]
    return f"{match[1]}{MARK}@"


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_HEADER = (
    r"(?i)((?:authorization|x-api-key|x-auth-token|x-subject-token|private-token|set-cookie"
    r"|\bcookie|\\?[\"']auth)\\?[\"']?\s*[:=]\s*\\?[\"']?)[^\"'\r\n\\]{3,}"
)

_RULES: tuple[tuple[str, Replace], ...] = (
    (r"gh[pour]_[A-Za-z0-9]{16,}[A-Za-z0-9_]*", _whole),
    # Since April 2026 an installation token is `ghs_APPID_JWT`, of any length.
    (r"ghs_[0-9]+_[A-Za-z0-9_.\-]{16,}|ghs_[A-Za-z0-9]{16,}[A-Za-z0-9_]*", _whole),
    (r"github_pat_[A-Za-z0-9_]{16,}", _whole),
    (r"\bhf_[A-Za-z0-9]{20,}|\bglpat-[A-Za-z0-9_\-]{16,}|\bxox[abprs]-[A-Za-z0-9\-]{10,}", _whole),
    (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", _whole),
    (r"eyJ[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]+){1,4}\.?", _whole),
    (r"([A-Za-z][A-Za-z0-9+.\-]*://)([^\s/?#\"'<>`]{3,})@(sha[0-9]+:)?", _url),
    (_HEADER, _keep_first),
    (r"(?i)(\b(?:bearer|basic)\s+)([A-Za-z0-9._~+/=*\-]{6,})", _scheme),
    # Huawei's access and secret key, and the short names people give them.
    (rf"((?:\b|_)(?:AK|SK|ak|sk|Ak|Sk){_SEPARATOR}\\?[\"']?)[A-Za-z0-9+/=*]{{8,}}", _keep_first),
    (rf"(?i)({_KEY}{_SEPARATOR}){_VALUE}", _quoted),
    (r"\bsk-[A-Za-z0-9_\-]{20,}|\bpypi-[A-Za-z0-9_\-]{16,}|\bAIza[A-Za-z0-9_\-]{30,}", _whole),
    (r"\bnpm_[A-Za-z0-9]{36,}|\bLTAI[A-Za-z0-9]{12,}", _whole),
    (r"(\bhooks\.slack\.com/services/)[A-Za-z0-9/]{16,}", _keep_first),
    (r"(?i)(\b(?:signature|sig)=)[A-Za-z0-9%+/=_\-]{16,}", _keep_first),
    (r"(\b[A-Z][A-Z0-9_]*_PASS=['\"]?)[^\s'\"]{6,}", _keep_first),
    (r"(\blogin\s+\S+\s+password\s+)\S{3,}", _keep_first),  # of a netrc
    # Commands that take a secret as a bare word.
    (r"(\bwandb\s+login\s+(?:--?\S+\s+)*)[A-Za-z0-9]{16,}", _keep_first),
    (r"(\bdocker\s+login\b.*?\s-p[= ]?\s*['\"]?)[^\s'\"]{3,}", _keep_first),
    (r"(\bcurl\s.*?(?:-u|--user)[= ]?\s*['\"]?)[^\s'\":]+:[^\s'\"]+", _keep_first),
    (r"((?:\bmysql\w*\s.*?\s-p|\bsshpass\s+-p\s*)['\"]?)[^\s'\"]{3,}", _keep_first),
    (r"(\bobsutil\s.*?\s-i=)[^\s'\"]{3,}", _keep_first),
    (r"(\bobsutil\s.*?\s-k=)[^\s'\"]{3,}", _keep_first),
    (r"((?:密码|口令|密钥)\s*[:：=]\s*)\S{3,}", _keep_first),
    (rf"(?i)(--[A-Za-z0-9\-]*(?:{_SURE}|token)\s+){_VALUE}", _quoted),
    (rf"(?i)([A-Za-z0-9_.\-]*token)({_SEPARATOR}){_VALUE}", _token),
)

# Cheap: a line without any of these holds no secret that a rule would find.
_HINTS = (
    r"(?i)[\"']auth|gh[pousr]_|github_pat_|hf_|glpat-|xox|akia|asia|aiza|eyJ|://|authorization|x-api-key"
    r"|-token|cookie|bearer|basic|pass|pwd|secret|token|key|credential|[as]k\\?[\"']?\s*[:=]"
    r"|private key|sk-|pypi-|sig(?:nature)?=|npm_|ltai|slack"
    r"|wandb\s+login|docker\s+login|curl\s|mysql|obsutil"
    r"|密码|口令|密钥"
)
_BEGIN_KEY = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_END_KEY = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_HIDES = _compile(HIDES)
_KEY_WORDS = _compile("PRIVATE KEY")
_BEGIN = _compile(_BEGIN_KEY)
_END = _compile(_END_KEY)
_KEY_ON_ONE_LINE = _compile(f"{_BEGIN_KEY}.*?{_END_KEY}")  # `\n` as two characters, in JSON


class Redactor:
    """Replaces secrets by ``***``; ``extra`` holds values of the policy's ``log.redact``."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        self._rules, self._hint, self._any, self._broken = _patterns(tuple(sorted(set(extra))))

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets. It never grows, and a second call changes nothing."""
        stream = RedactingStream(self)
        return stream.feed(text) + stream.end()

    def line(self, line: str) -> str:
        """Redact one line, except private keys: they need ``RedactingStream``."""
        data = line.encode("utf-8", "replace")
        if _HIDES.search(data):
            made = self._taken_out(plain(line).encode("utf-8", "replace"))
            if made:
                return made
        return self._taken_out(data) or line

    def _taken_out(self, data: bytes) -> str:
        """Return the text without secrets, "" if there are none."""
        if not (self._hint.search(data) and self._any.search(data)):
            return ""
        once = self._pass(data)
        # A replacement may complete another secret: `AK=token=@host`.
        return "" if once == data else self._pass(once).decode()

    def unbroken(self, text: str, before: str) -> str:
        """Blank the secrets that go on after a line's end; ``before`` is the line before a text."""
        data = f"{before}\n{text}".encode()
        start = at = len(before.encode()) + 1
        out = []
        for found in self._broken.finditer(data):
            begin, end = max(found.start(), start), found.end()
            wide = found.start() - data.rfind(b"\n", 0, found.start()) + found.group().find(b"\n")
            if b"\n" in found.group() and end > start and wide > MIN_COLUMNS:
                out += [data[at:begin], _blanked(data[begin:end])]
                at = end
        return b"".join((*out, data[at:])).decode()

    def may_hold(self, text: str) -> bool:
        """Return True if a rule may match some lines; most of a log holds nothing like a secret."""
        data = text.encode()
        hides = _HIDES.search(data) is not None
        return self._finds(data) or (hides and self._finds(plain(text).encode("utf-8", "replace")))

    def _finds(self, data: bytes) -> bool:
        # What finds no hint is quick; what finds one, like the `token` of a model, is looked at.
        return self._hint.search(data) is not None and any(
            pattern.search(data) for pattern in (self._any, self._broken, _KEY_WORDS)
        )

    def _pass(self, data: bytes) -> bytes:
        for pattern, replace in self._rules:
            data = pattern.sub(partial(_replaced, replace), data)
        return data


def _replaced(replace: Replace, match: Any) -> bytes:
    groups = (match.group(), *match.groups())
    return replace([(group or b"").decode() for group in groups]).encode()


def _blanked(part: bytes) -> bytes:
    lines = part.decode().split("\n")
    return "\n".join(MARK[: len(line)] for line in lines).encode()


@lru_cache(maxsize=64)
def _patterns(extra: tuple[str, ...]) -> tuple[tuple[tuple[Any, Replace], ...], Any, Any, Any]:
    """Compile the rules, the hint, all rules in one, and what a line's end may break."""
    values = [value for value in extra if len(value) >= MIN_CHARS and value != MARK]
    # Longest first: a value that holds another one must not leave its rest behind.
    own, broken = "|".join(own_forms(values, MIN_CHARS)), own_broken(values, MIN_CHARS)
    rules = ((own, _whole), *_RULES) if own else _RULES
    # Bytes: on str, re2's wrapper counts characters anew for each match.
    hints = [_HINTS, *(f"(?-i:{pattern})" for pattern in (own, *broken, *BROKEN) if pattern)]
    return (
        tuple((_compile(pattern), replace) for pattern, replace in rules),
        _compile("|".join(hints)),
        _compile("|".join(f"(?:{pattern})" for pattern, _ in rules)),
        _compile("|".join(f"(?:{pattern})" for pattern in (*broken, *BROKEN))),
    )


class RedactingStream:
    """Redacts text that comes in chunks. A secret may begin in one chunk and end in the next."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept: list[str] = []  # of the line that has not ended
        self._kept_chars = 0
        self._key_lines = 0  # left to blank: inside a private key
        self._last = ""  # the end of the last line

    def feed(self, chunk: str) -> str:
        """Take a chunk, and return its complete lines, redacted."""
        chunk = chunk.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
        whole, end, rest = chunk.rpartition("\n")
        if not end:
            self._keep(rest)
            return self._cut()
        text = "".join((*self._kept, whole))
        self._kept, self._kept_chars = [], 0
        self._keep(rest)
        return self._lines(text) + "\n" + self._cut()

    def _lines(self, text: str) -> str:
        """Redact complete lines."""
        before, self._last = self._last, text[text.rfind("\n") + 1 :][-_SEAM_CHARS:]
        if not (self._key_lines or self._redactor.may_hold(f"{before}\n{text}")):
            return text
        return "\n".join(map(self._line, self._redactor.unbroken(text, before).split("\n")))

    def _keep(self, rest: str) -> None:
        """Store the start of a line until the line ends."""
        if rest:
            self._kept.append(rest)
            self._kept_chars += len(rest)

    def end(self) -> str:
        """Return the stored rest, redacted."""
        line, self._kept, self._kept_chars = "".join(self._kept), [], 0
        return self._lines(line) if line else ""

    def _cut(self) -> str:
        """Return a line that grows too long, up to its last space: few secrets contain a space."""
        if self._kept_chars <= MAX_LINE_CHARS:
            return ""
        line = "".join(self._kept)
        at = line.rfind(" ") + 1 or len(line)
        self._kept, self._kept_chars = [line[at:]], len(line) - at
        return self._line(line[:at])

    def _line(self, line: str) -> str:
        if self._key_lines:
            return self._inside_key(line)
        if "PRIVATE KEY" not in line:
            return self._redactor.line(line)
        line = _KEY_ON_ONE_LINE.sub(MARK, line)
        begin = _BEGIN.search(line)
        if begin is None:
            return self._redactor.line(line)
        self._key_lines = KEY_LINES - 1
        return self._redactor.line(line[: begin.start()] + MARK)

    def _inside_key(self, line: str) -> str:
        """Blank a line of a private key; text after the key's end becomes a new line."""
        self._key_lines -= 1
        end = _END.search(line)
        if end is None:
            return MARK[: len(line)]
        self._key_lines = 0
        return self._line(MARK + line[end.end() :])
