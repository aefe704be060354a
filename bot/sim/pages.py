"""Pages that look like GitHub's, for people who watch the demo and take part in it."""

import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.sim.errors import CannotError, GitHubError
from bot.sim.model import CheckRun, Pull, Repo, User
from bot.sim.simulation import Simulation
from bot.sim.views import chosen, groups, log_lines, look, outcome, rendered, worst

HERE = Path(__file__).parent
ACTOR = "sim_actor"  # the cookie with the login of the person who acts
# Texts of pull requests come from anybody. Even if one got past the escaping, nothing would run.
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
POLICY += "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

Deed = Callable[[Simulation, dict[str, str], User], object]


@cache
def templates() -> Environment:
    """Return the templates. They escape every text."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"markdown": rendered, "log": log_lines, "look": look, "outcome": outcome}
    return made


class Pages:
    """Renders the pages and carries out their forms."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim

    def _show(self, request: web.Request, name: str, **values: Any) -> web.Response:
        """Render a page, or with `?part=live` only the part that the script replaces."""
        template = templates().get_template(name)
        values |= {"path": request.path, "people": self._people(), "actor": self._actor(request)}
        if request.query.get("part") == "live":
            text = "".join(template.blocks["live"](template.new_context(values)))
        else:
            text = template.render(values)
        tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        return web.Response(text=text, content_type="text/html", headers=headers)

    def _people(self) -> list[tuple[str, str]]:
        """Return people with their levels, those with the most permissions first."""
        state = self._sim.state
        repo = next(iter(state.repos.values()), None)
        owner = state.app.owner if state.app else None
        users = [user for user in state.users.values() if user.type == "User" and user is not owner]
        found = [(user.login, state.level(repo, user.login) if repo else "") for user in users]
        order = ("admin", "maintain", "write", "triage")
        ranks = {level: rank for rank, level in enumerate(order)}
        return sorted(found, key=lambda one: ranks.get(one[1], len(order)))

    def _actor(self, request: web.Request) -> str:
        """Return the login that the person acts with: the chosen one, at first a maintainer's."""
        logins = [login for login, _ in self._people()]
        wanted = request.cookies.get(ACTOR, "")
        return wanted if wanted in logins else next(iter(logins), "")

    def _repo(self, request: web.Request) -> Repo:
        name = f"{request.match_info['owner']}/{request.match_info['repo']}"
        try:
            return self._sim.state.repo(name)
        except CannotError as error:
            raise web.HTTPNotFound from error

    def _pull(self, request: web.Request) -> Pull:
        try:
            number = int(request.match_info["number"])
            return self._sim.state.pull(number, self._repo(request))
        except GitHubError as error:
            raise web.HTTPNotFound from error

    async def home(self, request: web.Request) -> web.Response:
        """Show the repositories."""
        repos = [repo for repo in self._sim.state.repos.values() if repo.parent is None]
        return self._show(request, "home.html", repos=repos)

    async def repo(self, request: web.Request) -> web.Response:
        """Show a repository's pull requests and workflow runs."""
        repo, state = self._repo(request), self._sim.state
        pulls = [(pull, worst(groups(state, repo, pull.head_sha))) for pull in state.pulls_of(repo)]
        runs = list(reversed(self._sim.runs(repo)))
        return self._show(request, "repo.html", repo=repo, pulls=pulls, runs=runs)

    async def pull(self, request: web.Request) -> web.Response:
        """Show a pull request's conversation, with the state of its checks at the end."""
        pull, state = self._pull(request), self._sim.state
        return self._show(
            request,
            "pull.html",
            repo=pull.repo,
            pull=pull,
            comments=state.comments_of(pull),
            groups=groups(state, pull.repo, pull.head_sha),
        )

    async def checks(self, request: web.Request) -> web.Response:
        """Show a pull request's checks tab: `?check_run_id=` selects one, `?sha=` a commit."""
        pull, state = self._pull(request), self._sim.state
        selected = state.checks.get(int(request.query.get("check_run_id") or 0))
        if selected is not None and selected.suite.repo is not pull.repo:
            raise web.HTTPNotFound
        sha = selected.head_sha if selected else request.query.get("sha", pull.head_sha)
        return self._checks(request, pull.repo, sha, selected, pull)

    async def check(self, request: web.Request) -> web.Response:
        """Show one check run, within the checks tab of its commit."""
        repo, state = self._repo(request), self._sim.state
        run = state.checks.get(int(request.match_info["number"]))
        if run is None or run.suite.repo is not repo:
            raise web.HTTPNotFound
        at = [pull for pull in state.pulls_of(repo) if run.head_sha in _commits(pull)]
        return self._checks(request, repo, run.head_sha, run, at[0] if at else None)

    def _checks(
        self,
        request: web.Request,
        repo: Repo,
        sha: str,
        selected: CheckRun | None,
        pull: Pull | None,
    ) -> web.Response:
        found = groups(self._sim.state, repo, sha)
        run = selected or chosen(found, self._sim.state.app)
        others = run.suite.runs if run else ()
        return self._show(
            request,
            "checks.html",
            repo=repo,
            pull=pull,
            commits=_commits(pull) if pull else [sha],
            sha=sha,
            groups=found,
            run=run,
            newer=next((o for o in others if run and o.name == run.name and o.id > run.id), None),
            ours=run is not None and run.suite.app is self._sim.state.app,
        )

    async def run(self, request: web.Request) -> web.Response:
        """Show a workflow run: its jobs, and the log of one."""
        repo = self._repo(request)
        run = self._sim.state.runs.get(int(request.match_info["number"]))
        if run is None or run.repo is not repo:
            raise web.HTTPNotFound
        wanted = request.match_info.get("job", "")
        jobs = run.latest()
        job = next((one for one in run.jobs if str(one.id) == wanted), jobs[0] if jobs else None)
        return self._show(request, "run.html", repo=repo, run=run, jobs=jobs, job=job)

    async def act(self, request: web.Request) -> web.Response:
        """Carry out a form and go back to the page that it was on."""
        if request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
            raise web.HTTPForbidden(text="This form comes from another site.")
        data = {key: str(value) for key, value in (await request.post()).items()}
        deed = DEEDS.get(request.match_info["deed"])
        if deed is None:
            raise web.HTTPNotFound
        try:
            deed(self._sim, data, self._sim.state.user(self._actor(request)))
        except (CannotError, GitHubError) as error:
            return web.Response(status=400, text=str(error))
        except (KeyError, ValueError) as error:
            return web.Response(status=400, text=f"The form lacks {error}.")
        raise _back(data)

    async def choose(self, request: web.Request) -> web.Response:
        """Remember the login that the person acts with from now on."""
        data = {key: str(value) for key, value in (await request.post()).items()}
        answer = _back(data)
        answer.set_cookie(ACTOR, data.get("by", ""), samesite="Strict")
        raise answer


