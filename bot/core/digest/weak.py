"""Find errors in lines that no signature knows: common forms of errors, and exit codes."""

import re
from collections.abc import Iterator

from bot.core.digest.chinese import in_english
from bot.core.digest.shapes import Line

_SIGNALS = {"ILL": 4, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "SEGV": 11, "TERM": 15}
_EXIT = re.compile(
    r"\b(?:[Ee]xit(?:ed)?(?: with)?(?: (?:code|status):?)|exit ?code ?[:=]?|exited with"
    r"|(?:left|ended|died|finished|terminated) with (?:exit )?(?:status|code)"
    r"|return(?:ed)? ?(?:code|status|non-zero exit status))"
    r" *[:=]? *(-?\d{1,3})\b"
)
_SIGNAL = re.compile(
    r"\b(?:died with <Signals\.|killed by signal: |signal: |Signal )"
    r"\(?(?:SIG)?(ABRT|BUS|KILL|SEGV|TERM|FPE|ILL)\b"
)
_ERROR = re.compile(
    r"^(?:\S{1,200}: )?(?:fatal )?(?:ERROR|FATAL|CRITICAL|Error|Fatal|error|fatal|panic|PANIC"
    r"|ERR!|FAILED|FAIL|E)(?: ?\[[\w-]+\])?: \S"
    r"|^\S{1,200}:\d+(?::\d+)?: (?:fatal )?[Ee]rror\b"
    r"|^\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout|Failure)(?:: |$)"
    r"|^\[(?:ERROR|error|FATAL|FAIL(?:ED)?)\][: ]"
    r"|^(?:ERROR|FATAL|FAIL) \S"
    r"|^CMake Error|^npm (?:ERR!|error) |^An error occurred |^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?\S"
    r"|^\s*\S+:\d+:\d+:? +(?:error\b|[A-Z]{1,4}\d{3,4} )|^\s*Error \(\w+\)"
    r"|^(?:bash|sh|/bin/\w+|\S+\.sh): .*(?:No such file|Permission denied)"
    r"|^\[ +FAILED +\]|\.{3,} ?(?:Failed|FAILED)$"
    r"|^[\w./+-]{1,40}: .*: (?:No such file or directory|Permission denied|Not a directory"
    r"|Operation not permitted|File exists|Device or resource busy)$"
    r"|^\[FAIL|^make: \*\*\*|^Command failed|^Build failed"
    r"|^The following tests failed|^\S+ (?:\d+/\d+ )?failed!"
    r"|^error(?:\[E\d+\])?: "
)
_COMPILER = re.compile(
    r"^\s{0,40}\S{1,300}\.\w{1,6}[:(]\d+(?:[:,]\d+)?\)?: (?:fatal )?error\b|^CMake Error"
    r"|^\S{1,300}\.\w{1,6}:\d+:\d+:? [A-Z]{1,5}\d{3,5}[: ]"  # a linter's rule
    r"|: undefined reference to |^error(?:\[E\d+\]): "
)
_LOGGED = re.compile(
    r"(?i)\b(?:error|fail(?:ed|ure)?|exception|fatal|abort|timed? ?out|cannot|unable|invalid"
    r"|not found)\b"
)


def exit_codes(text: str) -> Iterator[tuple[int, str]]:
    """Yield the non-zero exit codes of a line; signals are negative numbers."""
    if match := _EXIT.search(in_english(text)):
        if code := int(match[1]):
            yield code, text
    elif match := _SIGNAL.search(text):
        yield -_SIGNALS[match[1]], text


def is_compiler(text: str) -> bool:
    """Return True for a compiler's own error line: a cause of its own."""
    return _COMPILER.search(in_english(text)) is not None


def is_weak(line: Line) -> bool:
    """Return True for a line that reports an error in a common form, of unknown kind."""
    text = in_english(line.text)
    if _EXIT.search(text):
        return False
    if line.tag == "error" or is_compiler(text):
        return True
    if line.level in {"INFO", "DEBUG", "WARNING"} or line.tag == "warning":
        return False
    if line.level == "ERROR":
        return _LOGGED.search(text) is not None
    return _ERROR.search(text) is not None
