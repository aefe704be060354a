"""The hint of a failure that no signature knows, only where what it says is true."""

import re

from bot.core.digest.evidence import Kind
from bot.core.digest.judge import Verdict
from bot.core.digest.result import UNKNOWN
from bot.core.digest.weak import exit_codes

_COMPARES = re.compile(
    r"[=!<>]=|\s[<>]\s|\bassert .* (?:is|in) |(?i:expect|mismatch|not equal|differ)"
)
_HINTS = {
    "dependency_install": "A package did not build: the compiler's first error says why.",
    "environment": "The card was occupied before the job began: free it and retry.",
    "timeout_hang": "Something did not answer in time: look for what stopped.",
}
_IN_REPOSITORY = "Look at the last line of the traceback that is in this repository."
_COMPARED = "A test's own assertion failed: compare the values."
_SIGNALS = {
    "oom_host": "Look at the events of the pod and the memory of the node: the process was killed, "
    "and the log does not say by what.",
    "code_failure": "The process died of a signal. Run it with faulthandler to see where.",
    "environment": "The process could not use its memory: look at the size of /dev/shm.",
}
_CODES = {
    2: "pytest was interrupted: look for an error while tests were collected.",
    3: "pytest itself failed: look for INTERNALERROR.",
    4: "pytest did not understand its arguments: look at the command.",
    124: "The command ran into the time limit it was started with: look at its last output.",
    126: "A file is there, but can't be executed: look at its mode.",
    127: "A command was not found: look at its name and at the image.",
}


def hint_of(best: Verdict, *, has_place: bool) -> str:
    """Return the hint for a cause; ``has_place``: a line of the repository is known."""
    if best.silent:
        return ""
    if best.signature is not None and best.failure_class == best.signature.failure_class:
        return best.signature.hint
    if best.failure.kind is Kind.STATUS:
        return _of_status(best)
    if best.failure_class == "code_failure":
        return _IN_REPOSITORY if has_place else ""
    if best.failure_class == "test_assertion":
        return _COMPARED if _COMPARES.search(best.text) else ""
    return _HINTS.get(best.failure_class, "")


def _of_status(best: Verdict) -> str:
    """Return the hint for an exit code; a signal is a negative one, or 128 and its number.

    An exit code of unknown class is not pytest's: it means what its program says.
    """
    if best.failure_class == UNKNOWN:
        return ""
    code = next((code for code, _ in exit_codes(best.text)), 0)
    return _CODES.get(code) or _SIGNALS.get(best.failure_class, "")
