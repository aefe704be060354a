"""Judge one failure: the line with the reason, its class, and its rank as a cause."""

import re
from dataclasses import dataclass, field

from bot.core.digest.evidence import Failure, Kind, Link, Weight, codes_in, is_user_code
from bot.core.digest.shapes import Line
from bot.core.digest.signatures import LogSign, Role, Signatures
from bot.core.digest.traces import EXCEPTION
from bot.core.digest.weak import is_compiler, is_weak

# A role has the tier of its name; what only tells of the job or of nothing has none.
_TIERS = {role: Weight.__members__.get(role.name, Weight.NOISE) for role in Role}
_TIERS[Role.KILL] = Weight.STATUS
_TIERS[Role.LOSS] = Weight.PRIMARY
_WAITS = frozenset({Role.FOLLOWER, Role.STATUS})
_PASSES_ON = _WAITS | {Role.COMM, Role.WRAPPER}  # lines that may quote the code of a cause
_EXPLAINS = frozenset({"oom_device", "device_fault"})  # of what a kernel or a collective fails
_PROBES = (
    "ModuleNotFoundError",
    "KeyError",
    "StopIteration",
    "StopAsyncIteration",
    "queue.Empty",
    "_queue.Empty",
    "LookupError",
)
_STOPS = re.compile(
    r"^(?:KeyboardInterrupt|SystemExit|asyncio\.(?:exceptions\.)?CancelledError|CancelledError|GeneratorExit)\b"
)
_HOLLOW = re.compile(
    r"validation errors? for [\w.]+\s*$"
    r"|^(?:[\w.]+\.)?[A-Z]\w*(?::\s*|(?:: backend=.{1,60})? raised:\s*)?$"
)
_WORDS = re.compile(r"[^\W\d_]{2}.*[^\W\d_]{2}")
_OUTER = re.compile(
    r"^(?:torch\._(?:inductor|dynamo)\.exc\.\w+|(?:[\w.]+\.)?BackendCompilerFailed): "
    r"(?:backend=\S+ raised:\s*)?"
)
_CANN_LINE = re.compile(r"^(?:\[PID: ?\d+\] \S+ \w[\w/]*\()?(E(?:[A-PZ]\d{4}|[1-4]\d{4}))\b")
_AT = re.compile(r"\b(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d[\d.:]*)")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|/)tests?/")
_ASSERTION = re.compile(r"^(?:AssertionError\b|assert\b|Failed: |(?:\w+\.)*\w*Assertion\w*:)")
_TIMEOUT = re.compile(r"^(?:[\w.]+\.)?(?:TimeoutError|Timeout|TimeoutException)\b")
_TESTING = re.compile(r"/(?:unittest|testing|numpy/testing|pandas/_testing)/|/unittest\b")


@dataclass(slots=True)
class Verdict:
    """The judgement of a failure: root line, text, signature, rank, and codes of its block."""

    failure: Failure
    no: int
    text: str
    tier: Weight
    failure_class: str
    signature: LogSign | None = None
    codes: list[str] = field(default_factory=list)
    at: str = ""
    link: int = 0
    blameless: bool | None = None  # whether the infrastructure is to blame, if the log shows it
    silent: bool = False  # nothing failed: the log's last line is taken as the cause

    @property
    def infra(self) -> bool | str:
        """Return True if a retry helps; `stalled` if that depends on progress."""
        if self.blameless is not None:
            return self.blameless
        if self.signature is not None:
            return self.signature.infra
        return "stalled" if self.failure_class == "timeout_hang" else False


def judge(failure: Failure, book: Signatures) -> Verdict:
    """Judge the links of a failure; the first link that is a cause of its own represents it."""
    verdicts = [_weigh(failure, i, book) for i in range(len(failure.links))]
    best = min(verdicts, key=lambda v: v.tier)
    origin = verdicts[_origin(failure, verdicts)]
    if origin.signature is not None and best.signature is None and origin.tier < Weight.WEAK:
        return origin  # what nobody knows does not explain what a signature does
    if origin.tier > best.tier or origin.tier == best.tier == Weight.SECONDARY:
        return best
    if origin.signature is None and origin.failure_class != "test_assertion":
        _explain(origin, verdicts)
    return origin


def _origin(failure: Failure, verdicts: list[Verdict]) -> int:
    """Walk from the first link of a chain to the link with the reason."""
    for i, verdict in enumerate(verdicts[:-1]):
        link = failure.links[i]
        probe = link.context and link.text.startswith(_PROBES)
        hollow = _HOLLOW.search(verdict.text) is not None
        if verdict.tier < Weight.SECONDARY and not probe and not hollow:
            return i
    return len(verdicts) - 1


def _explain(origin: Verdict, verdicts: list[Verdict]) -> None:
    """Let a later link give the class, if no signature knows the origin."""
    for later in verdicts[origin.link + 1 :]:
        if later.signature is not None and later.tier <= Weight.COMM:
            origin.signature, origin.failure_class = later.signature, later.failure_class
            return


def _weigh(failure: Failure, index: int, book: Signatures) -> Verdict:
    link = failure.links[index]
    body = [(link.no, link.text), *((no, text) for no, text in link.message if no > 0)]
    codes = list(dict.fromkeys(c for _, text in body for c in codes_in(text)))
    explained = _explaining(failure, body, codes, book)
    no, text = explained or _reason(link, body, codes, book)
    given = failure.signature if index == 0 and explained is None else None
    signature = given or _signature(failure, text, body, codes, book)
    tier = Weight.WRAPPER if link.outer else _tier(failure, text, signature)
    failure_class = (
        signature.failure_class if signature is not None else _class(failure, link, text)
    )
    at = next((m[1] for _, t in ((no, text), *body) if (m := _AT.search(t))), "")
    return Verdict(failure, no, text, tier, failure_class, signature, codes, at, index)


