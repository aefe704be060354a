"""What another service answered never reaches a title as HTML, JSON or our call's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.github.answers import WORDS_CHARS, in_words

GATEWAY = (
    "dispatch: 502 with a body that is no JSON: <!DOCTYPE html>\n<html><head>"
    "<title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1><hr>proxy.example</body></html>"
)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", ""),
        ("500 Server Error", "500 Server Error"),
        ("pull_files: 403 no", "403 no"),
        ("dispatch: 422 No ref found for: main.", "422 No ref found for: main"),
        (GATEWAY, "502 Bad Gateway"),
        ("502 with a body that is no JSON: <html><body>who knows</body></html>", "502"),
        ('checks: 422 {"message": "Invalid request", "errors": [{"x": 1}]}', "422 Invalid request"),
        ("health: 500 {'odd': 1}", "500"),
        ("the submitter says: <html><h1>R&amp;D proxy</h1>", "the submitter says: R&D proxy"),
        ("Timeout: nothing came", "Timeout: nothing came"),
    ],
)
def test_an_answer_becomes_a_few_words(said: str, words: str) -> None:
    assert in_words(said) == words


@given(st.text(alphabet="<>{}htmlbody/\"': \n502x") | st.text())
def test_any_answer_fits_into_a_sentence(said: str) -> None:
    words = in_words(said)
    assert len(words) <= WORDS_CHARS
    assert "\n" not in words
    assert "{" not in words
    assert "<html" not in words.lower()
