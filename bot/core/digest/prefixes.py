"""Learn the prefixes of a log's lines where the log itself shows them.

A launcher may put anything before each line: `worker-1: `, `[80746] `, a rank, a time. A line whose
form is known (the head of a traceback, its frames, a section of pytest, a CANN code) shows what
stands before it. From then on the same form is cut off, and tells the writers apart.
"""

import re

_MAX_PREFIX = 64  # characters
_MAX_FORMS = 8
_ANCHOR = re.compile(
    r"(?:Exception Group )?Traceback \(most recent call last\):"
    r"|  File \"[^\"]{1,400}\", line \d{1,9}, in "
    r"|={5,} (?:FAILURES|ERRORS|short test summary info|test session starts) ={5,}"
    r"|E[A-Z]\d{4}: (?:\[PID|Inner Error|\d{4}-\d\d)"
)
# A prefix has a word, ends with a mark or a tab, and is neither a severity nor pytest's own margin.
_PREFIX = re.compile(
    r"(?!E\s|>\s)(?=.*\w)(?:.*(?:[\]:|>)] ?|\t| - |\d )|(?:(?=.*\d)|std)\S+ (?:\S+ )?)", re.DOTALL
)
_SEVERITY = re.compile(
    r"(?i)\b(?:err|error|warn|warning|fatal|critical|info|debug)\b|exception|fail|origin"
)
_TOKEN = re.compile(r"[\w.-]+")
_TIME = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d|\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?|(?<![\d.])\d+\.\d+(?![\d.])"
)


class Prefixes:
    """The forms of prefixes that were learned, the first few of them."""

    def __init__(self) -> None:
        """Start with none."""
        self._forms: list[re.Pattern[str]] = []
        self._known: set[str] = set()

    def learn(self, text: str) -> bool:
        """Learn the prefix of a line of known form; return False if there is nothing new."""
        anchor = _ANCHOR.search(text, 1, _MAX_PREFIX + 100)
        if anchor is None or anchor.start() > _MAX_PREFIX or len(self._forms) >= _MAX_FORMS:
            return False
        prefix = text[: anchor.start()]
        if not _PREFIX.fullmatch(prefix) or _SEVERITY.search(prefix):
            return False
        form = _form(prefix)
        if form in self._known:
            return False
        self._known.add(form)
        self._forms.append(re.compile(form))
        return True

    def cut(self, text: str, at: int) -> tuple[int, str]:
        """Return where the prefix at a place ends, and the writer that it names."""
        for form in self._forms:
            if match := form.match(text, at):
                return match.end(), " ".join(_TIME.sub("", match[0]).split()).strip(" :|>[]()-")
        return at, ""


def _form(prefix: str) -> str:
    """Return the pattern of a prefix: words that hold a digit may have another value."""
    form, at = "", 0
    for token in _TOKEN.finditer(prefix):
        form += re.escape(prefix[at : token.start()]) + _value(token[0])
        at = token.end()
    return form + re.escape(prefix[at:])


def _value(token: str) -> str:
    if token.isdigit():
        return r"\d+"
    digit = re.search(r"\d", token)
    if digit is None:
        return re.escape(token)
    letters = re.match(r"[^\W\d]*", token)
    assert letters is not None
    return re.escape(letters[0]) + r"[\w.-]*\d[\w.-]*"
