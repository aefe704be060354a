import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bot.core.digest.chinese import WORDS
from bot.core.digest.digester import Digester
from bot.core.digest.evidence import codes_in
from bot.core.digest.signatures import LogSign, Role, load_signatures
from bot.resources import text
from tests.core.digest.corpus import signatures

BUILT_IN = signatures().all
IGNORED = {Role.NOISE, Role.NOISE_BLOCK}


def own(**keys: object) -> LogSign:
    base = {"name": "mine", "class": "disk", "match": "my disk", "example": "my disk is gone"}
    return LogSign.model_validate({**base, **keys})


def test_each_signature_knows_its_example() -> None:
    book = signatures()
    for signature in BUILT_IN:
        line = signature.example
        found = book.find(line, {signature.given} if signature.given else set())
        assert (found or book.by_codes(codes_in(line))) is signature, signature.name


def test_the_prefilter_lets_each_example_through() -> None:
    search = signatures().prefilter.search
    asked = [signature for signature in BUILT_IN if signature.role not in IGNORED]
    assert [one.name for one in asked if not search(one.example.encode())] == []


@pytest.mark.parametrize(
    "pattern",
    [s.match for s in BUILT_IN if s.match and s.role not in IGNORED],
    ids=[s.name for s in BUILT_IN if s.match and s.role not in IGNORED],
)
@settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None, database=None)
@given(st.data())
def test_the_prefilter_lets_through_whatever_a_signature_matches(
    pattern: str, data: st.DataObject
) -> None:
    cased = pattern.replace("(?i:", "(?:").replace("(?i)", "")
    drawn = data.draw(st.from_regex(cased)).replace("\n", " ")
    lines = {line: signatures().find(line) for line in (drawn, drawn.upper(), drawn.lower())}
    known = [line for line, found in lines.items() if found and found.role not in IGNORED]
    assert all(signatures().prefilter.search(line.encode()) for line in known)


def test_the_prefilter_lets_every_chinese_message_through() -> None:
    assert all(signatures().prefilter.search(word.encode()) for word in WORDS)


def test_each_signature_says_where_it_comes_from_and_what_to_do() -> None:
    for signature in BUILT_IN:
        assert signature.source, signature.name
        if signature.role not in IGNORED | {Role.NOTE}:
            assert signature.hint, signature.name
            assert signature.title, signature.name


def test_every_note_that_is_asked_for_exists() -> None:
    notes = {s.name for s in BUILT_IN if s.role is Role.NOTE}
    assert {s.given or s.clears for s in BUILT_IN} - {None} <= notes


def test_a_repositorys_own_signature_comes_first_and_passes_the_prefilter() -> None:
    mine = own(match="^zork (?:[a-z^]+)$", example="zork blah")
    book = load_signatures(text("signatures.yml"), own=[mine])
    digester = Digester(book)
    digester.feed(b"start\n(W pid=1) zork blah\nend\n")
    digest = digester.end()
    assert (digest.root_cause_line, digest.failure_class) == (2, "disk")


def test_a_repositorys_own_code_passes_the_prefilter() -> None:
    mine = own(match=None, codes=["123456"], example="ret 123456")
    book = load_signatures(text("signatures.yml"), own=[mine])
    assert book.prefilter.search(b"ret 123456")
    assert book.by_codes(["123456"]) is mine


def test_an_anchor_that_cannot_be_relaxed_stays() -> None:
    mine = own(match="a|[$]x", example="[$]x a")
    book = load_signatures(text("signatures.yml"), own=[mine])
    assert book.prefilter.search(b"zork a")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"match": "("}, "not an RE2 pattern"),
        ({"match": "(?=x)"}, "not an RE2 pattern"),
        ({"match": "x*"}, "must not match an empty line"),
        ({"unless": "("}, "not an RE2 pattern"),
        ({"match": None}, "needs match or codes"),
        ({"class": "oops"}, "Input should be"),
        ({"role": "boss"}, "Input should be"),
        ({"surprise": 1}, "Extra inputs"),
        ({"example": ""}, "at least 1 character"),
        ({"name": "Not A Name"}, "should match pattern"),
    ],
)
def test_a_wrong_signature_is_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        own(**keys)


def test_two_of_one_name_are_refused() -> None:
    entry = {"name": "a", "class": "disk", "match": "x", "example": "x"}
    with pytest.raises(ValueError, match="named twice: a"):
        load_signatures(yaml.safe_dump({"version": 1, "signatures": [entry, entry]}))
