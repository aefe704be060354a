"""The allowed values of single keys, each with an error that a maintainer can act on.

Every check raises ``ValueError``. Pydantic collects them, so one load reports all.
"""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import re2
from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field, PlainValidator, StrictInt, StrictStr, ValidationInfo

from bot.core.messages import Message
from bot.core.messages.en.replies import REPLIES
from bot.core.policy.globs import PatternError, compile_pattern

# GitHub's own limit on the inputs of a `workflow_dispatch`.
MAX_INPUTS = 25

# The bot sends these inputs with every dispatch.
SENT_INPUTS = ("ascend_ci", "sha", "pr", "runner", "timeout_minutes")

# The placeholders of an input's value.
PLACEHOLDERS = ("sha", "pr", "runner", "run")

# The verbs of `/ascend-e2e`, each with a help text: a suite of that name could not be named there.
_HELP = "help_"
COMMAND_WORDS = frozenset(key.removeprefix(_HELP) for key in REPLIES if key.startswith(_HELP))

# The maximum length of a list or mapping. With it a hostile policy takes at most a second.
MAX_ITEMS = 200

# GitHub stops a job on a self-hosted runner after five days.
MAX_JOB_MINUTES = 7200

# GitHub shows at most 100 characters of a job's name; a key may be longer.
MAX_JOB_CHARS = 200

# The maximum length of a cron time; real ones are much shorter.
MAX_CRON_CHARS = 100

# The digest joins all expressions into one, so each must be short.
MAX_REGEX_CHARS = 2000

# The memory of one compiled expression, about 2,700 steps. It also bounds the time: a longer
# program is given up. 176 of the 177 shipped expressions need fewer than 900 steps.
_REGEX_BYTES = 256 * 1024

# The steps of all expressions of a policy, as many as those of the shipped signatures. A character
# counts too: `(?i)\pL` costs much to read, and may leave few steps.
MAX_REGEX_STEPS = 100_000
_STEPS_PER_CHAR = 4
# Counted before an expression is compiled, and for one that becomes too large.
_MOST_STEPS = 10_000

# Different path filters of a policy; 100 suites have about 1,000. Each costs 0.1 ms to compile,
# and as much for 300 changed files.
MAX_PATTERNS = 2_000

MIN_REDACT_CHARS = 4

# GitHub's largest numbers of issues have seven digits.
MAX_ISSUE = 10**9

DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")  # ordered as the days are
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?", re.ASCII)
_TEAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_WORKFLOW = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\.ya?ml")
_SIGNATURE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_REDACT = re.compile(rf"\s*\S.{{{MIN_REDACT_CHARS - 2},}}\S\s*", re.DOTALL)
_ROOT = re.compile(r"/.*[^/].*", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ISSUE = re.compile(r"https?://[^\s<>\x00-\x1f]{3,300}")
_OWNER = re.compile(r"(?:[A-Za-z0-9_.-]{1,100}/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_SPACE_OR_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_BRANCH = re.compile(r"(?!.*(\.\.|//|@\{))[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]*")


class Budget:
    """What checking one policy may cost, in steps; the value that goes beyond it is an error."""

    def __init__(self) -> None:
        self._steps = MAX_REGEX_STEPS
        self._patterns: set[str] = set()

    @property
    def is_spent(self) -> bool:
        """Return True if an error says so already: what follows is not looked at."""
        return self._steps < 0 or len(self._patterns) > MAX_PATTERNS

    def spend(self, steps: int) -> None:
        """Count the steps of an expression."""
        self._steps -= steps
        if self._steps < 0:
            raise ValueError(Message("wrong_regex_dear"))

    def give_back(self, steps: int) -> None:
        """Take back what an expression was allowed and did not need."""
        self._steps += steps

    def count(self, pattern: str) -> None:
        """Count a path filter; one that stands in many lists is compiled once."""
        self._patterns.add(pattern)
        if len(self._patterns) > MAX_PATTERNS:
            raise ValueError(Message("wrong_pattern_many", most=MAX_PATTERNS))


# The context of values that were checked before they were stored: a row is read often.
STORED = "stored"


def _budget(info: ValidationInfo) -> Budget | None:
    """Return what is left to spend; None if there is nothing to check."""
    budget = info.context or Budget()
    return None if budget == STORED or budget.is_spent else budget


_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)  # any fixed time will do


def _whole(pattern: re.Pattern[str], problem: Message) -> AfterValidator:
    """Refuse a text that ``pattern`` does not match from end to end."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(problem)
        return text

    return AfterValidator(check)


def check_suite_key(key: str) -> str:
    """Refuse a suite name that can't be used in a command."""
    if not _KEY.fullmatch(key):
        raise ValueError(Message("wrong_key"))
    if key.lower() in COMMAND_WORDS:
        raise ValueError(Message("wrong_command_word", key=key))
    return key


def check_label(label: str) -> str:
    """Refuse an invalid runner label."""
    if not 0 < len(label) <= 256 or _SPACE_OR_CONTROL.search(label) or "," in label:
        raise ValueError(Message("wrong_label"))
    return label


def check_workflow(name: str) -> str:
    """Refuse a workflow that is not a file name in `.github/workflows/`."""
    if not _WORKFLOW.fullmatch(name):
        bare = name.replace("\\", "/").rsplit("/", 1)[-1]
        if _WORKFLOW.fullmatch(bare):
            raise ValueError(Message("wrong_workflow_folder", bare=bare))
        raise ValueError(Message("wrong_workflow"))
    return name


def check_job_name(name: str) -> str:
    """Refuse a text that no job can be called."""
    if not 0 < len(name) <= MAX_JOB_CHARS or not name.isprintable() or name != name.strip():
        raise ValueError(Message("wrong_job"))
    return name


def check_input_name(name: str) -> str:
    """Refuse an input name that GitHub does not accept or that the bot itself sends."""
    if not _INPUT.fullmatch(name):
        raise ValueError(Message("wrong_input"))
    if name in SENT_INPUTS:
        raise ValueError(Message("wrong_input_sent", name=name))
    return name


def check_input_value(value: str) -> str:
    """Refuse an unknown placeholder."""
    for name in _PLACEHOLDER.findall(value):
        if name not in PLACEHOLDERS:
            known = tuple(f"`{{{word}}}`" for word in PLACEHOLDERS)
            raise ValueError(Message("wrong_placeholder", name=name, known=known))
    return value


def check_pattern(pattern: str) -> str:
    """Refuse a path filter without a meaning in GitHub's rules."""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        raise ValueError(error.message) from error
    return pattern


def check_filter(pattern: str, info: ValidationInfo) -> str:
    """Refuse a path filter of a policy that is wrong or one too many."""
    if (budget := _budget(info)) is None:
        return pattern
    budget.count(pattern)
    return check_pattern(pattern)


def check_positive(pattern: str) -> str:
    """Refuse a filter that only excludes, where one pattern stands alone."""
    if pattern.startswith("!"):
        raise ValueError(Message("wrong_only_excludes_one"))
    return pattern


def check_regex(pattern: str, info: ValidationInfo) -> str:
    """Refuse an expression that RE2 does not accept, or that costs too much."""
    if len(pattern) > MAX_REGEX_CHARS:
        raise ValueError(Message("wrong_regex_long", most=MAX_REGEX_CHARS))
    if (budget := _budget(info)) is None:
        return pattern
    budget.spend(_MOST_STEPS + len(pattern) * _STEPS_PER_CHAR)
    compiled = _compiled(pattern)
    budget.give_back(_MOST_STEPS - compiled.programsize)
    if compiled.fullmatch(""):
        raise ValueError(Message("wrong_regex_empty"))
    return pattern


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _REGEX_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0] if error.args else ""
        reason = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        if reason.endswith("compile failed"):  # it is right, and too large
            raise ValueError(Message("wrong_regex_large")) from error
        raise ValueError(Message("wrong_regex", reason=reason)) from error


def check_cron(cron: str) -> str:
    """Refuse a time that does not have cron's five fields."""
    if len(cron) > MAX_CRON_CHARS or len(cron.split()) != 5:
        raise ValueError(Message("wrong_cron_fields"))
    try:
        CronSim(cron, _EPOCH)  # also refuses dates that never come
    except CronSimError as error:
        raise ValueError(Message("wrong_cron", error=str(error))) from error
    return cron


def check_branch(name: str) -> str:
    """Refuse an invalid branch name; a dispatch accepts no commit and no pattern."""
    if (
        not _BRANCH.fullmatch(name)
        or name.startswith("refs/")
        or name.endswith((".", "/", ".lock"))
    ):
        raise ValueError(Message("wrong_branch"))
    return name


def check_day(text: str) -> str:
    """Refuse a text that is not a day of the calendar."""
    try:
        date.fromisoformat(text if DAY.fullmatch(text) else "")
    except ValueError as error:
        raise ValueError(Message("wrong_day")) from error
    return text


def check_issue(value: object) -> int | str:
    """Refuse what is neither the number of an issue nor a web address."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_ISSUE:
        return value
    if isinstance(value, str) and _ISSUE.fullmatch(value):
        return value
    raise ValueError(Message("wrong_issue"))


def check_words(text: str) -> str:
    """Refuse a sentence of several lines, or without a word."""
    if not text.strip() or not text.isprintable():
        raise ValueError(Message("wrong_words"))
    return text


def check_infra(value: object) -> bool | str:
    """Refuse a value that is not true, false or `stalled`."""
    if isinstance(value, bool) or value == "stalled":
        return value
    raise ValueError(Message("wrong_infra"))


Text = StrictStr
Infra = Annotated[
    bool | Literal["stalled"],
    PlainValidator(check_infra, json_schema_input_type=bool | Literal["stalled"]),
]
# A key can be part of a check run's name and a word of a command.
Key = Annotated[StrictStr, _whole(_KEY, Message("wrong_key"))]
SuiteKey = Annotated[StrictStr, AfterValidator(check_suite_key)]
Label = Annotated[StrictStr, AfterValidator(check_label)]
# An invalid login would match nobody, and nobody would notice.
Login = Annotated[StrictStr, _whole(_LOGIN, Message("wrong_login"))]
Team = Annotated[StrictStr, _whole(_TEAM, Message("wrong_team"))]
JobName = Annotated[StrictStr, AfterValidator(check_job_name)]
Workflow = Annotated[StrictStr, AfterValidator(check_workflow)]
InputName = Annotated[StrictStr, AfterValidator(check_input_name)]
InputValue = Annotated[StrictStr, AfterValidator(check_input_value)]
Pattern = Annotated[StrictStr, AfterValidator(check_filter)]
PositivePattern = Annotated[StrictStr, AfterValidator(check_positive), AfterValidator(check_filter)]
SignatureName = Annotated[StrictStr, _whole(_SIGNATURE, Message("wrong_signature"))]
Title = Annotated[StrictStr, Field(max_length=80)]
Hint = Annotated[StrictStr, Field(max_length=400)]
Example = Annotated[StrictStr, Field(min_length=1, max_length=1000)]
Regex = Annotated[StrictStr, AfterValidator(check_regex)]
Cron = Annotated[StrictStr, AfterValidator(check_cron)]
Branch = Annotated[StrictStr, AfterValidator(check_branch)]
# A shorter value would occur in innocent text.
Redact = Annotated[StrictStr, _whole(_REDACT, Message("wrong_redact", least=MIN_REDACT_CHARS))]
Root = Annotated[StrictStr, _whole(_ROOT, Message("wrong_root"))]
# pytest's ids may hold any character; a longer one is never kept.
TestPattern = Annotated[StrictStr, Field(max_length=300), AfterValidator(check_words)]
Day = Annotated[StrictStr, AfterValidator(check_day), Field(json_schema_extra={"format": "date"})]
Owner = Annotated[StrictStr, _whole(_OWNER, Message("wrong_owner"))]
Reason = Annotated[StrictStr, Field(max_length=200), AfterValidator(check_words)]
Issue = Annotated[int | str, PlainValidator(check_issue, json_schema_input_type=int | str)]
Count = Annotated[StrictInt, Field(ge=1, le=100_000)]
CountOrNone = Annotated[StrictInt, Field(ge=0, le=100_000)]
Minutes = Annotated[StrictInt, Field(ge=1, le=MAX_JOB_MINUTES)]
Hours = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]
