"""REST: installations, tokens, hook deliveries, teams and levels."""

from typing import Any

from bot.sim.auth import issue_token
from bot.sim.clock import stamp
from bot.sim.deliveries import Delivery
from bot.sim.errors import not_found, refuse
from bot.sim.payloads import fields
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import app_json, installation_json, repo_json, user_json

ROUTES = Routes()


@ROUTES.on("GET", "/app", who="app")
async def _get_app(call: Call) -> Answer:
    return Answer(app_json(call.state, call.state.the_app()))


@ROUTES.on("GET", "/app/installations/{installation_id}", who="app")
async def _get_installation(call: Call) -> Answer:
    installation = call.state.installations.get(call.number("installation_id"))
    if installation is None:
        raise not_found()
    return Answer(installation_json(call.state, installation))


@ROUTES.on("POST", "/app/installations/{installation_id}/access_tokens", who="app")
async def _create_token(call: Call) -> Answer:
    installation = call.state.installations.get(call.number("installation_id"))
    if installation is None:
        raise not_found()
    if installation.suspended:
        refuse("This installation has been suspended")
    token = issue_token(call.state, installation, call.fields())
    data: dict[str, Any] = {
        "token": token.value,
        "expires_at": stamp(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": "all" if token.repository_ids is None else "selected",
    }
    return Answer(data, 201)


@ROUTES.on("GET", "/installation/repositories")
async def _installed_repos(call: Call) -> Answer:
    state = call.state
    ours = [repo for repo in state.repos.values() if state.installation_for(repo)]
    return paged(call, [repo_json(state, repo) for repo in ours], "repositories")


@ROUTES.on("GET", "/repos/{owner}/{repo}/installation", who="app")
async def _repo_installation(call: Call) -> Answer:
    found = call.state.installation_for(call.repo)
    if found is None:
        raise not_found()
    return Answer(installation_json(call.state, found))


def delivery_json(one: Delivery) -> dict[str, Any]:
    """Build a `hook-delivery-item`."""
    return {
        **fields(one, "id", "guid", "redelivery", "status", "event", "action"),
        **fields(one, "installation_id", "repository_id"),
        "delivered_at": stamp(one.delivered_at or one.created_at),
        "duration": round(one.duration_s, 2),
        "status_code": one.status_code or 0,
        "throttled_at": None,
    }


@ROUTES.on("GET", "/app/hook/deliveries", who="app")
async def _list_deliveries(call: Call) -> Answer:
    """List the newest first; `cursor` is the last id of a page."""
    shown = call.sim.deliveries.listed()
    if "cursor" in call.query:
        shown = [one for one in shown if one.id < int(call.query["cursor"])]
    size = min(int(call.query.get("per_page", "30")), 100)
    page, rest = shown[:size], shown[size:]
    headers = {}
    if rest:
        url = f"{call.state.url}{call.path}?per_page={size}&cursor={page[-1].id}"
        headers["Link"] = f'<{url}>; rel="next"'
    return Answer([delivery_json(one) for one in page], headers=headers)


@ROUTES.on("POST", "/app/hook/deliveries/{delivery_id}/attempts", who="app")
async def _redeliver(call: Call) -> Answer:
    if call.sim.deliveries.redeliver(call.number("delivery_id")) is None:
        raise not_found()
    return Answer({}, 202)


@ROUTES.on("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}", "members")
async def _team_membership(call: Call) -> Answer:
    members = call.state.teams.get((call.params["org"], call.params["team_slug"]), {})
    state = members.get(call.params["username"].lower())
    if state is None:
        raise not_found()
    url = f"{call.state.url}{call.path}"
    return Answer({"url": url, "role": "member", "state": state})


@ROUTES.on("GET", "/user/{account_id}")
async def _account(call: Call) -> Answer:
    users = [one for one in call.state.users.values() if one.id == call.number("account_id")]
    if not users:
        raise not_found()
    return Answer(user_json(call.state, users[0]))


@ROUTES.on("GET", "/users/{username}")
async def _user(call: Call) -> Answer:
    user = call.state.users.get(call.params["username"].lower())
    if user is None:
        raise not_found()
    return Answer(user_json(call.state, user))


@ROUTES.on("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission")
async def _permission(call: Call) -> Answer:
    """Show maintain as write and triage as read."""
    state, repo = call.state, call.repo
    user = state.users.get(call.params["username"].lower())
    if user is None:
        raise not_found()
    level = state.level(repo, user.login)
    shown = {"maintain": "write", "triage": "read"}.get(level, level)
    order = ("read", "triage", "write", "maintain", "admin")
    rank = order.index(level) if level in order else -1
    names = ("pull", "triage", "push", "maintain", "admin")
    flags = {name: place <= rank for place, name in enumerate(names)}
    role = repo.role_names.get(user.login.lower(), level)
    shape = user_json(state, user) | {"permissions": flags, "role_name": role}
    return Answer({"permission": shown, "role_name": role, "user": shape})