def _explaining(
    failure: Failure, body: list[tuple[int, str]], codes: list[str], book: Signatures
) -> tuple[int, str] | None:
    """Return the line of a message that explains its first one: the device's, or a child's."""
    first = _known(failure, book, body[0][1]) or book.by_codes(codes[:1])
    if failure.kind is Kind.LINE:
        status = first is not None and first.role is Role.STATUS
        if is_compiler(body[0][1]) or not (status or first is None):
            return None
        told = ((no, text.strip()) for no, text in body[1:] if _is_childs(text, book, status))
        return next(told, None)
    if first is None or not first.codes or first.failure_class != "code_failure":
        return None
    for no, text in body[1:]:
        found = book.by_codes(codes_in(text)) or book.find(text)
        if found is not None and found.failure_class in _EXPLAINS:
            return no, text
    return None


def _is_childs(text: str, book: Signatures, status: bool) -> bool:
    """Return True for an error that a child process printed, indented by its parent.

    Below a bare status any error counts, below a message only one that is known.
    """
    found = book.find(text.strip())
    if found is not None:
        return found.role is Role.PRIMARY
    return status and text[:1] == " " and is_weak(Line(0, text.strip()))


def _reason(
    link: Link, body: list[tuple[int, str]], codes: list[str], book: Signatures
) -> tuple[int, str]:
    """Return the line of a message with the reason."""
    for no, text in body:
        if (match := _CANN_LINE.match(text)) and is_user_code(match[1]):
            return no, text
    if _HOLLOW.search(link.text) and not codes and _says_nothing(link.text, book):
        return _first_reason(body, book)
    return body[0]


def _first_reason(body: list[tuple[int, str]], book: Signatures) -> tuple[int, str]:
    """Return the line that a signature knows best, otherwise the first with words."""
    order = {s.name: i for i, s in enumerate(book.all)}
    known = [
        (order[found.name], no, text)
        for no, text in body[1:]
        if (found := book.find(text)) is not None and found.role is Role.PRIMARY
    ]
    if known:
        return min(known)[1:]
    return next(((no, text) for no, text in body[1:] if _WORDS.search(text)), body[0])


def _says_nothing(text: str, book: Signatures) -> bool:
    """Return True for a first line with only a name; a wrapper's line needs no reason."""
    known = book.find(text)
    return known is None or known.role is Role.PRIMARY


def _signature(
    failure: Failure, text: str, body: list[tuple[int, str]], codes: list[str], book: Signatures
) -> LogSign | None:
    first = _known(failure, book, _OUTER.sub("", text))
    by_code = book.by_codes(codes_in(text))
    quoted = by_code is not None and by_code.failure_class in _EXPLAINS
    if first is not None and first.role not in ({*_PASSES_ON} if quoted else _WAITS):
        return first
    if by_code is not None and (first is None or by_code.role is Role.PRIMARY):
        return by_code
    if first is not None and first.role not in {Role.STATUS}:
        return first
    if failure.kind is Kind.LINE and first is None and not codes:
        return None
    rest = [t for _, t in body[:16] if t != text]
    later = [s for t in rest if (s := _known(failure, book, t)) is not None]
    strong = [s for s in later if s.role in {Role.PRIMARY, Role.COMM, Role.FOLLOWER}]
    return book.by_codes(codes) or (strong[0] if strong else first)


def _known(failure: Failure, book: Signatures, text: str) -> LogSign | None:
    """Return the signature of a line; only a stop signal makes an exception noise."""
    found = book.find(text)
    if found is not None and _TIERS[found.role] is Weight.NOISE and failure.kind is not Kind.LINE:
        return None
    return found


def _tier(failure: Failure, text: str, signature: LogSign | None) -> Weight:
    if _STOPS.match(text):
        return Weight.NOISE
    if failure.finding and (signature is None or signature.role is not Role.PRIMARY):
        return Weight.PRIMARY
    if failure.level in {"INFO", "DEBUG"} or (failure.weak and failure.kind is not Kind.CANN):
        return max(Weight.WEAK, Weight.WEAK if signature is None else _TIERS[signature.role])
    if signature is not None:
        return _TIERS[signature.role]
    if text.startswith("ray.exceptions."):
        return Weight.WRAPPER
    if failure.kind is Kind.LINE and not is_compiler(text):
        return Weight.WEAK
    return Weight.PRIMARY


def _class(failure: Failure, link: Link, text: str) -> str:
    if text.startswith("ray.exceptions."):
        return "unknown"
    if _TIMEOUT.match(text):
        return "timeout_hang"
    if _ASSERTION.match(text) and _in_test(failure, link):
        return "test_assertion"
    return "code_failure"


def _in_test(failure: Failure, link: Link) -> bool:
    """Return True for an assertion of a test, not of the code under test."""
    if not link.frames:
        return failure.kind is Kind.PYTEST
    deepest = link.frames[-1].path
    inside = any(_TEST_FILE.search(f.path) for f in link.frames)
    return _TEST_FILE.search(deepest) is not None or (
        inside and _TESTING.search(deepest) is not None
    )


def exception_name(text: str) -> str:
    """Return the exception's name without its modules, "" if the line has none."""
    match = EXCEPTION.match(text)
    return match[1].rpartition(".")[2] if match else ""
