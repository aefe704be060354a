"""Calls on webhook deliveries: GitHub never repeats one by itself, so the bot does."""

from datetime import datetime

from bot.adapters.github import decode
from bot.adapters.github.api import Api
from bot.adapters.github.channel import Call, as_is
from bot.ports.github import HookDelivery

MOST_PAGES = 500  # 50,000 attempts: three days of a busy organization


class DeliveryCalls(Api):
    """The calls of the app itself."""

    async def deliveries(self, since: datetime) -> tuple[HookDelivery, ...]:
        """Return the app's deliveries since then, one per GUID, newest first (three days)."""
        attempts: dict[str, list[HookDelivery]] = {}
        call = Call("deliveries", "GET", "/app/hook/deliveries?per_page=100", repeat=True)
        async for items in self._app.pages(call, "", decode.delivery_attempt, most=MOST_PAGES):
            recent = [item for item in items if item.delivered_at >= since]
            for item in recent:
                attempts.setdefault(item.guid, []).append(item)
            if len(recent) < len(items):
                break
        return tuple(decode.delivery(group) for group in attempts.values())

    async def redeliver(self, delivery_id: int) -> None:
        """Ask GitHub to send a delivery again; an arrived one has the same GUID and is dropped."""
        url = "/app/hook/deliveries/{id}/attempts"
        call = Call("redeliver", "POST", url, {"id": delivery_id}, repeat=True)
        await self._app.call(call, as_is)
