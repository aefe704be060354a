"""The lines that texts offer to type; each is one that the parser reads as it is meant."""

from difflib import get_close_matches

from bot.core.model.command import COMMAND, SHA_CHARS
from bot.core.policy.values import COMMAND_WORDS

_ALIKE = 0.75  # a first word so close to a verb was meant as that verb, not as a suite


def verb_meant(word: str) -> str:
    """Return the verb that a first word is close to, "" if it is none."""
    return next(iter(get_close_matches(word.lower(), sorted(COMMAND_WORDS), 1, _ALIKE)), "")


def line(*words: str, sha: str = "") -> str:
    """Return a command on the head, or on a commit that it names."""
    named = ("--sha", sha[:SHA_CHARS]) if sha else ()
    return " ".join((COMMAND, *words, *named))


def start_line(*words: str, sha: str = "") -> str:
    """Return the command that starts suites; one that is called like a verb needs `run`."""
    return line(*(("run",) if verb_meant(words[0]) else ()), *words, sha=sha)
