"""The two errors of the simulation: an answer of GitHub, and a deed that no page offers."""

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
    """GitHub's pages do not offer this, such as a button on a running check."""


def not_found() -> GitHubError:
    """Return GitHub's 404 for a missing or hidden object."""
    return GitHubError(404, "Not Found")


def refuse(message: str, *errors: Any) -> NoReturn:
    """Raise a 422. Without `errors` it is the plain-message form."""
    raise GitHubError(422, message, errors=errors or None)
