"""What another service answered, as a few words that may stand in a sentence or a title."""

import re
from html import unescape

from bot.core.github.markdown import one_line, title

WORDS_CHARS = 160  # of an answer: the log has all of it
_CALL = re.compile(r"^[a-z_]+: (?=\S)")  # the name of our own call: "dispatch: 422 …"
_HTML = re.compile(r"<(?:!doctype|html|head|body|title|h1)\b", re.IGNORECASE)
_HEADING = re.compile(r"<(title|h1)[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)
_MESSAGE = re.compile(r'"(?:message|error|detail|reason)": *"((?:[^"\\]|\\.)+)"')
_NO_JSON = re.compile(r" with a body that is no JSON:?")
_REPEATED = re.compile(r"\b(\d{3}) \1\b")


def in_words(said: str) -> str:
    """Return an error's words without our call's name, HTML and JSON: ``502 Bad Gateway``."""
    text = _NO_JSON.sub("", _CALL.sub("", one_line(said)))
    if html := _HTML.search(text):
        heading = _HEADING.search(text)
        text = f"{text[: html.start()]}{unescape(heading[2]) if heading else ''}"
    if "{" in text:
        before, _, data = text.partition("{")
        message = _MESSAGE.search(data)
        text = f"{before}{message[1] if message else ''}"
    return title(_REPEATED.sub(r"\1", one_line(text)).strip(" .:;,"), WORDS_CHARS)
