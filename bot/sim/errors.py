"""Errors that cross the simulation: what GitHub answers, and what a person cannot do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn


class GitHubError(Exception):
    """An error answer of the REST API: status, message, and for a 422 the list of errors."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: Sequence[Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """Return the JSON body GitHub sends with it."""
        data: dict[str, Any] = {
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": str(self.status),
        }
        if self.errors is not None:
            data["errors"] = list(self.errors)
        return data


class CannotError(Exception):
    """A person asked for what GitHub's pages do not offer, such as a button on a running check."""


def not_found() -> GitHubError:
    """Build the 404 GitHub gives for what is missing or hidden."""
    return GitHubError(404, "Not Found")


def refuse(message: str, *errors: Any) -> NoReturn:
    """Raise a 422; without `errors` it is the plain-message form."""
    raise GitHubError(422, message, errors=errors or None)
