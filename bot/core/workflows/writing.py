"""Write a policy as YAML text; a value is quoted if YAML could misread it."""

import json
import re
from collections.abc import Iterable

from bot.core.policy.errors import shown
from bot.core.policy.values import MAX_ITEMS
from bot.core.workflows.jobs import Job
from bot.core.workflows.labels import chip_of, npus_of
from bot.core.workflows.notes import code, listed
from bot.core.workflows.suites import Draft
from bot.core.workflows.triggers import Filters

HEAD = """\
# Made from .github/workflows/ by `ascend-ci init --from-workflows`. GitHub goes on starting these
# workflows; the bot adopts their runs. What could not be carried over was listed by the command.
# Check a change with: ascend-ci check-policy .github/ascend-ci.yml
version: 1
mode: dry_run  # shows what would run; set it to on when that is right
"""

_BRANCHES = "# Base branches that bring their own policy; the workflows' own filters name them.\n"

_RUNNERS = """
# npus: guessed from the number at the label's end. slots: how many runners carry the label; set it.
runners:
"""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")
_READ_OTHERWISE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def word(text: str) -> str:
    """Return printable ``text`` as a YAML scalar with exactly this text."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE
    return text if plain else json.dumps(text, ensure_ascii=False)


def policy_text(drafts: Iterable[Draft]) -> str:
    """Return the text of a policy."""
    found = list(drafts)
    labels = dict.fromkeys(label for draft in found for label in draft.labels)
    runners = "".join(runner_text(label) for label in labels)
    suites = "\n".join(suite_text(draft) for draft in found)
    return f"{HEAD}{_branches(found)}{_RUNNERS}{runners}\nsuites:\n{suites}"


def runner_text(label: str) -> str:
    """Return the line of a label; a value that its name does not show gets the default."""
    npus, chip = npus_of(label), chip_of(label)
    parts = [f"npus: {npus}"] if npus is not None else []
    parts += [f"chip: {word(chip)}"] if chip else []
    unknown = "  # npus: 8 is assumed, its name has no number" if npus is None else ""
    return f"  {word(label)}: {{{', '.join([*parts, 'slots: 1'])}}}{unknown}\n"


def suite_text(draft: Draft) -> str:
    """Return the lines of a suite."""
    lines = [f"  # From {shown(draft.file)}", *_jobs(draft.jobs), f"  {word(draft.key)}:"]
    if draft.title not in ("", draft.key):
        lines.append(f"    title: {word(draft.title)}")
    lines += [f"    workflow: {word(draft.workflow)}", "    start: native"]
    if draft.named:
        lines.append(f"    jobs: {_row(job.key for job in draft.jobs)}")
    if draft.filters is None:
        lines.append("    triggers: [schedule]")
    lines.append(f"    runners: {_row(draft.labels)}")
    if draft.at_once > 1:
        lines.append(f"    nodes: {draft.at_once}  # jobs at once")
    lines += _filters(draft.filters) if draft.filters else []
    lines.append(f"    timeout_minutes: {draft.timeout_minutes}")
    return "\n".join(lines) + "\n"


def _filters(filters: Filters) -> list[str]:
    required = [] if filters.each_commit else ["required: false  # its `types` leave commits out"]
    return [f"    {line}" for line in (*required, "paths:")] + [
        f"      - {word(path)}" for path in filters.paths
    ]


def _row(texts: Iterable[str]) -> str:
    return f"[{', '.join(word(text) for text in texts)}]"


def _jobs(jobs: tuple[Job, ...]) -> list[str]:
    """Return a comment for each of the first jobs."""
    lines = [
        f"  #   job {code(job.key)}: {listed(job.npu_labels)}{_after(job)}" for job in jobs[:4]
    ]
    return lines if len(jobs) <= 4 else [*lines, f"  #   and {len(jobs) - 4} more jobs"]


def _after(job: Job) -> str:
    return f", after {listed(job.needs)}" if job.needs else ""


def _branches(drafts: list[Draft]) -> str:
    """Return the line of the policy's branches: the branches that all workflows name."""
    filters = list(dict.fromkeys(draft.filters.branches for draft in drafts if draft.filters))
    agreed = filters[0] if len(filters) == 1 else ()
    every = [name for names in filters for name in names if not name.startswith("!")]
    names = agreed or tuple(dict.fromkeys(every))
    if not any(not name.startswith("!") for name in names) or len(names) > MAX_ITEMS:
        return ""
    return f"{_BRANCHES}branches: {_row(names)}\n"