def _back(data: dict[str, str]) -> web.HTTPSeeOther:
    back = data.get("back", "/")
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
    return web.HTTPSeeOther(back if is_ours else "/")


def _commits(pull: Pull) -> list[str]:
    """Return the commits of a pull request, newest first. A replaced head is not one of them."""
    return pull.repo.git.between(pull.base_sha, pull.head_sha)[::-1] or [pull.head_sha]


def _comment(sim: Simulation, data: dict[str, str], by: User) -> None:
    pull = sim.pull(int(data["pull"]), data["repo"])
    if not data["body"].strip():
        raise CannotError("A comment needs a text.")
    sim.people.comment(pull, by.login, data["body"].replace("\r\n", "\n"))


DEEDS: dict[str, Deed] = {
    "comment": _comment,
    "press": lambda sim, data, by: sim.people.press(
        int(data["check"]), data["identifier"], by.login
    ),
    "rerun": lambda sim, data, by: sim.people.rerun_check(int(data["check"]), by.login),
    "rerun-all": lambda sim, data, by: sim.people.rerun_suite(int(data["check"]), by.login),
    "rerun-jobs": lambda sim, data, by: sim.people.rerun_actions(
        int(data["run"]), by.login, failed_only=bool(data.get("failed_only"))
    ),
}


def add_routes(app: web.Application, sim: Simulation) -> None:
    """Serve the pages, and a JSON 404 for every other path."""
    pages = Pages(sim)
    routes: list[tuple[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = [
        ("/", pages.home),
        ("/{owner}/{repo}/pull/{number:\\d+}", pages.pull),
        ("/{owner}/{repo}/pull/{number:\\d+}/checks", pages.checks),
        ("/{owner}/{repo}/runs/{number:\\d+}", pages.check),
        ("/{owner}/{repo}/actions/runs/{number:\\d+}", pages.run),
        ("/{owner}/{repo}/actions/runs/{number:\\d+}/job/{job}", pages.run),
    ]
    app.router.add_static("/_static", HERE / "static")
    app.router.add_post("/_page/as", pages.choose)
    app.router.add_post("/_page/{deed}", pages.act)
    for path, handler in routes:
        app.router.add_get(path, handler)
    app.router.add_get("/{owner}/{repo}", pages.repo)

    async def unknown(request: web.Request) -> web.Response:
        message = f"Not Found (the simulation has no {request.method} {request.path})"
        return web.json_response({"message": message, "status": "404"}, status=404)

    app.router.add_route("*", "/{tail:.*}", unknown)
