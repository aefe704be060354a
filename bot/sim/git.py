"""Real git behind the simulated GitHub: one bare repository a network of forks.

Calls are plumbing on small repositories (a few milliseconds each), so they are plain functions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ZERO = "0" * 40
Files = Mapping[str, str | bytes | None]


class GitFailedError(Exception):
    """Git answered with an error; the text is what it printed."""


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
    """What is shown of a commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    message: str


STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied"}
STATUS["T"] = "changed"


def git_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Build an environment in which git reads no configuration of the machine or the user."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    return env | dict(extra or {})


class GitRepo:
    """A bare repository on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._infos: dict[str, CommitInfo] = {}
        self._changes: dict[tuple[str, str], list[ChangedFile]] = {}
        self._blobs: dict[tuple[str, str], bytes | None] = {}

    @classmethod
    def create(cls, path: Path) -> GitRepo:
        """Make an empty bare repository that serves any commit by its SHA, as GitHub does."""
        path.mkdir(parents=True, exist_ok=True)
        repo = cls(path)
        repo.run("init", "-q", "--bare", "--initial-branch=main", ".")
        repo.run("config", "uploadpack.allowAnySHA1InWant", "true")
        repo.run("config", "gc.auto", "0")
        return repo

    def run(
        self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git in the repository; raise `GitFailedError` with its words if it fails."""
        git = shutil.which("git") or "git"
        done = subprocess.run(  # noqa: S603 - fixed program, arguments from the simulation
            [git, *args],
            cwd=self.path,
            input=data,
            env=git_env(env),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise GitFailedError(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def _text(self, *args: str) -> str:
        return self.run(*args).decode("utf-8", "replace").strip()

    def resolve(self, name: str) -> str | None:
        """Answer the commit SHA a ref, branch, tag or (short) SHA stands for, else `None`."""
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            try:
                return self._text("rev-parse", "--verify", "-q", f"{candidate}^{{commit}}")
            except GitFailedError:
                continue
        return None

    def tip(self, ref: str) -> str | None:
        """Answer the commit a full ref points at, `None` when there is no such ref."""
        try:
            return self._text("rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
        except GitFailedError:
            return None

    def refs(self, prefix: str) -> dict[str, str]:
        """Answer every ref under a prefix with its SHA."""
        out = self._text("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        return dict(line.split(" ", 1) for line in out.splitlines())

    def set_ref(self, ref: str, sha: str) -> None:
        """Point a ref at a commit, whatever it was before."""
        self.run("update-ref", ref, sha)

    def drop_ref(self, ref: str) -> None:
        """Remove a ref."""
        self.run("update-ref", "-d", ref)

    def commit(
        self, parents: Sequence[str], files: Files, message: str, who: str, when: datetime
    ) -> str:
        """Make a commit on top of `parents[0]`; a file with content `None` is removed."""
        index = {"GIT_INDEX_FILE": str(self.path / "sim-index")}
        if parents:
            self.run("read-tree", parents[0], env=index)
        else:
            self.run("read-tree", "--empty", env=index)
        self.run("update-index", "-z", "--index-info", data=self._index_lines(files), env=index)
        tree = self.run("write-tree", env=index).decode().strip()
        return self._commit_tree(tree, parents, (message, who, when))

    def _commit_tree(
        self, tree: str, parents: Sequence[str], about: tuple[str, str, datetime]
    ) -> str:
        message, who, when = about
        date, email = f"{int(when.timestamp())} +0000", f"{who}@users.noreply.github.com"
        env = {"GIT_AUTHOR_NAME": who, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
        env |= {"GIT_COMMITTER_NAME": who, "GIT_COMMITTER_EMAIL": email, "GIT_COMMITTER_DATE": date}
        args = [part for parent in parents for part in ("-p", parent)]
        out = self.run("commit-tree", tree, *args, "-m", message, env=env)
        return out.decode().strip()

    def _index_lines(self, files: Files) -> bytes:
        lines = []
        blobs: dict[bytes, str] = {}  # a process for each content, not for each file
        for path, content in files.items():
            if content is None:
                lines.append(f"0 {ZERO}\t{path}\0")
                continue
            data = content.encode() if isinstance(content, str) else content
            if data not in blobs:
                made = self.run("hash-object", "-w", "--stdin", data=data)
                blobs[data] = made.decode().strip()
            mode = "100755" if data.startswith(b"#!") else "100644"
            lines.append(f"{mode} {blobs[data]}\t{path}\0")
        return "".join(lines).encode()

    def commit_directory(self, source: Path, message: str, who: str, when: datetime) -> str:
        """Make a root commit of everything under `source` except its own `.git`."""
        index = {"GIT_INDEX_FILE": str(self.path / "sim-index"), "GIT_DIR": str(self.path)}
        self.run("read-tree", "--empty", env=index)
        work = index | {"GIT_WORK_TREE": str(source.resolve())}
        self.run("-C", str(source.resolve()), "add", "-A", "-f", ".", env=work)
        tree = self.run("write-tree", env=index).decode().strip()
        return self._commit_tree(tree, [], (message, who, when))

    def merge(self, base: str, head: str, message: str, who: str, when: datetime) -> str:
        """Make a merge commit of `head` into `base` (conflicts raise `GitFailedError`)."""
        tree = self.run("merge-tree", "--write-tree", base, head).decode().split("\n", 1)[0]
        return self._commit_tree(tree, [base, head], (message, who, when))

    def merge_base(self, one: str, other: str) -> str:
        """Answer the best common ancestor."""
        return self._text("merge-base", one, other)

    def between(self, base: str, head: str) -> list[str]:
        """Answer the commits in `head` that are not in `base`, oldest first."""
        return self._text("rev-list", "--reverse", f"{base}..{head}").split()

    def info(self, sha: str) -> CommitInfo:
        """Read a commit."""
        if sha not in self._infos:
            form = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%B"
            parts = self._text("log", "-1", "--no-show-signature", f"--format={form}", sha).split(
                "\0"
            )
            head, tree, parents, author, email, date, message = parts
            date = datetime.fromisoformat(date).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._infos[sha] = CommitInfo(
                head, tree, tuple(parents.split()), author, email, date, message.strip()
            )
        return self._infos[sha]

    def read(self, sha: str, path: str) -> bytes | None:
        """Answer a file's bytes at a commit, `None` when there is none."""
        key = (sha, path)
        if key not in self._blobs:
            try:
                self._blobs[key] = self.run("cat-file", "blob", f"{sha}:{path}")
            except GitFailedError:
                self._blobs[key] = None
        return self._blobs[key]

    def listing(self, sha: str, folder: str) -> list[str]:
        """Answer the paths of the files directly in a folder at a commit."""
        try:
            out = self.run("ls-tree", "-z", "--name-only", f"{sha}:{folder}")
        except GitFailedError:
            return []
        return [f"{folder}/{name}" for name in out.decode().split("\0") if name]

    def changes(self, base: str, head: str) -> list[ChangedFile]:
        """Answer what `head` changes since it left `base` (three-dot), renames detected."""
        key = (base, head)
        if key not in self._changes:
            self._changes[key] = self._diff(self.merge_base(base, head), head)
        return self._changes[key]

    def _diff(self, old: str, new: str) -> list[ChangedFile]:
        raw = self.run(
            "diff-tree", "-r", "-z", "-M", "-l0", "--raw", "--no-abbrev", old, new
        ).decode()
        counts = self._counts(old, new)
        fields = iter(raw.split("\0"))
        found = []
        for meta in fields:
            if not meta:
                break
            _, _, _, blob, letter = meta.split(" ")
            previous = next(fields)
            path = next(fields) if letter[0] in "RC" else previous
            added, removed = counts.get(path, (0, 0))
            before = previous if letter[0] in "RC" else None
            found.append(ChangedFile(path, STATUS[letter[0]], before, added, removed, blob))
        return found

    def _counts(self, old: str, new: str) -> dict[str, tuple[int, int]]:
        raw = self.run("diff-tree", "-r", "-z", "-M", "-l0", "--numstat", old, new).decode()
        fields = iter(raw.split("\0"))
        counts = {}
        for line in fields:
            if not line:
                break
            added, removed, path = line.split("\t")
            if not path:
                next(fields)
                path = next(fields)
            counts[path] = (
                int(added) if added != "-" else 0,
                int(removed) if removed != "-" else 0,
            )
        return counts
