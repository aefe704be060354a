"""Small pages for a person who watches a demo: pull requests, checks, buttons, comments."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from aiohttp import web
from markdown_it import MarkdownIt

from bot.sim.control import perform
from bot.sim.errors import CannotError, GitHubError
from bot.sim.model import CheckRun, Pull, Repo, Run

if TYPE_CHECKING:
    from bot.sim.hub import SimGitHub

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FOLDING = re.compile(r"&lt;(/?(?:details|summary))&gt;")

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1f2328;background:#fff}
a{color:#0969da;text-decoration:none}h1{font-weight:500}h1 small{color:#656d76}
.box{border:1px solid #d0d7de;border-radius:6px;margin:1rem 0;padding:.75rem 1rem}
.box>header{display:flex;gap:.6rem;align-items:center;flex-wrap:wrap}
.box>header b{flex:none}.box>header span{flex:1;color:#656d76}
table{border-collapse:collapse}td,th{border:1px solid #d0d7de;padding:.2rem .6rem;text-align:left}
code{background:#f6f8fa}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f6f8fa;padding:.6rem;border-radius:6px}
button{font:inherit;padding:.15rem .7rem;border:1px solid #d0d7de;border-radius:6px;
background:#f6f8fa;cursor:pointer}
form{display:inline}textarea{width:100%;box-sizing:border-box;font:inherit;min-height:4rem}
.dot{width:.8rem;height:.8rem;border-radius:50%;flex:none;background:#bf8700}
.success{background:#1a7f37}.failure,.timed_out{background:#cf222e}
.cancelled,.skipped,.neutral{background:#656d76}.action_required{background:#8250df}
.note{color:#656d76}
"""
# A page shows what is new, but never takes away what somebody is typing.
RELOAD = """
setInterval(()=>{const typed=[...document.querySelectorAll("textarea,input")]
.some(one=>one.value!==one.defaultValue||one===document.activeElement);
if(!typed)location.reload()},5000)
"""


def _page(title: str, body: str) -> web.Response:
    text = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
        f"<style>{STYLE}</style>{body}<script id=reload>{RELOAD}</script>"
    )
    return web.Response(text=text, content_type="text/html")


def _form(verb: str, label: str, back: str, **fields: object) -> str:
    hidden = "".join(
        f'<input type=hidden name="{key}" value="{html.escape(str(value))}">'
        for key, value in {**fields, "back": back}.items()
    )
    button = f"<button>{html.escape(label)}</button>"
    return f'<form method=post action="/_page/{verb}">{hidden}{button}</form>'


def _pre(text: str | None) -> str:
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def _markdown(text: str | None) -> str:
    """Show Markdown as GitHub does: no HTML of the text acts, but for folding."""
    made = _MARKDOWN.render(_COMMENT.sub("", text or ""))
    return _FOLDING.sub(r"<\1>", made)


