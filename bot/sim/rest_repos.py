"""REST: repositories, branches, commits, contents, comparison."""

import base64
from typing import Any
from urllib.parse import quote

from bot.sim.clock import stamp
from bot.sim.errors import GitHubError, not_found
from bot.sim.git import ZERO
from bot.sim.merging import merge_of
from bot.sim.model import Push, State
from bot.sim.payloads import fields
from bot.sim.server import Answer, Call, Routes, paged
from bot.sim.shapes import commit_json, file_json, repo_json, user_json

MAX_COMPARE_FILES = 300

REPO = "/repos/{owner}/{repo}"
ROUTES = Routes()


@ROUTES.on("GET", REPO)
async def _get_repo(call: Call) -> Answer:
    return Answer(repo_json(call.state, call.repo))


@ROUTES.on("GET", f"{REPO}/contents/{{path:.+}}", "contents")
async def _contents(call: Call) -> Answer:
    """Answer with a file object, or a folder's listing."""
    repo, path = call.repo, call.params["path"].strip("/")
    sha = repo.git.resolve(call.query.get("ref") or repo.default_branch)
    if sha is None:
        raise GitHubError(404, f"No commit found for the ref {call.query.get('ref')}")
    data = repo.git.read(sha, path)
    if data is None:
        return _folder(call, sha, path)
    blob = repo.git.number(sha, path)
    encoded = base64.encodebytes(data).decode()
    entry = _entry(call, sha, path, blob) | {"size": len(data), "type": "file"}
    return Answer(entry | {"encoding": "base64", "content": encoded})


def _folder(call: Call, sha: str, path: str) -> Answer:
    names = call.repo.git.listing(sha, path)
    if not names:
        raise not_found()
    git = call.repo.git
    entries = []
    for name in names:
        number = git.number(sha, name)
        data = git.read(sha, name)
        kind = {"type": "dir" if data is None else "file", "size": len(data or b"")}
        entries.append(_entry(call, sha, name, number) | kind)
    return Answer(entries)


def _entry(call: Call, ref: str, path: str, blob: str) -> dict[str, Any]:
    repo, url = call.repo, call.state.url
    self_url = f"{url}/repos/{repo.full_name}/contents/{quote(path)}?ref={ref}"
    html = f"{url}/{repo.full_name}/blob/{ref}/{quote(path)}"
    git = f"{url}/repos/{repo.full_name}/git/blobs/{blob}"
    return {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": blob,
        "url": self_url,
        "html_url": html,
        "git_url": git,
        "download_url": f"{url}/{repo.full_name}/raw/{ref}/{quote(path)}",
        "_links": {"self": self_url, "git": git, "html": html},
    }


@ROUTES.on("GET", f"{REPO}/branches/{{branch:.+}}", "contents")
async def _branch(call: Call) -> Answer:
    repo, name = call.repo, call.params["branch"]
    sha = repo.git.tip(repo.branch_ref(name))
    if sha is None:
        raise GitHubError(404, "Branch not found")
    url = f"{call.state.url}/repos/{repo.full_name}/branches/{quote(name)}"
    html = f"{call.state.url}/{repo.full_name}/tree/{quote(name)}"
    data = {
        "name": name,
        "commit": commit_json(call.state, repo, repo.git.info(sha)),
        "_links": {"self": url, "html": html},
        "protected": repo.is_protected(name),
        "protection": {"enabled": repo.is_protected(name)},
        "protection_url": f"{url}/protection",
    }
    return Answer(data)


@ROUTES.on("GET", f"{REPO}/git/commits/{{commit_sha}}", "contents")
async def _git_commit(call: Call) -> Answer:
    sha = call.params["commit_sha"]
    if call.repo.git.tip(sha) is None:
        raise not_found()
    full = commit_json(call.state, call.repo, call.repo.git.info(sha))
    inner = full["commit"]
    keep = {key: full[key] for key in ("sha", "node_id", "html_url", "parents")}
    verification = {"verified": False, "reason": "unsigned", "signature": None, "payload": None}
    return Answer(
        keep
        | {key: inner[key] for key in ("url", "author", "committer", "message", "tree")}
        | {"verification": verification | {"verified_at": None}}
    )


@ROUTES.on("GET", f"{REPO}/git/ref/{{ref:.+}}", "contents")
async def _git_ref(call: Call) -> Answer:
    """Answer with a ref; that of a pull request's merge is made when it is asked for."""
    repo, state, name = call.repo, call.state, call.params["ref"]
    kind, _, rest = name.partition("/")
    number = rest.removesuffix("/merge")
    if kind == "pull" and rest.endswith("/merge") and number.isdigit():
        merge_of(state.pull(int(number), repo), state.clock.now())
    sha = repo.git.tip(f"refs/{name}")
    if sha is None:
        raise not_found()
    url = f"{state.url}/repos/{repo.full_name}/git"
    target = {"type": "commit", "sha": sha, "url": f"{url}/commits/{sha}"}
    shown = {"ref": f"refs/{name}", "node_id": state.node_id("REF", len(name))}
    return Answer(shown | {"url": f"{url}/refs/{name}", "object": target})


@ROUTES.on("GET", f"{REPO}/compare/{{basehead:.+}}", "contents")
async def _compare(call: Call) -> Answer:
    """Compare two commits, with at most 300 files."""
    base, mark, head = call.params["basehead"].partition("...")
    if not mark:
        raise not_found()
    repo, state = call.repo, call.state
    found = [repo.git.resolve(name.rpartition(":")[2]) for name in (base, head)]
    if found[0] is None or found[1] is None:
        raise not_found()
    old, new = found[0], found[1]
    root = repo.git.merge_base(old, new)
    ahead, behind = repo.git.between(old, new), repo.git.between(new, old)
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    html = f"{state.url}/{repo.full_name}/compare/{base}...{head}"
    files = repo.git.changes(old, new)[:MAX_COMPARE_FILES]
    data = {
        "url": f"{state.url}{call.path}",
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commit_json(state, repo, repo.git.info(old)),
        "merge_base_commit": commit_json(state, repo, repo.git.info(root)),
        "status": status.get((bool(ahead), bool(behind)), "diverged"),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "commits": [commit_json(state, repo, repo.git.info(sha)) for sha in ahead[:250]],
        "files": [file_json(state, repo, new, file) for file in files],
    }
    return Answer(data)


@ROUTES.on("GET", f"{REPO}/activity", "contents")
async def _activity(call: Call) -> Answer:
    """List the pushes to a branch, newest first."""
    pushes = [one for one in reversed(call.state.pushes) if one.repo is call.repo]
    ref = call.query.get("ref")
    return paged(call, [_pushed(call.state, one) for one in pushes if ref in {None, one.ref}])


def _pushed(state: State, push: Push) -> dict[str, Any]:
    created = "branch_creation" if push.before == ZERO else "push"
    return {
        "id": state.pushes.index(push) + 1,
        "node_id": state.node_id("PSH", state.pushes.index(push) + 1),
        **fields(push, "before", "after", "ref"),
        "timestamp": stamp(push.at),
        "activity_type": "force_push" if push.forced else created,
        "actor": user_json(state, push.by),
    }
