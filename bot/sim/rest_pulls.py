"""REST: pull requests, comments, reactions, labels."""

from __future__ import annotations

from bot.sim.errors import GitHubError, not_found, refuse
from bot.sim.model import Comment, Pull, Reaction
from bot.sim.route import Answer, Call, Route, paged
from bot.sim.shapes_pulls import (
    EMOJI,
    comment_json,
    commit_json,
    file_json,
    issue_json,
    label_json,
    pull_json,
    pull_simple,
    reaction_json,
)

MAX_FILES = 3000  # the listing stops there, whatever `changed_files` says
MAX_COMMENT = 65_536


def _pull(call: Call, name: str = "pull_number") -> Pull:
    return call.sim.state.pull(call.number(name), call.repo)


async def list_pulls(call: Call) -> Answer:
    """Answer `GET …/pulls` with its filters `state`, `head` (owner:branch) and `base`."""
    query = call.query
    pulls = call.sim.state.pulls_of(call.repo)
    if (state := query.get("state", "open")) != "all":
        pulls = [pull for pull in pulls if pull.state == state]
    if "head" in query:
        pulls = [pull for pull in pulls if pull.head_label == query["head"]]
    if "base" in query:
        pulls = [pull for pull in pulls if pull.base_ref == query["base"]]
    if query.get("direction") == "asc":
        pulls.reverse()
    return paged(call, [pull_simple(call.sim.state, pull) for pull in pulls])


async def get_pull(call: Call) -> Answer:
    """Answer `GET …/pulls/{n}`."""
    return Answer(pull_json(call.sim.state, _pull(call)))


async def files(call: Call) -> Answer:
    """Answer `GET …/pulls/{n}/files`: at most 3,000 whatever the pages."""
    pull = _pull(call)
    changed = pull.repo.git.changes(pull.base_sha, pull.head_sha)[:MAX_FILES]
    return paged(
        call, [file_json(call.sim.state, pull.repo, pull.head_sha, file) for file in changed]
    )


async def pull_commits(call: Call) -> Answer:
    """Answer `GET …/pulls/{n}/commits`."""
    pull = _pull(call)
    git = pull.repo.git
    shas = git.between(pull.base_sha, pull.head_sha)
    return paged(call, [commit_json(call.sim.state, pull.repo, git.info(sha)) for sha in shas])


async def commit_pulls(call: Call) -> Answer:
    """Answer `GET …/commits/{sha}/pulls`: nothing for a fork's commit."""
    found = [
        pull_simple(call.sim.state, pull)
        for pull in call.sim.state.pulls_of(call.repo)
        if pull.head_sha == call.params["commit_sha"] and not pull.is_fork
    ]
    return paged(call, found)


async def get_issue(call: Call) -> Answer:
    """Answer `GET …/issues/{n}` of a pull request."""
    return Answer(issue_json(call.sim.state, _pull(call, "issue_number")))


async def list_comments(call: Call) -> Answer:
    """Answer `GET …/issues/{n}/comments`, ascending by id."""
    pull = _pull(call, "issue_number")
    state = call.sim.state
    return paged(call, [comment_json(state, one) for one in state.comments_of(pull)])


def _body(call: Call) -> str:
    body = call.fields().get("body")
    if not isinstance(body, str) or not body.strip():
        error = {"resource": "IssueComment", "code": "missing_field", "field": "body"}
        refuse("Validation Failed", error)
    if len(body.encode()) > MAX_COMMENT:
        text = f"Body is too long (maximum is {MAX_COMMENT} characters)"
        error = {"resource": "IssueComment", "code": "custom", "field": "body", "message": text}
        refuse("Validation Failed", error)
    return body


def _may_comment(call: Call) -> None:
    """Refuse a token that has only one of the two permissions (facts 3: both are needed)."""
    assert call.token is not None
    if call.token.permissions.get("pull_requests") != "write":
        wanted = {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}
        raise GitHubError(403, "Resource not accessible by integration", headers=wanted)


async def create_comment(call: Call) -> Answer:
    """Answer `POST …/issues/{n}/comments`."""
    _may_comment(call)
    pull = _pull(call, "issue_number")
    assert call.token is not None
    app = call.token.installation.app
    comment = call.sim.people.write_comment(pull, call.me, _body(call), app)
    return Answer(comment_json(call.sim.state, comment), 201)


def _comment(call: Call) -> Comment:
    found = call.sim.state.comments.get(call.number("comment_id"))
    if found is None or found.pull.repo is not call.repo:
        raise not_found()
    return found


