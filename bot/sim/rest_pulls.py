"""REST: pull requests, comments, reactions."""

from bot.sim import shapes
from bot.sim.errors import GitHubError, not_found, refuse
from bot.sim.model import Comment, Pull, Reaction
from bot.sim.server import Answer, Call, Routes, paged

MAX_FILES = 3000  # the listing ends here, even if `changed_files` is more
MAX_COMMENT = 65_536

PULL = "/repos/{owner}/{repo}/pulls"
ISSUE = "/repos/{owner}/{repo}/issues"
COMMENT = f"{ISSUE}/comments/{{comment_id}}"
ROUTES = Routes()


def _pull(call: Call, name: str = "pull_number") -> Pull:
    return call.state.pull(call.number(name), call.repo)


@ROUTES.on("GET", PULL, "pull_requests")
async def _list_pulls(call: Call) -> Answer:
    state, wanted = call.state, call.query.get("state", "open")
    found = [pull for pull in state.pulls_of(call.repo) if wanted in {"all", pull.state}]
    return paged(call, [shapes.pull_simple(state, pull) for pull in found])


@ROUTES.on("GET", f"{PULL}/{{pull_number}}", "pull_requests")
async def _get_pull(call: Call) -> Answer:
    return Answer(shapes.pull_json(call.state, _pull(call)))


@ROUTES.on("GET", f"{PULL}/{{pull_number}}/files", "pull_requests")
async def _files(call: Call) -> Answer:
    """List at most 3,000 files, whatever the pages."""
    pull = _pull(call)
    changed = pull.repo.git.changes(pull.base_sha, pull.head_sha)[:MAX_FILES]
    return paged(
        call, [shapes.file_json(call.state, pull.repo, pull.head_sha, one) for one in changed]
    )


@ROUTES.on("GET", f"{ISSUE}/{{issue_number}}/comments", "issues")
async def _list_comments(call: Call) -> Answer:
    pull = _pull(call, "issue_number")
    state = call.state
    return paged(call, [shapes.comment_json(state, one) for one in state.comments_of(pull)])


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
    """Refuse a token that has only one of the two permissions. GitHub needs both."""
    assert call.token is not None
    if call.token.permissions.get("pull_requests") != "write":
        wanted = {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}
        raise GitHubError(403, "Resource not accessible by integration", headers=wanted)


@ROUTES.on("POST", f"{ISSUE}/{{issue_number}}/comments", "issues", "write")
async def _create_comment(call: Call) -> Answer:
    _may_comment(call)
    pull = _pull(call, "issue_number")
    assert call.token is not None
    app = call.token.installation.app
    comment = call.sim.people.write_comment(pull, call.me, _body(call), app)
    return Answer(shapes.comment_json(call.state, comment), 201)


def _comment(call: Call) -> Comment:
    found = call.state.comments.get(call.number("comment_id"))
    if found is None or found.pull.repo is not call.repo:
        raise not_found()
    return found


@ROUTES.on("PATCH", COMMENT, "issues", "write")
async def _update_comment(call: Call) -> Answer:
    _may_comment(call)
    comment = _comment(call)
    call.sim.people.edit_comment(comment, _body(call), call.me)
    return Answer(shapes.comment_json(call.state, comment))


@ROUTES.on("POST", f"{COMMENT}/reactions", "issues", "write")
async def _react(call: Call) -> Answer:
    """Answer 201 when it is new, 200 when it is there already."""
    _may_comment(call)
    comment, content = _comment(call), call.fields().get("content")
    if content not in shapes.EMOJI:
        refuse("Validation Failed", f"{content} is not a reaction")
    for one in comment.reactions:
        if one.user is call.me and one.content == content:
            return Answer(shapes.reaction_json(call.state, one))
    state = call.state
    reaction = Reaction(state.new_id(), call.me, content, state.clock.now())
    comment.reactions.append(reaction)
    return Answer(shapes.reaction_json(state, reaction), 201)
