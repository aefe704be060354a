"""Choose the root cause among all failures of a log."""

import re
from dataclasses import dataclass

from bot.core.digest.evidence import Failure, Kind, Status, Weight
from bot.core.digest.fatal import explanation, fatal, last_attempts
from bot.core.digest.hidden import ended_process, hidden_step
from bot.core.digest.judge import Verdict, judge
from bot.core.digest.places import Places
from bot.core.digest.reader import Reader
from bot.core.digest.refine import refine

_MERGE_LINES = 150
_ECHO_LINES = 200
_COMM = (Weight.COMM, Weight.FOLLOWER)
_ABORTS = frozenset({-6, 134})
_SERVERS = ("EngineCore", "APIServer", "Worker_", "VllmWorker")
# an exit code or a negative signal: tier, class, infra
_SIGNALS = {
    **dict.fromkeys((-11, -8, -6, -4), (Weight.SIGNAL, "code_failure", False)),
    -7: (Weight.SIGNAL, "environment", True),
    -9: (Weight.KILLED, "oom_host", True),
}
_PYTEST_CODES: dict[int, str] = {2: "code_failure", 3: "code_failure", 4: "config_error"}
_CODES: dict[int, tuple[str, bool | str]] = {
    124: ("timeout_hang", "stalled"),
    126: ("environment", False),
    127: ("environment", False),
}
_WELL = re.compile(  # the last line of `pytest -q`, of unittest, of a script, of a trainer
    r"^\d+ passed(?:, \d+ (?:skipped|deselected|xpassed|xfailed|warnings?|rerun))* in [\d.:]+"
    r"|^OK(?: \(.{1,80}\))?$|^exit(?:ed)?(?: with)?(?: (?:code|status))?:? 0$"
    r"|^\[after training is done\]"
    r"|(?i:\b(?:training|evaluation|conversion|job|run|benchmark|script)\b.{0,60}"
    r"\b(?:finished|completed?|done|succeeded)\b[.! ]{0,4}(?:successfully[.!]?)?$)"
)
_ENDS = re.compile(  # the last line of a log that came to an end, if a bad one
    r"(?i)\b(?:fail|error|abort|cancel|terminat|stopp|exit)|\b(?:status|code) [1-9]"
)


@dataclass(slots=True)
class Chosen:
    """The cause, and the verdicts that it was chosen from."""

    best: Verdict | None
    infra: bool
    all: list[Verdict]


def choose_cause(reader: Reader, places: Places, last_line: int) -> Chosen:
    """Choose the cause of a log that was read to `last_line`."""
    verdicts = [judge(failure, reader.book) for failure in reader.board.all()]
    verdicts = _merged([v for v in verdicts if v.tier is not Weight.NOISE])
    alive = [v for v in verdicts if not _handled(v, reader)]
    kill = _kill(reader)
    if kill is not None:
        began = _began(kill, reader)
        alive = [v for v in alive if v.no < began]
    alive = _in_step([*alive, *_signals(reader, alive)], reader)
    alive = last_attempts(alive)
    alive = fatal(alive, kill, reader.board.statuses)
    best = _shown_afterwards(_first(alive), verdicts, reader)
    best = explanation(best, alive)
    if kill is not None and (best is None or best.tier > Weight.FOLLOWER):
        best = kill
    # the last resort before silence: the first line that reports a failed command
    said = min(alive, key=lambda v: v.no, default=None)
    best = best or _status(reader) or said or _silence(reader, last_line)
    if best is not None:
        refine(best, verdicts, reader, places)
    return Chosen(best, _infra(best, alive, reader), alive)


def choose_hidden(reader: Reader, places: Places, last_line: int) -> Chosen | None:
    """Choose the cause of what ended a process of a job that passed; None if nothing did.

    The cause is None for a training that stopped before its last step without a word.
    """
    verdicts = [judge(failure, reader.book) for failure in reader.board.all()]
    verdicts = _merged([v for v in verdicts if v.tier is not Weight.NOISE])
    calm = reader.calm_at(last_line)
    step = hidden_step(reader.steps, verdicts, calm)
    if step is None:
        return None
    ends = reader.steps.ends(calm)
    after = [v for v in verdicts if v.no > ends[step].progress]
    alive = [v for v in [*after, *_signals(reader, after)] if v.failure.segment == step]
    alive = fatal(last_attempts(alive), None, reader.board.statuses)
    ended = [v for v in alive if v.tier <= Weight.FOLLOWER and ended_process(v, reader.steps, ends)]
    best = explanation(_first(ended or alive), alive)
    if best is not None:
        refine(best, verdicts, reader, places)
    return Chosen(best, _infra(best, alive, reader), alive)


