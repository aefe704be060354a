"""Patterns in which only `*` has a meaning: names of jobs, and ids of tests with brackets."""


def fits(pattern: str, text: str) -> bool:
    """Return True if a text is of a pattern, in which ``*`` is any text, in linear time."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    if not text.startswith(first):
        return False
    at, last = len(first), rest.pop()
    for part in rest:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(last) and text.endswith(last)
