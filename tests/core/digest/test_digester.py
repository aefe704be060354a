import pickle

import msgspec
import pytest
from msgspec.structs import replace

from bot.core.digest.digester import Digester
from bot.core.digest.result import MAX_JSON_BYTES, Digest, Location, Unread
from bot.core.secrets.redaction import Redactor
from tests.core.digest.corpus import signatures

TRACE = b"""\
(W pid=1) Traceback (most recent call last):
(W pid=1)   File "/verl/verl/a.py", line 3, in f
(W pid=1)     boom()
(W pid=1) ValueError: bad value
"""


def read(
    log: bytes,
    *,
    roots: tuple[str, ...] = ("/verl",),
) -> Digest:
    digester = Digester(signatures(), repo_roots=roots)
    digester.feed(log)
    return digester.end()


def stored(digest: Digest) -> Digest:
    return msgspec.json.decode(msgspec.json.encode(digest), type=Digest)


def test_an_empty_log_has_no_cause() -> None:
    digest = read(b"")
    assert (digest.failure_class, digest.infra, digest.root_cause_line) == ("unknown", False, None)
    assert digest.title == "Nothing in this log failed"


@pytest.mark.parametrize(
    "end",
    [
        b"Cleaning up orphan processes\n",
        b"[rayjob final] SUCCEEDED done\n",
        b"============== 3 passed in 1.20s ==============\n",
    ],
)
def test_a_log_that_ended_well_has_no_cause(end: bytes) -> None:
    assert read(b"hello\n" + end).root_cause_line is None


def test_a_traceback_gives_line_title_place_and_fold() -> None:
    digest = read(b"start\n" + TRACE)
    assert (digest.root_cause_line, digest.cause) == (5, "ValueError: bad value")
    assert digest.title == "ValueError in verl/a.py:3: bad value"
    assert digest.annotations == (Location("verl/a.py", 3, "ValueError: bad value"),)
    assert digest.excerpt.split("\n")[-1] == "5  ValueError: bad value"
    assert 'File "/verl/verl/a.py"' in digest.traceback
    assert digest.tail[0] == "start"


def test_an_infrastructure_failure_is_titled_by_what_it_is() -> None:
    digest = read(TRACE.replace(b"ValueError: bad value", b"OSError: [Errno 28] No space left"))
    assert (digest.infra, digest.title) == (True, "No space left on device")


def test_a_failure_outside_the_repository_is_titled_by_its_text() -> None:
    assert read(TRACE, roots=("/elsewhere",)).title == "ValueError: bad value"


def test_the_end_can_be_asked_for_early_and_often() -> None:
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed(TRACE[:-1])
    early = digester.end()
    assert (early.root_cause_line, early.lines, digester.lines) == (4, 4, 3)
    assert digester.end() == early
    digester.feed(b" and more\n")
    later = digester.end()
    assert (later.cause, later.lines, later.bytes) == (
        "ValueError: bad value and more",
        4,
        len(TRACE) + 9,
    )
    assert (digester.lines, digester.bytes) == (4, len(TRACE) + 9)


def test_without_roots_the_usual_checkouts_are_known() -> None:
    digest = read(TRACE.replace(b"/verl/verl", b"/__w/verl/verl/verl"), roots=())
    assert digest.annotations[0].path == "verl/a.py"


@pytest.mark.parametrize(
    "path",
    [
        b"/usr/local/lib/python3.11/site-packages/verl/a.py",
        b"../../verl/a.py",
        b"<frozen importlib._bootstrap>",
        b"a b",
        b"/other/verl/a.py",
    ],
)
def test_foreign_code_is_never_annotated(path: bytes) -> None:
    assert not read(TRACE.replace(b"/verl/verl/a.py", path)).annotations