def _merged(verdicts: list[Verdict]) -> list[Verdict]:
    """Join a CANN block with the traceback after it in the same process: they are one failure."""
    blocks = [v for v in verdicts if v.failure.kind is Kind.CANN]
    told = [v for v in verdicts if v.failure.kind is Kind.PYTHON]
    joined: set[int] = set()
    for block in blocks:
        for verdict in told:
            if _same_failure(block, verdict):
                verdict.codes = list(dict.fromkeys([*verdict.codes, *block.codes]))
                joined.add(block.no)
                break
    return [v for v in verdicts if v.failure.kind is not Kind.CANN or v.no not in joined]


def _same_failure(block: Verdict, told: Verdict) -> bool:
    near = 0 < told.no - block.no <= _MERGE_LINES
    same = block.failure.stream == told.failure.stream
    return near and same and not set(block.codes).isdisjoint(told.codes)


def _handled(verdict: Verdict, reader: Reader) -> bool:
    """Return True for a caught error: the job or its process went on with steps or requests."""
    failure = verdict.failure
    if failure.kind is Kind.PYTEST:
        return False
    if verdict.no < reader.clock.line:
        return True
    served = reader.served.get(failure.stream, 0)
    if failure.stream.startswith(_SERVERS):
        served = max(
            [served, *(no for s, no in reader.served.items() if s.startswith("APIServer"))]
        )
    return verdict.no < served


def _kill(reader: Reader) -> Verdict | None:
    """Return why the job was stopped; of several reasons the one that explains the others."""
    order = {s.name: i for i, s in enumerate(reader.book.all)}
    kills = [(order[f.signature.name], f.no, f) for f in reader.board.kills if f.signature]
    if not kills:
        return None
    _, no, first = min(kills, key=lambda kill: kill[:2])
    assert first.signature is not None
    found = first.signature
    return Verdict(first, no, first.link.text, Weight.PRIMARY, found.failure_class, found)


def _began(kill: Verdict, reader: Reader) -> int:
    """Return the line at which the kill began: its echo may come long before its reason."""
    first = min(f.no for f in reader.board.kills)
    echo = reader.echo
    return echo if echo and 0 < first - echo <= _ECHO_LINES else min(first, kill.no)


def _shown_afterwards(
    best: Verdict | None, verdicts: list[Verdict], reader: Reader
) -> Verdict | None:
    """Prefer an error in a server's log, shown after the tests, to a test's assertion."""
    if best is None or best.failure_class != "test_assertion":
        return best
    shown = [
        v
        for v in verdicts
        if v.failure.kind is Kind.PYTHON and v.tier <= Weight.COMM and v.no > best.no
        if v.failure.segment in reader.steps.evidence or v.no > reader.tests_done > best.no
    ]
    return _first([v for v in shown if v.failure.level == "ERROR"]) or best


def _in_step(verdicts: list[Verdict], reader: Reader) -> list[Verdict]:
    """Keep the failures of the failing step; later steps count only if it has none."""
    step = reader.failed_segment
    if step is None:
        return verdicts
    inside = [v for v in verdicts if v.failure.segment == step]
    if any(v.tier <= Weight.COMM for v in inside):
        return inside
    # lines of later steps that show another process's failure
    shown = [
        v for v in verdicts if v.failure.segment in reader.steps.evidence and v.tier <= Weight.COMM
    ]
    return inside + [v for v in shown if v.failure.segment > step]


def _signals(reader: Reader, alive: list[Verdict]) -> list[Verdict]:
    """Turn deaths by a signal into verdicts, each from the first line that reports it.

    A process that aborts after its own collective failed does so on purpose.
    """
    failed = min((v.no for v in alive if v.tier in _COMM), default=1 << 62)
    statuses = [s for s in reader.board.statuses if s.code not in _ABORTS or s.no < failed]
    told = ((status, _signal(status)) for status in statuses)
    return [_from_status(status, *signal[:2]) for status, signal in told if signal]


