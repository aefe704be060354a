"""Find the failure that a green end hides: `… | tee train.log` has the exit status of `tee`.

Only what ended a process for good counts: an exception that nobody caught, after which its step
printed hardly anything, tests or a Ray job that failed, a training that stopped before its last
step. An error that was caught, tried again or expected by a test is none.
"""

import re
from collections.abc import Sequence

from bot.core.digest.evidence import Failure, Kind, Link, Weight
from bot.core.digest.job_steps import JobSteps, StepEnd
from bot.core.digest.judge import Verdict

_AFTER = 40  # ordinary lines that a step still prints after its process died: clean-up, Ray's end
_MODULE = frozenset({"<module>", "_run_module_as_main"})
# A probe of `python -c`, a child of `multiprocessing`, an actor of Ray: their parents go on.
_ACTOR = re.compile(r"\w+ (?:rank=\S+ )?pid=\d")  # of Ray, whose driver goes on, or tells of it
_CHILDREN = ("<string>", "<stdin>", "default_worker.py", "spawn.py", "setup_worker.py")
_HYDRA_LINES = 150  # between hydra's word and the exception that it tells
_HYDRA_NEAR = 8  # the same for a line


def hidden_step(steps: JobSteps, verdicts: Sequence[Verdict], calm: int) -> int | None:
    """Return the first step in which a process ended badly though the job passed, None for none.

    ``calm`` is the number of ordinary lines in the log.
    """
    ends = steps.ends(calm)
    found = [number for number, session in steps.sessions.items() if not session.passed]
    found += [v.failure.segment for v in verdicts if ended_process(v, steps, ends)]
    found += steps.rayjobs
    found += [number for number, end in ends.items() if _stopped_short(number, end, steps)]
    return min((step for step in found if step in ends and step not in steps.failed), default=None)


def ended_process(verdict: Verdict, steps: JobSteps, ends: dict[int, StepEnd]) -> bool:
    """Return True for a failure that the main program of a step died of."""
    failure = verdict.failure
    end = ends.get(failure.segment)
    if end is None or failure.no < end.progress:
        return False
    if (failure.segment, failure.no) in steps.not_run:
        return True
    if failure.weak or _ACTOR.match(failure.stream):
        return False
    session = steps.sessions.get(failure.segment)
    if session is not None and session.line > failure.no:
        return False  # a test made it fail, or printed it
    if end.calm - failure.calm > _AFTER:
        return False
    if failure.kind is Kind.LINE:  # a key or a value that hydra does not know
        return verdict.tier <= Weight.COMM and _is_hydras(failure, steps, _HYDRA_NEAR)
    if failure.kind is not Kind.PYTHON:
        return False
    uncaught = any(_is_uncaught(link) for link in failure.links)
    return uncaught or _is_hydras(failure, steps, _HYDRA_LINES)


def _is_uncaught(link: Link) -> bool:
    """Return True for an exception that came up to the main program.

    `ray status` and its like are asked whether a cluster is up; only `ray job` runs anything.
    """
    path, function = link.top
    if path.endswith("/bin/ray") and not any("/job/" in frame.path for frame in link.frames):
        return False
    imported = "-packages/" in path and "/bin/" not in path
    return function in _MODULE and not imported and not path.endswith(_CHILDREN)


def _is_hydras(failure: Failure, steps: JobSteps, lines: int) -> bool:
    """Return True for an exception that Hydra reports: it leaves out the main program's frames."""
    return any(
        step == failure.segment and abs(failure.no - told) <= lines for step, told in steps.hydra
    )


def _stopped_short(number: int, end: StepEnd, steps: JobSteps) -> bool:
    """Return True if the last training of a step stopped before the last step it announced."""
    short = end.total is not None and 0 < end.trained < end.total - 1
    return short and number not in steps.by_design
