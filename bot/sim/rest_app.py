"""REST: the app itself, installations, tokens, hook deliveries, the rate limit, organisations."""

from __future__ import annotations

from typing import Any

from bot.sim.auth import issue_token
from bot.sim.clock import stamp
from bot.sim.deliveries import Delivery
from bot.sim.errors import not_found, refuse
from bot.sim.model import Installation
from bot.sim.route import Answer, Call, Route, paged
from bot.sim.shapes import app_json, installation_json, repo_json, user_json


async def get_app(call: Call) -> Answer:
    """Answer `GET /app`."""
    return Answer(app_json(call.sim.state, call.sim.state.the_app()))


async def list_installations(call: Call) -> Answer:
    """Answer `GET /app/installations`."""
    state = call.sim.state
    return paged(call, [installation_json(state, one) for one in state.installations.values()])


def _installation(call: Call) -> Installation:
    found = call.sim.state.installations.get(call.number("installation_id"))
    if found is None:
        raise not_found()
    return found


async def get_installation(call: Call) -> Answer:
    """Answer `GET /app/installations/{id}`."""
    return Answer(installation_json(call.sim.state, _installation(call)))


async def create_token(call: Call) -> Answer:
    """Answer `POST /app/installations/{id}/access_tokens`."""
    installation = _installation(call)
    if installation.suspended:
        refuse("This installation has been suspended")
    token = issue_token(call.sim.state, installation, call.fields())
    data: dict[str, Any] = {
        "token": token.value,
        "expires_at": stamp(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": "all" if token.repository_ids is None else "selected",
    }
    return Answer(data, 201)


async def repo_installation(call: Call) -> Answer:
    """Answer `GET /repos/{owner}/{repo}/installation`."""
    found = call.sim.state.installation_for(call.repo)
    if found is None:
        raise not_found()
    return Answer(installation_json(call.sim.state, found))


async def installation_repos(call: Call) -> Answer:
    """Answer `GET /installation/repositories`."""
    assert call.token is not None
    account = call.token.installation.account
    repos = [
        repo_json(call.sim.state, repo)
        for repo in call.sim.state.repos.values()
        if repo.owner is account and repo.parent is None
    ]
    return paged(call, repos, "repositories")


def delivery_json(one: Delivery, *, full: bool = False) -> dict[str, Any]:
    """Build a `hook-delivery-item`, or the whole `hook-delivery` with its payload."""
    data: dict[str, Any] = {
        "id": one.id,
        "guid": one.guid,
        "delivered_at": stamp(one.delivered_at or one.created_at),
        "redelivery": one.redelivery,
        "duration": round(one.duration_s, 2),
        "status": one.status,
        "status_code": one.status_code or 0,
        "event": one.event,
        "action": one.action,
        "installation_id": one.installation_id,
        "repository_id": one.repository_id,
        "throttled_at": None,
    }
    if full:
        data["request"] = {"headers": one.request_headers, "payload": one.payload()}
        data["response"] = {"headers": {}, "payload": one.response_body}
    return data


async def list_deliveries(call: Call) -> Answer:
    """Answer `GET /app/hook/deliveries`, newest first; `cursor` is the last id of a page."""
    shown = call.sim.deliveries.listed()
    if "cursor" in call.query:
        shown = [one for one in shown if one.id < int(call.query["cursor"])]
    size = min(int(call.query.get("per_page", "30")), 100)
    page, rest = shown[:size], shown[size:]
    headers = {}
    if rest:
        url = f"{call.sim.state.url}{call.path}?per_page={size}&cursor={page[-1].id}"
        headers["Link"] = f'<{url}>; rel="next"'
    return Answer([delivery_json(one) for one in page], headers=headers)


async def get_delivery(call: Call) -> Answer:
    """Answer `GET /app/hook/deliveries/{id}`."""
    for one in call.sim.deliveries.listed():
        if one.id == call.number("delivery_id"):
            return Answer(delivery_json(one, full=True))
    raise not_found()


async def redeliver(call: Call) -> Answer:
    """Answer `POST /app/hook/deliveries/{id}/attempts`."""
    if call.sim.deliveries.redeliver(call.number("delivery_id")) is None:
        raise not_found()
    return Answer({}, 202)


async def hook_config(call: Call) -> Answer:
    """Answer `GET` and `PATCH /app/hook/config`."""
    app = call.sim.state.the_app()
    body = call.fields()
    if "url" in body:
        app.webhook_url = str(body["url"])
    if body.get("secret"):
        app.secret = str(body["secret"])
    config = {"content_type": "json", "insecure_ssl": "0", "secret": "********"}
    return Answer(config | {"url": app.webhook_url or ""})


async def rate_limit(call: Call) -> Answer:
    """Answer `GET /rate_limit`, without the `rate` that newer versions dropped."""
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


async def meta(call: Call) -> Answer:
    """Answer `GET /meta`."""
    return Answer({"verifiable_password_authentication": False, "hooks": ["127.0.0.0/8"]})


async def team_membership(call: Call) -> Answer:
    """Answer `GET /orgs/{org}/teams/{team_slug}/memberships/{username}`."""
    members = call.sim.state.teams.get((call.params["org"], call.params["team_slug"]), {})
    state = members.get(call.params["username"].lower())
    if state is None:
        raise not_found()
    url = f"{call.sim.state.url}{call.path}"
    return Answer({"url": url, "role": "member", "state": state})


async def org_member(call: Call) -> Answer:
    """Answer `GET /orgs/{org}/members/{username}`: 204 or 404, 302 when members are hidden."""
    org, user = call.params["org"], call.params["username"]
    assert call.token is not None
    if "members" not in call.token.permissions:
        url = f"{call.sim.state.url}/orgs/{org}/public_members/{user}"
        return Answer(None, 302, {"Location": url})
    if user.lower() not in call.sim.state.members.get(org, set()):
        raise not_found()
    return Answer(None, 204)


async def permission(call: Call) -> Answer:
    """Answer `GET …/collaborators/{user}/permission`: maintain is write, triage is read."""
    state, repo = call.sim.state, call.repo
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


async def me(call: Call) -> Answer:
    """Answer `GET /user`, which installation tokens may not ask."""
    raise not_found()


ROUTES = [
    Route("GET", "/app", get_app, who="app"),
    Route("GET", "/app/installations", list_installations, who="app"),
    Route("GET", "/app/installations/{installation_id}", get_installation, who="app"),
    Route("POST", "/app/installations/{installation_id}/access_tokens", create_token, who="app"),
    Route("GET", "/app/hook/config", hook_config, who="app"),
    Route("PATCH", "/app/hook/config", hook_config, who="app"),
    Route("GET", "/app/hook/deliveries", list_deliveries, who="app"),
    Route("GET", "/app/hook/deliveries/{delivery_id}", get_delivery, who="app"),
    Route("POST", "/app/hook/deliveries/{delivery_id}/attempts", redeliver, who="app"),
    Route("GET", "/repos/{owner}/{repo}/installation", repo_installation, who="app"),
    Route("GET", "/installation/repositories", installation_repos),
    Route("GET", "/rate_limit", rate_limit),
    Route("GET", "/meta", meta, who="any"),
    Route("GET", "/user", me),
    Route(
        "GET",
        "/orgs/{org}/teams/{team_slug}/memberships/{username}",
        team_membership,
        "members",
    ),
    Route("GET", "/orgs/{org}/members/{username}", org_member),
    Route("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", permission),
]
