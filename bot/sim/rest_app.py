"""REST: the app itself, installations, tokens, hook deliveries, the rate limit, organisations."""

from typing import Any

from bot.sim.auth import issue_token
from bot.sim.clock import stamp
from bot.sim.deliveries import Delivery
from bot.sim.errors import not_found, refuse
from bot.sim.model import Installation
from bot.sim.payloads import fields
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import app_json, installation_json, user_json

ROUTES = Routes()


@ROUTES.on("GET", "/app", who="app")
async def _get_app(call: Call) -> Answer:
    return Answer(app_json(call.state, call.state.the_app()))


@ROUTES.on("GET", "/app/installations", who="app")
async def _list_installations(call: Call) -> Answer:
    state = call.state
    return paged(call, [installation_json(state, one) for one in state.installations.values()])


def _installation(call: Call) -> Installation:
    found = call.state.installations.get(call.number("installation_id"))
    if found is None:
        raise not_found()
    return found


@ROUTES.on("GET", "/app/installations/{installation_id}", who="app")
async def _get_installation(call: Call) -> Answer:
    return Answer(installation_json(call.state, _installation(call)))


@ROUTES.on("POST", "/app/installations/{installation_id}/access_tokens", who="app")
async def _create_token(call: Call) -> Answer:
    installation = _installation(call)
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


@ROUTES.on("GET", "/repos/{owner}/{repo}/installation", who="app")
async def _repo_installation(call: Call) -> Answer:
    found = call.state.installation_for(call.repo)
    if found is None:
        raise not_found()
    return Answer(installation_json(call.state, found))


def delivery_json(one: Delivery, *, full: bool = False) -> dict[str, Any]:
    """Build a `hook-delivery-item`, or the whole `hook-delivery` with its payload."""
    data: dict[str, Any] = {
        **fields(one, "id", "guid", "redelivery", "status", "event", "action"),
        **fields(one, "installation_id", "repository_id"),
        "delivered_at": stamp(one.delivered_at or one.created_at),
        "duration": round(one.duration_s, 2),
        "status_code": one.status_code or 0,
        "throttled_at": None,
    }
    if full:
        data["request"] = {"headers": one.request_headers, "payload": one.payload()}
        data["response"] = {"headers": {}, "payload": one.response_body}
    return data


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


@ROUTES.on("GET", "/app/hook/deliveries/{delivery_id}", who="app")
async def _get_delivery(call: Call) -> Answer:
    for one in call.sim.deliveries.listed():
        if one.id == call.number("delivery_id"):
            return Answer(delivery_json(one, full=True))
    raise not_found()


@ROUTES.on("POST", "/app/hook/deliveries/{delivery_id}/attempts", who="app")
async def _redeliver(call: Call) -> Answer:
    if call.sim.deliveries.redeliver(call.number("delivery_id")) is None:
        raise not_found()
    return Answer({}, 202)


@ROUTES.on("GET", "/app/hook/config", who="app")
@ROUTES.on("PATCH", "/app/hook/config", who="app")
async def _hook_config(call: Call) -> Answer:
    app = call.state.the_app()
    body = call.fields()
    if "url" in body:
        app.webhook_url = str(body["url"])
    if body.get("secret"):
        app.secret = str(body["secret"])
    config = {"content_type": "json", "insecure_ssl": "0", "secret": "********"}
    return Answer(config | {"url": app.webhook_url or ""})


@ROUTES.on("GET", "/rate_limit")
async def _rate_limit(call: Call) -> Answer:
    """Leave out the `rate` that newer versions dropped."""
    assert call.token is not None
    window = call.sim.limit.window(call.token.installation.id)
    limit = call.sim.limit.per_hour
    core = {
        "limit": limit,
        "used": window.used,
        "remaining": max(0, limit - window.used),
        "reset": int(window.reset_at.timestamp()),
    }
    search = {"limit": 30, "used": 0, "remaining": 30, "reset": core["reset"]}
    return Answer({"resources": {"core": core, "search": search}})


@ROUTES.on("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}", "members")
async def _team_membership(call: Call) -> Answer:
    members = call.state.teams.get((call.params["org"], call.params["team_slug"]), {})
    state = members.get(call.params["username"].lower())
    if state is None:
        raise not_found()
    url = f"{call.state.url}{call.path}"
    return Answer({"url": url, "role": "member", "state": state})


@ROUTES.on("GET", "/orgs/{org}/members/{username}")
async def _org_member(call: Call) -> Answer:
    """Answer 204 or 404, and 302 when members are hidden."""
    org, user = call.params["org"], call.params["username"]
    assert call.token is not None
    if "members" not in call.token.permissions:
        url = f"{call.state.url}/orgs/{org}/public_members/{user}"
        return Answer(None, 302, {"Location": url})
    if user.lower() not in call.state.members.get(org, set()):
        raise not_found()
    return Answer(None, 204)


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
