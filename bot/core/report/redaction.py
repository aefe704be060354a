"""Removes secrets from text before it is sent or stored.

Everything runs on RE2, so that a hostile line costs no more than a plain one. A secret becomes
``***``, which is never longer than what it stands for: text does not grow. A line is the unit, so
that a whole text and a stream of chunks give the same; only private keys span lines.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import re2

MARK = "***"
MIN_CHARS = 3  # MARK's own length: shorter values would make the text grow
KEY_LINES = 220  # a 16,384-bit key in PEM; a stray "BEGIN" blanks no more than this
MAX_LINE_CHARS = 1 << 20  # an unfinished line kept back; longer ones are cut at a space


# Takes a match's groups, the whole first; "" stands for one that took no part.
Replace = Callable[[Sequence[str]], str]

# A key that ends in one of these words names a secret whatever its value is.
_SURE = (
    r"(?:passwords?|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key(?:[_-]?id)?"
    r"|secret[_-]?(?:access[_-]?)?key(?:[_-]?id)?|private[_-]?key|client[_-]?secret|credentials?)"
)
_KEY = rf"(?:[A-Za-z0-9_.\-]*{_SURE})"
_SEPARATOR = r"""(?:\\?["']?\s*(?:=>|:=|[:=])\s*)"""
# Quoted to the quote, else to the next space, quote or `&` (a query's next value).
_VALUE = r"""(\\?"[^"\\]{3,}|\\?'[^'\\]{3,}|[^\s"'&\\][^\s"'&]{2,})"""


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
    (rf"(?i)(--[A-Za-z0-9\-]*(?:{_SURE}|token)\s+){_VALUE}", _quoted),
    (rf"(?i)([A-Za-z0-9_.\-]*token)({_SEPARATOR}){_VALUE}", _token),
)

# Cheap: a line without any of these holds no secret that a rule would find.
_HINTS = (
    r"(?i)[\"']auth|gh[pousr]_|github_pat_|hf_|glpat-|xox|akia|asia|eyJ|://|authorization|x-api-key"
    r"|-token|cookie|bearer|basic|pass|pwd|secret|token|key|credential|[as]k\\?[\"']?\s*[:=]"
    r"|private key"
)
_BEGIN_KEY = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_END_KEY = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_BEGIN = _compile(_BEGIN_KEY)
_END = _compile(_END_KEY)
_KEY_ON_ONE_LINE = _compile(f"{_BEGIN_KEY}.*?{_END_KEY}")  # `\n` as two characters, in JSON


class Redactor:
    """Replaces secrets by ``***``; ``extra`` holds values of the policy's ``log.redact``."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        # Longest first: a value that holds another one must not leave its rest behind.
        values = sorted({v for v in extra if len(v) >= MIN_CHARS and v != MARK}, key=len)[::-1]
        # Bytes: on str, re2's wrapper counts characters anew for each match.
        parts = [part for value in values for part in value.splitlines()]  # a rule sees one line
        own = "|".join(re2.escape(part) for part in parts if len(part) >= MIN_CHARS)
        rules = ((own, _whole),) if own else ()
        self._rules = tuple((_compile(p), r) for p, r in (*rules, *_RULES))
        self._hint = _compile(f"{_HINTS}|(?-i:{own})" if own else _HINTS)
        self._any = _compile("|".join(f"(?:{pattern})" for pattern, _ in (*rules, *_RULES)))

    def __call__(self, text: str) -> str:
        """Return ``text`` without secrets. It never grows, and a second call changes nothing."""
        stream = RedactingStream(self)
        return stream.feed(text) + stream.end()

    def line(self, line: str) -> str:
        """Redact one line, except private keys: they need ``RedactingStream``."""
        data = line.encode("utf-8", "replace")
        if not self.may_hold(data) or not self._any.search(data):
            return line
        once = self._pass(data)
        # A replacement may complete another secret: `AK=token=@host`.
        return line if once == data else self._pass(once).decode()

    def may_hold(self, data: bytes) -> bool:
        """Return True if a rule may match the text; most lines hold nothing like a secret."""
        return self._hint.search(data) is not None

    def _pass(self, data: bytes) -> bytes:
        for pattern, replace in self._rules:
            data = pattern.sub(partial(_replaced, replace), data)
        return data


def _replaced(replace: Replace, match: Any) -> bytes:
    groups = (match.group(), *match.groups())
    return replace([(group or b"").decode() for group in groups]).encode()


class RedactingStream:
    """Redacts text that comes in chunks. A secret may begin in one chunk and end in the next."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept: list[str] = []  # of the line that has not ended
        self._kept_chars = 0
        self._key_lines = 0  # left to blank: inside a private key

    def feed(self, chunk: str) -> str:
        """Take a chunk, and return its complete lines, redacted."""
        chunk = chunk.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
        whole, end, rest = chunk.rpartition("\n")
        fresh = not self._kept and not self._key_lines
        if end and fresh and not self._redactor.may_hold(whole.encode()):
            self._keep(rest)
            return whole + end + self._cut()
        *ended, rest = chunk.split("\n")
        out = []
        for piece in ended:
            out.append(self._line("".join((*self._kept, piece))) + "\n")
            self._kept, self._kept_chars = [], 0
        self._keep(rest)
        return "".join(out) + self._cut()

    def _keep(self, rest: str) -> None:
        """Store the start of a line until the line ends."""
        if rest:
            self._kept.append(rest)
            self._kept_chars += len(rest)

    def end(self) -> str:
        """Return the stored rest, redacted."""
        line, self._kept, self._kept_chars = "".join(self._kept), [], 0
        return self._line(line) if line else ""

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