class Pages:
    """Renders the pages. People act as the repository's first maintainer or writer."""

    def __init__(self, sim: SimGitHub) -> None:
        self._sim = sim

    def _repo(self, request: web.Request) -> Repo:
        name = f"{request.match_info['owner']}/{request.match_info['repo']}"
        try:
            return self._sim.state.repo(name)
        except CannotError as error:
            raise web.HTTPNotFound from error

    def _actor(self, repo: Repo) -> str:
        for wanted in ("admin", "maintain", "write"):
            for login, level in repo.levels.items():
                if level == wanted:
                    return self._sim.state.user(login).login
        return repo.owner.login

    async def home(self, _: web.Request) -> web.Response:
        """Show the repositories."""
        items = "".join(
            f'<li><a href="/{repo.full_name}">{html.escape(repo.full_name)}</a></li>'
            for repo in self._sim.state.repos.values()
            if repo.parent is None
        )
        return _page("Simulated GitHub", f"<h1>Simulated GitHub</h1><ul>{items}</ul>")

    async def repo(self, request: web.Request) -> web.Response:
        """Show a repository's pull requests and workflow runs."""
        repo = self._repo(request)
        pulls = "".join(self._pull_line(pull) for pull in self._sim.state.pulls_of(repo))
        runs = "".join(self._run_line(run) for run in reversed(self._sim.runs(repo)))
        return _page(
            repo.full_name,
            f"<h1>{html.escape(repo.full_name)}</h1><h2>Pull requests</h2>"
            f"{pulls or '<p class=note>none</p>'}<h2>Workflow runs</h2>"
            f"{runs or '<p class=note>none</p>'}",
        )

    def _pull_line(self, pull: Pull) -> str:
        href = f"/{pull.repo.full_name}/pull/{pull.number}"
        state = "draft" if pull.draft and pull.state == "open" else pull.state
        return (
            f'<div class=box><header><b><a href="{href}">#{pull.number} {html.escape(pull.title)}'
            f"</a></b><span>{state}, by {html.escape(pull.author.login)}</span></header></div>"
        )

    def _run_line(self, run: Run) -> str:
        dot = f'<i class="dot {run.conclusion or ""}"></i>'
        href = f"/{run.repo.full_name}/actions/runs/{run.id}"
        words = f"{run.conclusion or run.status}, attempt {run.attempt}"
        return (
            f'<div class=box><header>{dot}<b><a href="{href}">{html.escape(run.title)}</a></b>'
            f"<span>{words}</span></header></div>"
        )

    async def pull(self, request: web.Request) -> web.Response:
        """Show a pull request: its checks, its comments, a box to write one."""
        repo = self._repo(request)
        try:
            pull = self._sim.state.pull(int(request.match_info["number"]), repo)
        except GitHubError as error:
            raise web.HTTPNotFound from error
        checks = self._checks(pull, request.path)
        comments = "".join(
            f"<div class=box><header><b>{html.escape(one.user.login)}</b><span>"
            f"{' '.join(reaction.content for reaction in one.reactions)}</span></header>"
            f"{_markdown(one.body)}</div>"
            for one in self._sim.state.comments_of(pull)
        )
        head = (
            f"<p class=note><a href='/{repo.full_name}'>{html.escape(repo.full_name)}</a>: "
            f"{html.escape(pull.author.login)} wants to merge {html.escape(pull.head_label)} "
            f"at {pull.head_sha[:12]} into {html.escape(pull.base_ref)} ({pull.state})</p>"
        )
        title = f"<h1>{html.escape(pull.title)} <small>#{pull.number}</small></h1>"
        only_checks = request.path.endswith("/checks")
        rest = "" if only_checks else f"<h2>Comments</h2>{comments}{self._box(pull, request.path)}"
        return _page(f"#{pull.number} {pull.title}", f"{title}{head}<h2>Checks</h2>{checks}{rest}")

    def _box(self, pull: Pull, back: str) -> str:
        who = html.escape(self._actor(pull.repo))
        return (
            f'<form method=post action="/_page/comment"><input type=hidden name=pull '
            f'value="{pull.number}"><input type=hidden name=back value="{html.escape(back)}">'
            f'<p>as <input name=by value="{who}"></p><textarea name=body>/ascend-e2e status'
            "</textarea><p><button>Comment</button></p></form>"
        )

    def _checks(self, pull: Pull, back: str) -> str:
        newest: dict[tuple[int, str], CheckRun] = {}
        for run in self._sim.state.checks.values():
            if run.head_sha == pull.head_sha:
                newest[(run.suite.id, run.name)] = run
        by = self._actor(pull.repo)
        boxes = "".join(self._check(run, by, back) for run in newest.values())
        return boxes or "<p class=note>no checks yet</p>"

    def _check(self, run: CheckRun, by: str, back: str) -> str:
        buttons = ""
        if run.status == "completed" and run.suite.app is self._sim.state.app:
            buttons = _form("rerun_check", "Re-run", back, check=run.id, by=by)
            for action in run.actions:
                fields = {"check": run.id, "identifier": action["identifier"], "by": by}
                buttons += _form("press", action["label"], back, **fields)
        notes = "".join(
            f"<p class=note>{html.escape(note['path'])}:{note['start_line']} "
            f"{html.escape(note['message'])}</p>"
            for note in run.annotations
        )
        details = f"{_markdown(run.summary)}{_markdown(run.text)}{notes}"
        return (
            f'<div class=box id="check-{run.id}"><header><i class="dot {run.conclusion or ""}"></i>'
            f"<b>{html.escape(run.name)}</b><span>{html.escape(run.title or run.status)}</span>"
            f"{buttons}</header>{details}</div>"
        )

    async def check(self, request: web.Request) -> web.Response:
        """Show one check run."""
        repo = self._repo(request)
        run = self._sim.state.checks.get(int(request.match_info["number"]))
        if run is None or run.suite.repo is not repo:
            raise web.HTTPNotFound
        return _page(run.name, self._check(run, self._actor(repo), request.path))

    async def run(self, request: web.Request) -> web.Response:
        """Show a workflow run with the logs of its jobs."""
        repo = self._repo(request)
        run = self._sim.state.runs.get(int(request.match_info["number"]))
        if run is None or run.repo is not repo:
            raise web.HTTPNotFound
        jobs = "".join(
            f'<div class=box><header><i class="dot {job.conclusion or ""}"></i>'
            f"<b>{html.escape(job.name)}</b><span>attempt {job.attempt}, "
            f"{job.conclusion or job.status}, {html.escape(', '.join(job.labels))}</span></header>"
            f"{_pre(chr(10).join(job.log[-500:]))}</div>"
            for job in run.jobs
        )
        return _page(run.title, f"<h1>{html.escape(run.title)}</h1>{jobs}")

    async def act(self, request: web.Request) -> web.Response:
        """Carry out a form and go back."""
        data = {key: str(value) for key, value in (await request.post()).items()}
        back = data.pop("back", "/")
        try:
            await perform(self._sim, request.match_info["verb"], dict(data))
        except CannotError as error:
            return _page("Cannot", f"<p>{html.escape(str(error))}</p>")
        raise web.HTTPSeeOther(back if back.startswith("/") else "/")


def add_routes(app: web.Application, sim: SimGitHub) -> None:
    """Serve the pages, and JSON 404s for whatever the simulation does not have."""
    pages = Pages(sim)
    app.router.add_get("/", pages.home)
    app.router.add_post("/_page/{verb}", pages.act)
    app.router.add_get("/{owner}/{repo}/pull/{number:\\d+}", pages.pull)
    app.router.add_get("/{owner}/{repo}/pull/{number:\\d+}/checks", pages.pull)
    app.router.add_get("/{owner}/{repo}/runs/{number:\\d+}", pages.check)
    app.router.add_get("/{owner}/{repo}/actions/runs/{number:\\d+}", pages.run)
    app.router.add_get("/{owner}/{repo}/actions/runs/{number:\\d+}/job/{job}", pages.run)
    app.router.add_get("/{owner}/{repo}", pages.repo)

    async def unknown(request: web.Request) -> web.Response:
        message = f"Not Found (the simulation has no {request.method} {request.path})"
        return web.json_response({"message": message, "status": "404"}, status=404)

    app.router.add_route("*", "/{tail:.*}", unknown)