async def get_comment(call: Call) -> Answer:
    """Answer `GET …/issues/comments/{id}`."""
    return Answer(comment_json(call.sim.state, _comment(call)))


async def update_comment(call: Call) -> Answer:
    """Answer `PATCH …/issues/comments/{id}`."""
    _may_comment(call)
    comment = _comment(call)
    call.sim.people.edit_comment(comment, _body(call), call.me)
    return Answer(comment_json(call.sim.state, comment))


async def delete_comment(call: Call) -> Answer:
    """Answer `DELETE …/issues/comments/{id}`."""
    _may_comment(call)
    call.sim.people.delete_comment(_comment(call), call.me)
    return Answer(None, 204)


async def react(call: Call) -> Answer:
    """Answer `POST …/issues/comments/{id}/reactions`: 201 new, 200 when it is there already."""
    _may_comment(call)
    comment, content = _comment(call), call.fields().get("content")
    if content not in EMOJI:
        refuse("Validation Failed", f"{content} is not a reaction")
    for one in comment.reactions:
        if one.user is call.me and one.content == content:
            return Answer(reaction_json(call.sim.state, one))
    state = call.sim.state
    reaction = Reaction(state.new_id(), call.me, content, state.clock.now())
    comment.reactions.append(reaction)
    return Answer(reaction_json(state, reaction), 201)


async def unreact(call: Call) -> Answer:
    """Answer `DELETE …/issues/comments/{id}/reactions/{reaction}`."""
    comment, number = _comment(call), call.number("reaction_id")
    kept = [one for one in comment.reactions if one.id != number]
    if len(kept) == len(comment.reactions):
        raise not_found()
    comment.reactions[:] = kept
    return Answer(None, 204)


async def list_labels(call: Call) -> Answer:
    """Answer `GET …/issues/{n}/labels`."""
    pull = _pull(call, "issue_number")
    return paged(call, [label_json(call.sim.state, pull.repo, name) for name in pull.labels])


async def add_labels(call: Call) -> Answer:
    """Answer `POST …/issues/{n}/labels`."""
    pull = _pull(call, "issue_number")
    for name in call.fields().get("labels", []):
        call.sim.people.label(pull, name, call.me)
    return await list_labels(call)


async def remove_label(call: Call) -> Answer:
    """Answer `DELETE …/issues/{n}/labels/{name}`."""
    pull = _pull(call, "issue_number")
    if call.params["name"] not in pull.labels:
        raise not_found()
    call.sim.people.unlabel(pull, call.params["name"], call.me)
    return await list_labels(call)


async def reviews(call: Call) -> Answer:
    """Answer `GET …/pulls/{n}/reviews`: reviews are not modelled, so none."""
    _pull(call)
    return Answer([])


PULL = "/repos/{owner}/{repo}/pulls"
ISSUE = "/repos/{owner}/{repo}/issues"
COMMENT = f"{ISSUE}/comments/{{comment_id}}"
ROUTES = [
    Route("GET", PULL, list_pulls, "pull_requests"),
    Route("GET", f"{PULL}/{{pull_number}}", get_pull, "pull_requests"),
    Route("GET", f"{PULL}/{{pull_number}}/files", files, "pull_requests"),
    Route("GET", f"{PULL}/{{pull_number}}/commits", pull_commits, "pull_requests"),
    Route("GET", f"{PULL}/{{pull_number}}/reviews", reviews, "pull_requests"),
    Route("GET", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", commit_pulls, "pull_requests"),
    Route("GET", f"{ISSUE}/{{issue_number}}", get_issue, "issues"),
    Route("GET", f"{ISSUE}/{{issue_number}}/comments", list_comments, "issues"),
    Route("POST", f"{ISSUE}/{{issue_number}}/comments", create_comment, "issues", "write"),
    Route("GET", COMMENT, get_comment, "issues"),
    Route("PATCH", COMMENT, update_comment, "issues", "write"),
    Route("DELETE", COMMENT, delete_comment, "issues", "write"),
    Route("POST", f"{COMMENT}/reactions", react, "issues", "write"),
    Route("DELETE", f"{COMMENT}/reactions/{{reaction_id}}", unreact, "issues", "write"),
    Route("GET", f"{ISSUE}/{{issue_number}}/labels", list_labels, "issues"),
    Route("POST", f"{ISSUE}/{{issue_number}}/labels", add_labels, "issues", "write"),
    Route("DELETE", f"{ISSUE}/{{issue_number}}/labels/{{name}}", remove_label, "issues", "write"),
]
