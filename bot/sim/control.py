"""The control API under `/_sim/`: the same deeds for another process, as JSON over HTTP.

`POST /_sim/<verb>` with a JSON object of arguments answers 200 with what came of it, 400 with
`{"error": …}` when it cannot be done. `pull` is a number, `check` and `run` are ids, `repo`
is `owner/name` (default: the first repository).

| verb | arguments | answer |
|---|---|---|
| user | login, level?, role?, repo? | {login, id} |
| install | owner | {id} |
| app | webhook_url?, secret? | {id}; sets the hook of the app |
| open_pull | author, files {path: text/null}, title? body? branch? base? fork? draft? | pull |
| push | pull, files, by?, message? | {sha} |
| force_push | pull, sha? or files?, by? | {sha} |
| close, reopen, draft, ready, delete_fork | pull, by? | pull |
| merge | pull, by | {sha} |
| retarget / edit_title / label | pull, base / title / name, by? | pull |
| comment | pull, by, body | {id} |
| edit_comment / delete_comment | comment, by, body | {} |
| push_branch | by, files, branch? | {sha} |
| rerun_check / rerun_suite | check, by | {} |
| press | check, identifier, by | {} |
| rerun_actions | run, by, failed_only? | {id, attempt} |
| cancel_run | run, force? | {} |
| native | pull, workflow, by? | {id, attempt} |
| merge_group / destroy_group | pull, by / group, by, reason? | group / {} |
| runner | label, slots | {} |
| vars / secrets | values {name: text} | {} |
| fault | kind, method?, path?, times?, skip?, retry_after_s? | {} |
| deliveries | do: hold, release, flush, drop, duplicate, shuffle; count?, seed? | {pending} |
| expire_tokens | | {} |

`GET /_sim/state` answers everything to look at: `{"pulls", "check_runs", "comments", "dispatches",
"runs", "deliveries", "calls", "problems"}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot.sim.clock import stamp
from bot.sim.errors import CannotError, GitHubError
from bot.sim.git import GitFailedError
from bot.sim.model import CheckRun, Comment, Pull, Run
from bot.sim.people import NewPull

if TYPE_CHECKING:
    from bot.sim.hub import SimGitHub

Json = dict[str, Any]
Verb = Callable[["SimGitHub", Json], Any]


def _pull(pull: Pull) -> Json:
    return {
        "number": pull.number,
        "state": pull.state,
        "draft": pull.draft,
        "title": pull.title,
        "head_sha": pull.head_sha,
        "head_ref": pull.head_ref,
        "base_ref": pull.base_ref,
        "merged": pull.merged_at is not None,
        "fork": pull.is_fork,
        "author": pull.author.login,
    }


def _check(run: CheckRun) -> Json:
    return {
        "id": run.id,
        "name": run.name,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "status": run.status,
        "conclusion": run.conclusion,
        "title": run.title,
        "summary": run.summary,
        "text": run.text,
        "annotations": len(run.annotations),
        "actions": [action["identifier"] for action in run.actions],
    }


def _run(run: Run) -> Json:
    return {
        "id": run.id,
        "attempt": run.attempt,
        "workflow": run.workflow.path,
        "event": run.event,
        "title": run.title,
        "inputs": run.inputs,
        "status": run.status,
        "conclusion": run.conclusion,
        "head_sha": run.head_sha,
        "created_at": stamp(run.created_at),
        "jobs": [
            {"id": job.id, "key": job.key, "status": job.status, "conclusion": job.conclusion}
            for job in run.jobs
        ],
    }


def look(sim: SimGitHub) -> Json:
    """Answer everything a demo or a test wants to see."""
    state = sim.state
    runs = [_run(run) for run in state.runs.values()]
    comments = [
        {
            "id": one.id,
            "pull": one.pull.number,
            "user": one.user.login,
            "body": one.body,
            "reactions": [reaction.content for reaction in one.reactions],
        }
        for one in state.comments.values()
    ]
    return {
        "pulls": [_pull(pull) for pull in state.pulls.values()],
        "check_runs": [_check(run) for run in sim.check_runs()],
        "comments": comments,
        "dispatches": [run for run in runs if run["event"] == "workflow_dispatch"],
        "runs": runs,
        "deliveries": {
            "pending": len(sim.deliveries.pending),
            "sent": len(sim.deliveries.sent),
            "failed": sum(1 for one in sim.deliveries.sent if one.status != "OK"),
        },
        "calls": dict(sim.calls.by_route()),
        "problems": sim.all_problems(),
    }


def _user(sim: SimGitHub, data: Json) -> Json:
    login, level = data["login"], data.get("level")
    user = sim.user(login)
    if level:
        sim.grant(login, level, data.get("repo"), role=data.get("role"))
    return {"login": user.login, "id": user.id}


def _app(sim: SimGitHub, data: Json) -> Json:
    app = sim.state.the_app()
    app.webhook_url = data.get("webhook_url", app.webhook_url)
    app.secret = data.get("secret", app.secret)
    return {"id": app.id}


def _open_pull(sim: SimGitHub, data: Json) -> Json:
    keys = ("title", "body", "branch", "base", "fork", "draft")
    new = NewPull(**{key: data[key] for key in keys if key in data})
    return _pull(sim.people.open_pull(data["author"], data["files"], new, data.get("repo")))


def _the(sim: SimGitHub, data: Json) -> Pull:
    return sim.pull(int(data["pull"]), data.get("repo"))


def _comment(sim: SimGitHub, data: Json) -> Comment:
    found = sim.state.comments.get(int(data["comment"]))
    if found is None:
        message = f"no comment {data['comment']}"
        raise CannotError(message)
    return found


def _found_run(sim: SimGitHub, data: Json) -> Run:
    found = sim.state.runs.get(int(data["run"]))
    if found is None:
        message = f"no run {data['run']}"
        raise CannotError(message)
    return found


def _push(sim: SimGitHub, data: Json) -> Json:
    message = data.get("message", "More")
    sha = sim.people.push(_the(sim, data), data["files"], by=data.get("by"), message=message)
    return {"sha": sha}


def _force_push(sim: SimGitHub, data: Json) -> Json:
    files, by = data.get("files"), data.get("by", "")
    return {"sha": sim.people.force_push(_the(sim, data), data.get("sha"), files=files, by=by)}


def _edit_comment(sim: SimGitHub, data: Json) -> Json:
    sim.people.edit_comment(_comment(sim, data), data["body"], data["by"])
    return {}


def _delete_comment(sim: SimGitHub, data: Json) -> Json:
    sim.people.delete_comment(_comment(sim, data), data["by"])
    return {}


def _delete_fork(sim: SimGitHub, data: Json) -> Json:
    pull = _the(sim, data)
    sim.people.delete_fork(pull)
    return _pull(pull)


def _rerun_actions(sim: SimGitHub, data: Json) -> Json:
    run, only = _found_run(sim, data), bool(data.get("failed_only", False))
    return _run(sim.people.rerun_actions(run, data["by"], failed_only=only))


def _cancel(sim: SimGitHub, data: Json) -> Json:
    sim.actions.cancel(_found_run(sim, data), force=bool(data.get("force", False)))
    return {}


def _native(sim: SimGitHub, data: Json) -> Json:
    by = sim.user(data["by"]) if "by" in data else None
    return _run(sim.actions.native(_the(sim, data), data["workflow"], by))


def _destroy_group(sim: SimGitHub, data: Json) -> Json:
    sim.people.destroy_group(data["group"], data["by"], data.get("reason", "dequeued"))
    return {}


def _expire(sim: SimGitHub, _: Json) -> Json:
    sim.expire_tokens()
    return {}


def _rerun_check(sim: SimGitHub, data: Json) -> Json:
    sim.people.rerun_check(int(data["check"]), data["by"])
    return {}


def _rerun_suite(sim: SimGitHub, data: Json) -> Json:
    sim.people.rerun_suite(int(data["check"]), data["by"])
    return {}


def _press(sim: SimGitHub, data: Json) -> Json:
    sim.people.press(int(data["check"]), data["identifier"], data["by"])
    return {}


def _runner(sim: SimGitHub, data: Json) -> Json:
    sim.actions.runners.register(data["label"], int(data["slots"]))
    return {}


def _set_values(sim: SimGitHub, data: Json, kind: str) -> Json:
    repo = sim.state.repo(data.get("repo"))
    (repo.vars if kind == "vars" else repo.secrets).update(data["values"])
    return {}


def _fault(sim: SimGitHub, data: Json) -> Json:
    sim.fault(**data)
    return {}


async def _deliveries(sim: SimGitHub, data: Json) -> Json:
    queue, count = sim.deliveries, int(data.get("count", 1))
    match data["do"]:
        case "hold":
            queue.hold()
        case "release":
            queue.release()
        case "flush":
            await queue.flush()
        case "drop":
            queue.drop(count)
        case "duplicate":
            queue.duplicate(count)
        case "shuffle":
            queue.shuffle(int(data.get("seed", 0)))
        case other:
            message = f"deliveries cannot {other!r}"
            raise CannotError(message)
    return {"pending": len(queue.pending)}


VERBS: dict[str, Verb] = {
    "user": _user,
    "app": _app,
    "install": lambda sim, data: {"id": sim.install(data["owner"]).id},
    "open_pull": _open_pull,
    "push": _push,
    "force_push": _force_push,
    "close": lambda sim, data: _pull(sim.people.close(_the(sim, data), data.get("by", ""))),
    "reopen": lambda sim, data: _pull(sim.people.reopen(_the(sim, data), data.get("by", ""))),
    "draft": lambda sim, data: _pull(sim.people.draft(_the(sim, data), data.get("by", ""))),
    "ready": lambda sim, data: _pull(sim.people.ready(_the(sim, data), data.get("by", ""))),
    "merge": lambda sim, data: {"sha": sim.people.merge(_the(sim, data), data["by"])},
    "delete_fork": _delete_fork,
    "retarget": lambda sim, data: _pull(
        sim.people.retarget(_the(sim, data), data["base"], data.get("by", ""))
    ),
    "edit_title": lambda sim, data: _pull(
        sim.people.edit_title(_the(sim, data), data["title"], data.get("by", ""))
    ),
    "label": lambda sim, data: _pull(
        sim.people.label(_the(sim, data), data["name"], data.get("by", ""))
    ),
    "comment": lambda sim, data: {
        "id": sim.people.comment(_the(sim, data), data["by"], data["body"]).id
    },
    "edit_comment": _edit_comment,
    "delete_comment": _delete_comment,
    "push_branch": lambda sim, data: {
        "sha": sim.people.push_branch(data["by"], data["files"], data.get("branch"))
    },
    "rerun_check": _rerun_check,
    "rerun_suite": _rerun_suite,
    "press": _press,
    "rerun_actions": _rerun_actions,
    "cancel_run": _cancel,
    "native": _native,
    "merge_group": lambda sim, data: sim.people.merge_group(_the(sim, data), data["by"]),
    "destroy_group": _destroy_group,
    "runner": _runner,
    "vars": lambda sim, data: _set_values(sim, data, "vars"),
    "secrets": lambda sim, data: _set_values(sim, data, "secrets"),
    "fault": _fault,
    "deliveries": _deliveries,
    "expire_tokens": _expire,
}


async def perform(sim: SimGitHub, verb: str, data: Json) -> Any:
    """Do a deed by name; raises `CannotError` for what cannot be done."""
    deed = VERBS.get(verb)
    if deed is None:
        message = f"unknown deed {verb!r}; known: {', '.join(VERBS)}"
        raise CannotError(message)
    try:
        result = deed(sim, data)
        return await result if isinstance(result, Awaitable) else result
    except (GitHubError, GitFailedError, ValueError) as error:
        raise CannotError(str(error)) from error
    except KeyError as error:
        message = f"{verb}: {error} is missing or unknown"
        raise CannotError(message) from error


def add_routes(app: web.Application, sim: SimGitHub) -> None:
    """Serve the control API."""

    async def state(_: web.Request) -> web.Response:
        return web.json_response(look(sim))

    async def deed(request: web.Request) -> web.Response:
        data = await request.json() if request.can_read_body else {}
        try:
            result = await perform(sim, request.match_info["verb"], data)
        except CannotError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response(result)

    app.router.add_get("/_sim/state", state)
    app.router.add_post("/_sim/{verb}", deed)
