"""Calls on comments of pull requests, and reactions to them."""

from datetime import UTC, datetime
from typing import Any

from bot.adapters.github import decode
from bot.adapters.github.api import Api, get, named
from bot.adapters.github.budget import Priority
from bot.adapters.github.channel import Call, as_is
from bot.adapters.github.checks import MARK
from bot.core.github.limits import TEXT_BYTES
from bot.core.github.markdown import cut_bytes
from bot.core.model.repos import Repo
from bot.ports.errors import Permanent, Transient

OF_ISSUE = "/repos/{owner}/{repo}/issues/{number}/comments"
COMMENT = "/repos/{owner}/{repo}/issues/comments/{id}"


class CommentCalls(Api):
    """The calls on comments."""

    async def comment(self, repo: Repo, number: int, body: str) -> int:
        """Post a comment; return its id. Not repeated: it raises ``Lost``."""
        data = {"body": cut_bytes(body, TEXT_BYTES, MARK)}
        values = named(repo, number=number)
        call = Call("comment", "POST", OF_ISSUE, values, data, priority=Priority.CREATE)
        return await self._read(repo, call, lambda data: int(data["id"]))

    async def edit_comment(self, repo: Repo, comment_id: int, body: str) -> bool:
        """Rewrite our comment; return False if it no longer exists."""
        data = {"body": cut_bytes(body, TEXT_BYTES, MARK)}
        call = Call(
            "edit_comment",
            "PATCH",
            COMMENT,
            named(repo, id=comment_id),
            data,
            repeat=True,
            priority=Priority.FINAL,
        )
        return bool(await self._maybe(repo, call, lambda _: True))

    async def find_comment(
        self, repo: Repo, number: int, marker: str, since: datetime
    ) -> int | None:
        """Return our comment that ends with the marker.

        Anybody can copy a marker, and our replies quote what people write, but not at their end.
        """
        at = f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        url = OF_ISSUE + "{?since}&per_page=100"
        call = get(repo, "find_comment", url, number=number, since=at)
        async for page in self._pages(repo, call, "", dict[str, Any]):
            for item in page:
                ours = decode.is_ours(item.get("performed_via_github_app"), self._app_id)
                if ours and (item.get("body") or "").rstrip().endswith(marker):
                    return int(item["id"])
        return None

    async def react(self, repo: Repo, comment_id: int, content: str) -> bool:
        """Add a reaction; return False if it was not taken: a failure is only logged."""
        call = Call(
            "react",
            "POST",
            COMMENT + "/reactions",
            named(repo, id=comment_id),
            {"content": content},
            repeat=True,  # GitHub answers 200 if the reaction already exists
        )
        try:
            await self._read(repo, call, as_is)
        except (Permanent, Transient) as exc:
            self._log.warning("reaction refused", comment=comment_id, error=str(exc))
            return False
        return True