def _signal(status: Status) -> tuple[Weight, str, bool] | None:
    """Return what the signal of an exit code means, None if it is none."""
    return _SIGNALS.get(status.code if status.code < 0 else 128 - status.code)


def _from_status(status: Status, tier: Weight, failure_class: str) -> Verdict:
    failure = Failure(Kind.STATUS, "", status.segment, wall=status.wall, calm=status.calm)
    failure.link.no, failure.link.text = status.no, status.text
    return Verdict(failure, status.no, status.text, tier, failure_class)


def _first(verdicts: list[Verdict]) -> Verdict | None:
    """Return the earliest of the best verdicts; between ranks their own time stamps decide."""
    comm = [v for v in verdicts if v.tier in _COMM]
    pool = [v for v in verdicts if not _follows(v, comm)]
    if not pool:
        return None
    tier = min(v.tier for v in pool)
    if tier is Weight.STATUS:
        pool = [v for v in pool if v.failure.kind is Kind.PYTHON]
        if not pool:
            return None
    best = [v for v in pool if v.tier == tier]
    first = min(best, key=lambda v: v.no)
    stamped = [v for v in best if len(v.at) >= len(first.at) > 0]
    return min(stamped, key=lambda v: (v.at, v.no)) if stamped else first


def _follows(verdict: Verdict, comm: list[Verdict]) -> bool:
    """Return True for a line that a process printed after its own collective had failed."""
    if verdict.tier in _COMM or (
        not verdict.failure.stream and verdict.failure.kind is Kind.PYTHON
    ):
        return False
    return any(c.failure.stream == verdict.failure.stream and c.no < verdict.no for c in comm)


def _status(reader: Reader) -> Verdict | None:
    """Fall back to the exit codes: a meaningful one first, otherwise the first one."""
    statuses = reader.board.statuses
    told = [s for s in statuses if s.code in _CODES]
    if told:
        return _from_status(told[0], Weight.STATUS, _CODES[told[0].code][0])
    tests = [s for s in statuses if s.code in _PYTEST_CODES] if reader.pytest.seen else []
    if tests:
        return _from_status(tests[0], Weight.STATUS, _PYTEST_CODES[tests[0].code])
    own = [s for s in statuses if s.code not in {-15, 143}] or statuses
    return _from_status(own[0], Weight.STATUS, "unknown") if own else None


def _silence(reader: Reader, last_line: int) -> Verdict | None:
    """Take the last line of a log that just stops; a log that ended well has no cause."""
    if reader.ended or not last_line or _WELL.search(reader.last_text):
        return None
    last = Status(last_line, 0, reader.last_text, reader.steps.number)
    verdict = _from_status(last, Weight.STATUS, "unknown")
    verdict.silent = True
    return verdict


def _infra(best: Verdict | None, alive: list[Verdict], reader: Reader) -> bool:
    if best is None:
        return False
    own = [v for v in alive if v.tier <= Weight.FOLLOWER]
    tests = [v for v in own if v.failure.kind is Kind.PYTEST]
    if best.failure.kind is Kind.PYTEST and best in tests:
        return all(_retry(v, reader) for v in tests)
    units = {v.failure.unit for v in own} - {best.failure.unit}
    firsts = [_first([v for v in own if v.failure.unit == unit]) for unit in sorted(units)]
    return all(_retry(v, reader) for v in [best, *firsts] if v is not None)


def _retry(verdict: Verdict, reader: Reader) -> bool:
    infra: bool | str = verdict.infra
    if verdict.failure.kind is Kind.STATUS:
        infra = _status_infra(verdict, reader)
    if infra == "stalled":
        return not reader.clock.steady(verdict.no, verdict.failure.wall, verdict.text)
    return bool(infra)


def _status_infra(verdict: Verdict, reader: Reader) -> bool | str:
    for status in reader.board.statuses:
        if status.no == verdict.no:
            if signal := _signal(status):
                return signal[2]
            return _CODES.get(status.code, ("", not reader.watcher.job_spoke))[1]
    return _ENDS.search(verdict.text) is None  # else the log just stops
