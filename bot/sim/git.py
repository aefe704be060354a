"""Real git behind the simulated GitHub: one bare repository for a repository and its forks.

libgit2 does it inside the process: a `git` command for each call would take most of a test's time.
Workflow steps clone the same folder with the `git` of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pygit2
from pygit2.enums import DiffOption, FileMode, SortMode

ZERO = "0" * 40
_RENAMES = 10_000  # more files than a pull request may have
_NOT_IN_A_NAME = str.maketrans("", "", "<>\n")  # git leaves these out, libgit2 refuses them
Files = Mapping[str, str | bytes | None]


class GitFailedError(Exception):
    """Git cannot do this. The text says why."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs between two commits, in GitHub's words."""

    path: str
    status: str
    previous: str | None
    additions: int
    deletions: int
    blob: str


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The parts of a commit that are shown."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    message: str


STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied"}
STATUS["T"] = "changed"


def git_env() -> dict[str, str]:
    """Build an environment in which git reads no configuration of the machine or the user."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return env | alone | {"GIT_TERMINAL_PROMPT": "0"}


class GitRepo:
    """A bare repository on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repo = pygit2.Repository(str(path))
        self._changes: dict[tuple[str, str], list[ChangedFile]] = {}

    @classmethod
    def create(cls, path: Path) -> GitRepo:
        """Make an empty bare repository that serves any commit by its SHA, as GitHub does."""
        path.mkdir(parents=True, exist_ok=True)
        made = pygit2.init_repository(str(path), bare=True, initial_head="main")
        made.config["uploadpack.allowAnySHA1InWant"] = True
        made.config["gc.auto"] = 0
        return cls(path)

    def resolve(self, name: str) -> str | None:
        """Return the commit SHA a ref, branch, tag or (short) SHA stands for, else `None`."""
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            sha = self.tip(candidate)
            if sha is not None:
                return sha
        return None

    def tip(self, ref: str) -> str | None:
        """Return the commit a full ref or a SHA stands for, `None` when there is no such thing."""
        try:
            return str(self._repo.revparse_single(ref).peel(pygit2.Commit).id)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def refs(self, prefix: str) -> dict[str, str]:
        """Return every ref under a prefix with its SHA."""
        under = prefix.rstrip("/") + "/"
        found = [name for name in self._repo.references if name.startswith(under)]
        return {name: str(self._repo.references[name].target) for name in found}

    def set_ref(self, ref: str, sha: str) -> None:
        """Point a ref at a commit, whatever it was before."""
        self._repo.references.create(ref, sha, force=True)

    def drop_ref(self, ref: str) -> None:
        """Remove a ref."""
        self._repo.references.delete(ref)

    def commit(
        self, parents: Sequence[str], files: Files, message: str, who: str, when: datetime
    ) -> str:
        """Make a commit on top of `parents[0]`; a file with content `None` is removed."""
        index = pygit2.Index()
        if parents:
            index.read_tree(self._commit(parents[0]).tree)
        for path, content in files.items():
            if content is None:
                with suppress(OSError):  # was not there
                    index.remove(path)
                continue
            data = content.encode() if isinstance(content, str) else content
            mode = FileMode.BLOB_EXECUTABLE if data.startswith(b"#!") else FileMode.BLOB
            index.add(pygit2.IndexEntry(path, self._repo.create_blob(data), mode))
        return self._commit_tree(index.write_tree(self._repo), parents, (message, who, when))

    def _commit_tree(
        self, tree: pygit2.Oid, parents: Sequence[str], about: tuple[str, str, datetime]
    ) -> str:
        message, who, when = about
        name = who.translate(_NOT_IN_A_NAME)
        sign = pygit2.Signature(name, f"{name}@users.noreply.github.com", int(when.timestamp()), 0)
        ends = message if message.endswith("\n") else f"{message}\n"
        return str(self._repo.create_commit(None, sign, sign, ends, tree, list(parents)))

    def commit_directory(self, source: Path, message: str, who: str, when: datetime) -> str:
        """Make a root commit of everything under `source` except its own `.git`."""
        index = pygit2.Index()
        for path in _files_under(source):
            if path.is_symlink():
                blob, mode = self._repo.create_blob(os.fsencode(path.readlink())), FileMode.LINK
            else:
                executable = path.stat().st_mode & 0o100
                mode = FileMode.BLOB_EXECUTABLE if executable else FileMode.BLOB
                blob = self._repo.create_blob_fromdisk(str(path))
            index.add(pygit2.IndexEntry(path.relative_to(source).as_posix(), blob, mode))
        return self._commit_tree(index.write_tree(self._repo), [], (message, who, when))

    def merge(self, base: str, head: str, message: str, who: str, when: datetime) -> str:
        """Make a merge commit of `head` into `base` (conflicts raise `GitFailedError`)."""
        index = self._repo.merge_commits(self._commit(base), self._commit(head))
        if index.conflicts is not None:
            paths = [entry.path for both in index.conflicts for entry in both if entry]
            raise GitFailedError(f"conflicts in {', '.join(sorted(set(paths)))}")
        return self._commit_tree(index.write_tree(self._repo), [base, head], (message, who, when))

    def merge_base(self, one: str, other: str) -> str:
        """Return the best common ancestor."""
        found = self._repo.merge_base(one, other)
        if found is None:
            raise GitFailedError(f"{one} and {other} have no common ancestor")
        return str(found)

    def between(self, base: str, head: str) -> list[str]:
        """Return the commits in `head` that are not in `base`, oldest first."""
        walker = self._repo.walk(head, SortMode.TOPOLOGICAL | SortMode.REVERSE)
        walker.hide(base)
        return [str(commit.id) for commit in walker]

    def info(self, sha: str) -> CommitInfo:
        """Read a commit."""
        commit = self._commit(sha)
        return CommitInfo(
            sha=str(commit.id),
            tree=str(commit.tree_id),
            parents=tuple(str(one) for one in commit.parent_ids),
            author=commit.author.name,
            email=commit.author.email,
            date=datetime.fromtimestamp(commit.author.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            message=commit.message.strip(),
        )

    def read(self, sha: str, path: str) -> bytes | None:
        """Return a file's bytes at a commit, `None` when there is none."""
        found = self._at(sha, path)
        return found.data if isinstance(found, pygit2.Blob) else None

    def number(self, sha: str, path: str) -> str:
        """Return the SHA of a file or folder at a commit."""
        found = self._at(sha, path)
        if found is None:
            raise GitFailedError(f"no {path} at {sha}")
        return str(found.id)

    def listing(self, sha: str, folder: str) -> list[str]:
        """Return the paths of a folder's files and folders at a commit."""
        found = self._at(sha, folder)
        if not isinstance(found, pygit2.Tree):
            return []
        return [f"{folder}/{entry.name}" for entry in found]

    def _commit(self, sha: str) -> pygit2.Commit:
        return self._repo.revparse_single(sha).peel(pygit2.Commit)

    def _at(self, sha: str, path: str) -> pygit2.Object | None:
        try:
            return self._commit(sha).tree[path]
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def changes(self, base: str, head: str) -> list[ChangedFile]:
        """Return the files that `head` changes since it left `base` (three-dot), with renames."""
        key = (base, head)
        if key not in self._changes:
            self._changes[key] = self._diff(self.merge_base(base, head), head)
        return self._changes[key]

    def _diff(self, old: str, new: str) -> list[ChangedFile]:
        found = self._repo.diff(old, new, flags=DiffOption.INCLUDE_TYPECHANGE)
        found.find_similar(rename_limit=_RENAMES)
        return [_changed(patch) for patch in found if patch is not None]


def _changed(patch: pygit2.Patch) -> ChangedFile:
    delta = patch.delta
    letter = delta.status_char()
    side = delta.old_file if letter == "D" else delta.new_file
    before = delta.old_file.path if letter in "RC" else None
    _, added, removed = patch.line_stats
    return ChangedFile(side.path, STATUS[letter], before, added, removed, str(delta.new_file.id))


def _files_under(source: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(source):
        if Path(folder) == source and ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        yield from (Path(folder) / name for name in (*names, *links))
