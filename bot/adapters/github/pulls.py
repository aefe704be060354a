"""Calls on pull requests, their files, and files of a branch."""

import base64
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from bot.adapters.github import decode
from bot.adapters.github.api import Api, get
from bot.core.model.ids import Sha
from bot.core.model.pulls import Pull
from bot.core.model.repos import Repo
from bot.core.policy.selection import ChangedFile
from bot.ports.github import ChangedFiles, FileText, GitCommit

LISTED_FILES = 3000  # GitHub lists at most this many files of a pull request
COMPARED_FILES = 300  # and of a comparison
MOST_BYTES = 1024 * 1024  # of a file: up to here it comes with its entry
RAW = "application/vnd.github.raw+json"


class PullCalls(Api):
    """The calls on pull requests and contents."""

    async def pull(self, repo: Repo, number: int) -> Pull:
        """Return a pull request."""
        url = "/repos/{owner}/{repo}/pulls/{number}"
        call = get(repo, "pull", url, number=number)
        return await self._read(repo, call, lambda data: decode.pull(repo, data))

    async def open_pulls(self, repo: Repo) -> tuple[Pull, ...]:
        """Return the open pull requests."""
        url = "/repos/{owner}/{repo}/pulls?state=open&per_page=100"
        call = get(repo, "open_pulls", url)
        return await self._list(repo, call, "", lambda data: decode.pull(repo, data))

    async def pull_files(self, repo: Repo, number: int, changed_files: int) -> ChangedFiles:
        """Return its files; GitHub lists at most 3,000.

        A list shorter than ``changed_files`` is no error: the pull request may have changed
        meanwhile.
        """
        if changed_files > LISTED_FILES:
            return ChangedFiles((), truncated=True)
        url = "/repos/{owner}/{repo}/pulls/{number}/files?per_page=100"
        call = get(repo, "pull_files", url, number=number)
        listed = await self._list(
            repo, call, "", lambda data: (decode.changed_file(data), decode.listed_head(data))
        )
        files = tuple(file for file, _ in listed)
        heads = frozenset(head for _, head in listed if head)
        # It grew meanwhile, perhaps beyond the list.
        full = len(files) >= LISTED_FILES and changed_files < LISTED_FILES
        return ChangedFiles(files, truncated=full, heads=heads)

    async def compare_files(self, repo: Repo, base: str, head: str) -> ChangedFiles:
        """Return the files between two commits (at most 300, otherwise truncated)."""
        # All files come with the first page; later pages only have further commits.
        url = "/repos/{owner}/{repo}/compare/{base}...{head}?per_page=1"
        call = get(repo, "compare_files", url, base=base, head=head)
        files = await self._read(repo, call, _files)
        return ChangedFiles(files or (), truncated=files is None or len(files) >= COMPARED_FILES)

    async def file(self, repo: Repo, path: str, ref: str) -> FileText | None:
        """Return a file at a branch or commit; of a large one its beginning; None: no file.

        Whoever opens a pull request decides how large a file is.
        """
        if any(part in ("", ".", "..") for part in path.split("/")):
            return None  # not a path in git, and in a URL it would mean another one
        url = "/repos/{owner}/{repo}/contents/{+path}{?ref}"
        # Quoted here: `+` keeps the slashes, but would also keep `?` and `#`.
        call = get(repo, "file", url, path=quote(path), ref=ref)
        found = await self._maybe(repo, call, _file)
        if isinstance(found, str):
            return FileText(await self._beginning(repo, found), found)
        return found

    async def folder(self, repo: Repo, path: str, ref: str) -> dict[str, str] | None:
        """Return the files of a folder, each with git's name of it; None: there is no folder."""
        url = "/repos/{owner}/{repo}/contents/{+path}{?ref}"
        call = get(repo, "folder", url, path=quote(path), ref=ref)
        return await self._maybe(repo, call, _folder)

    async def commit(self, repo: Repo, sha: str) -> GitCommit:
        """Return a commit's message and parents."""
        call = get(repo, "commit", "/repos/{owner}/{repo}/git/commits/{sha}", sha=sha)
        return await self._read(repo, call, _commit)

    async def mergeable(self, repo: Repo, number: int, head: Sha) -> bool | None:
        """Return whether a head merges into its base; None if GitHub does not know of this head."""
        call = get(repo, "pull", "/repos/{owner}/{repo}/pulls/{number}", number=number)
        told, found = await self._read(
            repo, call, lambda data: (data["head"]["sha"], data.get("mergeable"))
        )
        return bool(found) if told == head and found is not None else None

    async def merge_of(self, repo: Repo, number: int) -> Sha | None:
        """Return the commit in which GitHub merges a pull request; None if it can't."""
        url = "/repos/{owner}/{repo}/git/ref/pull/{number}/merge"
        call = get(repo, "merge_of", url, number=number)
        return await self._maybe(repo, call, lambda data: Sha(data["object"]["sha"]))

    async def _beginning(self, repo: Repo, sha: str) -> bytes:
        """Return the first megabyte of a blob."""
        url = "/repos/{owner}/{repo}/git/blobs/{sha}"
        call = replace(get(repo, "blob", url, sha=sha), accept=RAW)
        text = bytearray()
        async with aclosing((await self._channel(repo)).stream(call)) as chunks:
            async for chunk in chunks:
                text += chunk
                if len(text) >= MOST_BYTES:
                    break
        return bytes(text[:MOST_BYTES])

    async def tip(self, repo: Repo, branch: str) -> Sha | None:
        """Return the head of a branch; None if there is none."""
        call = get(repo, "tip", "/repos/{owner}/{repo}/branches/{branch}", branch=branch)
        return await self._maybe(repo, call, lambda data: Sha(data["commit"]["sha"]))

    async def is_protected(self, repo: Repo, branch: str) -> bool:
        """Return True if a branch is protected (cached); False without the branch."""
        key = (repo.id, branch)
        if key not in self._protected:
            call = get(repo, "branch", "/repos/{owner}/{repo}/branches/{branch}", branch=branch)
            found = await self._maybe(repo, call, lambda data: data["protected"] is True)
            self._protected[key] = bool(found)
        return self._protected[key]

    async def tree(self, repo: Repo, sha: str) -> str | None:
        """Return git's id for a commit's files, None for an unknown commit."""
        call = get(repo, "tree", "/repos/{owner}/{repo}/git/commits/{sha}", sha=sha)
        return await self._maybe(repo, call, lambda data: str(data["tree"]["sha"]))


def _file(data: Any) -> FileText | str | None:
    """Return a file, or its blob if it comes without content: over 1 MB."""
    if isinstance(data, list) or data["type"] != "file":
        return None  # a directory, a submodule or an outside link
    return _text(data) if data.get("encoding") == "base64" else str(data["sha"])


def _folder(data: Any) -> dict[str, str] | None:
    """Return the files of a folder; None if it is a file."""
    if not isinstance(data, list):
        return None
    return {str(item["name"]): str(item["sha"]) for item in data if item["type"] == "file"}


def _commit(data: Any) -> GitCommit:
    parents = tuple(str(item["sha"]) for item in data["parents"])
    return GitCommit(data.get("message") or "", parents)


def _text(data: Any) -> FileText:
    return FileText(base64.b64decode(data["content"]), str(data["sha"]))


def _files(data: Any) -> tuple[ChangedFile, ...] | None:
    """Return the files of a comparison; None if GitHub does not say."""
    files = data.get("files")
    return None if files is None else tuple(decode.changed_file(item) for item in files)
