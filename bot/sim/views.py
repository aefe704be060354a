"""Texts, check runs and logs for the pages: rendered, grouped, chosen and put into words."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markupsafe import Markup

from bot.sim.model import App, CheckRun, Job, Repo, Run, State

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FOLDING = re.compile(r"&lt;(/?(?:details|summary))&gt;")


def rendered(text: str | None) -> Markup:
    """Return the HTML of a Markdown text. Links to `javascript:` and the like stay plain text."""
    return Markup(_parser().render(_COMMENT.sub("", text or "")))  # noqa: S704 - HTML is off


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("text", _text)
    return parser


def _text(_: RendererProtocol, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """Escape a text. Only the tags of a folded part come back, and never those within code."""
    return _FOLDING.sub(r"<\1>", escapeHtml(tokens[at].content))


MAX_LOG_LINES = 2000  # a browser lays these out without delay
# Several checks together look like the first of these that one of them has.
WORST = ("failure", "action_required", "running", "queued", "cancelled", "success", "neutral")
_LOOKS = {"timed_out": "failure", "in_progress": "running", "skipped": "neutral", None: "neutral"}
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MARK = re.compile(r"^##\[(\w+)\]")


@dataclass(slots=True)
class Group:
    """The check runs of one app, or of one workflow run of Actions, on a commit."""

    app: App
    title: str
    workflow_run: Run | None = None
    runs: list[CheckRun] = field(default_factory=list)


def groups(state: State, repo: Repo, sha: str) -> list[Group]:
    """Return the checks of a commit by app, the newest of each name, our app's first."""
    started = {run.suite.id: run for run in state.runs.values()}
    found = []
    for suite in state.suites.values():
        if suite.repo is repo and suite.head_sha == sha and suite.runs:
            run = started.get(suite.id)
            title = run.workflow.name if run else suite.app.slug
            newest = {one.name: one for one in suite.runs}
            found.append(Group(suite.app, title, run, list(newest.values())))
    return sorted(found, key=lambda group: group.app is not state.app)


def chosen(found: Sequence[Group], app: App | None) -> CheckRun | None:
    """Return the check run to show first: the worst one of our app."""
    runs = [run for group in found for run in group.runs]
    ours = [run for run in runs if run.suite.app is app] or runs
    return min(ours, key=lambda run: WORST.index(look(run)), default=None)


def look(one: CheckRun | Run | Job) -> str:
    """Return the icon of a check run, workflow run or job."""
    state = one.conclusion if one.status == "completed" else one.status
    found = _LOOKS.get(state, state)
    return found if found in WORST else "neutral"


def worst(found: Sequence[Group]) -> str:
    """Return the icon of all checks of a commit together; "" if there are none."""
    looks = {look(run) for group in found for run in group.runs}
    return next((one for one in WORST if one in looks), "")


def outcome(one: CheckRun | Job) -> str:
    """Return the outcome or the state of a check run or job, and how long it took, in words."""
    state = one.conclusion if one.status == "completed" else one.status
    words = {"success": "succeeded", "failure": "failed", "in_progress": "in progress"}
    found = words.get(state or "", (state or "").replace("_", " "))
    if one.started_at is None or one.completed_at is None:
        return found
    seconds = max(0, round((one.completed_at - one.started_at).total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    return f"{found} in {minutes} min {seconds} s" if minutes else f"{found} in {seconds} s"


def log_lines(job: Job) -> Iterator[tuple[str, str]]:
    """Yield the last lines of a job's log with their kind: error, warning, group or ""."""
    for line in job.log[-MAX_LOG_LINES:]:
        text = _COLOUR.sub("", _STAMP.sub("", line))
        mark = _MARK.match(text)
        kind = mark[1] if mark else ""
        if kind != "endgroup":
            yield kind, _MARK.sub("", text)
