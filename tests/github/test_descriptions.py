"""The carried descriptions of GitHub, and that the validator sees what is wrong."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.sim.deliveries import Delivery
from bot.sim.model import App, User
from bot.sim.server import Seen
from tests.github.validator import Validator, hooks, load, rest

SHARED = Path(__file__).parents[3] / "shared" / "github"
SHA = "a" * 40


def seen(body: Any, method: str = "POST", route: str = "/check-runs") -> Seen:
    path = f"/repos/o/r{route}"
    template = f"/repos/{{owner}}/{{repo}}{route}"
    return Seen(method, template, path, "", body, 201, None, "2026-03-10")


def test_the_carried_descriptions_are_those_of_the_reference() -> None:
    if not SHARED.is_dir() and not os.environ.get("CI"):
        pytest.skip("the reference is not here")
    for name in ("rest-api-2026-03-10.json", "webhooks.json"):
        assert load(f"{name}.gz") == json.loads((SHARED / name).read_text())


def test_the_description_is_of_the_newer_version() -> None:
    path = "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches"
    assert list(rest()["paths"][path]["post"]["responses"]) == ["200"]
    assert "check-run-rerequested" in hooks()["webhooks"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a"},
        {"name": "a", "head_sha": SHA, "status": "done"},
        {"name": "a", "head_sha": SHA, "output": {"title": "t", "summary": "x" * 65_536}},
    ],
)
def test_a_wrong_request_is_a_problem(wrong: dict[str, Any]) -> None:
    assert Validator().call(seen(wrong)) != []
    assert Validator().call(seen({"name": "a", "head_sha": SHA})) == []


def test_a_wrong_answer_is_a_problem() -> None:
    good = seen({"name": "a", "head_sha": SHA})
    wrong = Seen(good.method, good.route, good.path, "", good.body, 201, {"id": "x"}, "2026-03-10")
    assert Validator().call(wrong) != []
    assert Validator(answers=False).call(wrong) == []


def test_a_wrong_webhook_is_a_problem() -> None:
    now = datetime(2026, 9, 1, tzinfo=UTC)
    app = App(1, "a", User(1, "o"), {}, [], now)
    wrong = Delivery(1, "g", "check_run", "created", b'{"action": "created"}', app, now, None, None)
    assert Validator().webhook(wrong) != []
    unknown = Delivery(1, "g", "teapot", "boiled", b"{}", app, now, None, None)
    assert Validator().webhook(unknown) == ["webhook teapot-boiled: no such webhook"]
