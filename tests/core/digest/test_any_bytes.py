"""Whatever bytes come, in whatever chunks, cut wherever: an answer, the same one, within bounds."""

import random
import tracemalloc
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.digest.digester import Digester
from bot.core.digest.result import MAX_JSON_BYTES, Digest
from tests.core.digest.corpus import HERE, SHARED, Case, load, signatures

CASES = [*load(HERE / "cases"), *load(SHARED)]
MEMORY_BYTES = 4 << 20  # less than each of the long inputs, should one be kept


def read(raw: bytes, *cuts: int, roots: tuple[str, ...] = ("/verl",)) -> Digest:
    digester = Digester(signatures(), repo_roots=roots)
    last = 0
    for cut in (*sorted(cuts), len(raw)):
        digester.feed(raw[last:cut])
        last = cut
    return digester.end()


def stepwise(raw: bytes, size: int) -> Digest:
    """Read in small chunks, each of them flushed, with a look at the digest in between."""
    digester = Digester(signatures(), repo_roots=("/verl",))
    for start in range(0, len(raw), size):
        digester.feed(raw[start : start + size])
        if digester.lines % 7 == 0:
            digester.end()
    return digester.end()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_reads_the_same_cut_at_every_chunk_boundary(case: Case) -> None:
    raw, whole = case.raw[:40_000], read(case.raw[:40_000])
    cuts = random.Random(case.name).sample(range(len(raw) + 1), k=min(8, len(raw)))
    assert all(read(raw, cut) == whole for cut in cuts[:2])
    assert read(raw, *cuts) == whole
    assert stepwise(raw, 997) == whole


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_cut_short_anywhere_still_gives_a_digest_that_fits(case: Case) -> None:
    for end in random.Random(case.name).sample(range(len(case.raw)), k=min(3, len(case.raw))):
        digest = read(case.raw[:end], end // 2)
        text = msgspec.json.encode(digest.bounded())
        assert msgspec.json.decode(text, type=Digest) == digest
        assert len(text) <= MAX_JSON_BYTES
        assert digest.lines == len(case.raw[:end].split(b"\n")) - (case.raw[:end][-1:] in b"\n")


SHAPES = b"""
Traceback (most recent call last):
  File "/verl/a.py", line 3, in f
  File "/verl/a.py", line 3 in f
ValueError: x
E   assert 1
==== FAILURES ====
____ test_a ____
tests/t.py:3: in f
[1/2] START  a.py
EI0006: [PID: 3] 2026-01-01-00:00:00.1 Getting socket times out
NPU warning, error code is 507035[Error]:
(W pid=1)
[rank3]:
##[group]Run x
##[endgroup]
##[error]Process completed with exit code 137.
##[error]The operation was canceled.
step:3 - a:1
{'loss': 1.0}
The above exception was the direct cause of the following exception:
PASSED
RERUN
Fatal Python error: Segmentation fault
Current thread 0x1 (most recent call first):
  + Exception Group Traceback (most recent call last):
  +-+---------------- 1 -------
ray.exceptions.RayTaskError(X): ray::W.f() (pid=3)
E   ray.exceptions.RayTaskError(X):
[rayjob final] FAILED x""".split(b"\n")
PIECES = st.one_of(st.binary(max_size=30), st.sampled_from([*SHAPES, b"\r", b"\0", b"\xff"]))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(PIECES, st.sampled_from([b"\n", b"\n", b"", b"\r", b" "])), max_size=40))
def test_any_mixture_of_shapes_reads_the_same_in_any_chunks(
    parts: list[tuple[bytes, bytes]],
) -> None:
    raw = b"".join(piece + end for piece, end in parts)
    whole = read(raw)
    assert stepwise(raw, 13) == whole
    assert msgspec.json.decode(msgspec.json.encode(whole.bounded()), type=Digest) == whole
    numbers = [no for no, _ in whole.excerpt_lines]
    assert numbers == sorted(set(numbers))
    assert all(0 < no <= max(1, whole.lines) for no in numbers)
    assert whole.root_cause_line is None or whole.root_cause_line in numbers


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=4_000))
def test_random_bytes_never_raise(raw: bytes) -> None:
    assert stepwise(raw, 101) == read(raw)


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"x" * 2_500_000 + b" Error: foo " + b"y" * 2_500_000 + b"\n",
        lambda: b"Error abc " * 600_000,
        lambda: b"".join(b"Error: a %d\r" % i for i in range(400_000)) + b"\n",
        lambda: b"".join(b"ERROR: thing %d failed\n" % i for i in range(3_000)),
        lambda: b"".join(
            b"(W pid=%d) Traceback (most recent call last):\n(W pid=%d) ValueError: %d\n"
            % (i, i, i)
            for i in range(1_000)
        ),
        lambda: b"ERROR: " + b"(a=1, b=" * 600_000 + b"\n",
    ],
    ids=["long line", "no line end", "carriage returns", "errors", "tracebacks", "brackets"],
)
def test_memory_stays_bounded_whatever_comes(make: Callable[[], bytes]) -> None:
    block = make()
    digester = Digester(signatures())
    digester.feed(b"warm up: Error\n")
    digester.end()
    tracemalloc.start()
    try:
        for start in range(0, len(block), 1 << 18):
            digester.feed(block[start : start + (1 << 18)])
        digester.end()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BYTES
