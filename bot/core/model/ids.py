"""Ids as types of their own, so that one kind is never taken for another."""

from typing import Any, NewType

RepoId = NewType("RepoId", int)
Sha = NewType("Sha", str)
RunId = NewType("RunId", str)
Json = dict[str, Any]  # decoded JSON object: what a fact carries


def short(sha: str) -> str:
    """Return a commit as people write it."""
    return sha[:7]
