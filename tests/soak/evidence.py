"""What a soak leaves behind after a wrong end."""

import json
from pathlib import Path

from bot.sim.deliveries import Delivery
from tests.soak.crowd import Crowd


def keep(crowd: Crowd, folder: Path) -> None:
    """Write what people did and runners started, and how each webhook fared, into files."""
    (folder / "deeds.log").write_text("\n".join(crowd.deeds) + "\n")
    told = (json.dumps(_told(one)) for one in crowd.github.deliveries.sent)
    (folder / "webhooks.log").write_text("\n".join(told) + "\n")


def _told(one: Delivery) -> dict[str, str | int | bool | None]:
    """Return what of a delivery tells which one it was."""
    body = one.payload()
    pull = body.get("pull_request") or body.get("issue") or {}
    return {
        "id": one.id,
        "guid": one.guid,
        "event": one.event,
        "action": one.action,
        "created": str(one.created_at),
        "ended": str(one.delivered_at),
        "code": one.status_code,
        "status": one.status,
        "again": one.redelivery,
        "pull": pull.get("number"),
        "head": (pull.get("head") or {}).get("sha"),
        "comment": (body.get("comment") or {}).get("id"),
        "run": (body.get("workflow_run") or {}).get("id"),
        "attempt": (body.get("workflow_run") or {}).get("run_attempt"),
    }