BODY = [f"{n:02}{'bG9uZyBsaW5lIG9mIGEga2V5' * 3}"[:64] for n in range(24)]
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        # Its end is missing, and an error follows: the excerpt begins within the key.
        (["start", BEGIN, *BODY, "RuntimeError: boom"], "***"),
        # The head of the log is lost.
        ([*BODY, END, "RuntimeError: boom"], "RuntimeError: boom"),
        (
            [BEGIN, *BODY[:9], "RuntimeError: boom", *BODY[9:], END, "RuntimeError: x"],
            "RuntimeError: x",
        ),
        # A log that just stops: its tail.
        (["start", BEGIN, *BODY], "***"),
        # What is cut out of a line must not tell less than the line.
        (
            [
                "Traceback (most recent call last):",
                '  File "/verl/verl/a.py", line 3, in f',
                "app.Password: hunter2hunter2",
            ],
            "app.Password: ***",
        ),
        (
            [f"{'x' * 60} ghp_{'aB3' * 5}", f"{'dE5' * 7} then RuntimeError: boom"],
            "*** then RuntimeError: boom",
        ),
    ],
)
def test_a_digest_holds_nothing_of_a_secret_whatever_it_quotes(log: list[str], cause: str) -> None:
    text = "\n".join(log).encode()
    for size in (len(text), 50):
        digester = Digester(signatures(), repo_roots=("/verl",), redactor=Redactor())
        for start in range(0, len(text), size):
            digester.feed(text[start : start + size])
        digest = digester.end()
        kept = pickle.dumps(digester.state.scanner.tail) + msgspec.json.encode(digest)
        assert not [piece for piece in (*BODY, "hunter2", "dE5dE5") if piece.encode() in kept]
        assert digest.lines == len(log)
        assert digest.bytes == len(text)
        assert digest.cause == cause


def test_several_failing_tests_give_several_annotations_once_each() -> None:
    def test(name: str, line: int) -> str:
        said = f">   assert x\nE   assert 1 == 2\n\ntests/t.py:{line}: AssertionError\n"
        return f"_____ {name} _____\n{said}"

    log = "==== FAILURES ====\n" + test("a", 1) + test("b", 2) + test("c", 2)
    places = [(a.path, a.line) for a in read(log.encode()).annotations]
    assert places == [("tests/t.py", 1), ("tests/t.py", 2)]


def test_a_digest_survives_its_row() -> None:
    digest = read(TRACE + b"step:3 - a:1\n" + TRACE)
    assert digest.progress is not None
    assert stored(digest) == digest


def test_a_row_is_bounded_whatever_the_log_holds() -> None:
    nasty = '\\"\u4e2d\U0001f600' * 300
    lines = [f'  File "/verl/verl/x{i}.py", line {i}, in {nasty[:190]}' for i in range(300)]
    log = "\n".join(["Traceback (most recent call last):", *lines, f"ValueError: {nasty}"])
    log += "".join(f"\n  {nasty}" for _ in range(60))
    digest = read(log.encode())
    assert len(digest.excerpt_lines) <= 60
    assert len(msgspec.json.encode(digest.bounded())) <= MAX_JSON_BYTES


def test_the_folded_parts_give_way_first() -> None:
    digest = read(TRACE)
    big = "\x01" * 9_000
    fat = replace(digest, traceback=big * 2, tail=(big,))
    shrunk = fat.bounded()
    assert (shrunk.traceback, shrunk.tail, shrunk.excerpt) == ("", (), digest.excerpt)
    wide = Location("a" * 4_000, 1, "\x01" * 500)
    fatter = replace(fat, annotations=(wide,) * 20)
    assert len(fatter.bounded().annotations) == 3


def test_another_digester_goes_on_from_a_state() -> None:
    first, second = Digester(signatures()), Digester(signatures())
    first.feed(TRACE[:40])
    second.go_on(first.state)
    second.feed(TRACE[40:])
    whole = Digester(signatures())
    whole.feed(TRACE)
    assert second.end() == whole.end()


def test_a_digest_of_a_part_says_so() -> None:
    part = read(TRACE).of_part(Unread.SIZE, 10**9)
    assert (part.unread, part.bytes, part.title) == (Unread.SIZE, 10**9, read(TRACE).title)
    assert stored(part) == part


@pytest.mark.parametrize(
    ("raised", "title"),
    [
        ("AttributeError: 'NoneType' object has no attribute 'shape'", "A value is None"),
        ("omegaconf.errors.ConfigAttributeError: Key 'a' is not in struct", "lacks a key"),
        (f"ValueError: {'long ' * 80}", "long long"),
    ],
)
def test_a_title_says_the_cause_in_at_most_a_hundred_characters(raised: str, title: str) -> None:
    digest = read(TRACE.replace(b"ValueError: bad value", raised.encode()))
    assert title in digest.title
    assert len(digest.title) <= 100
