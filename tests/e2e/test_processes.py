"""The service as a real process: how it refuses to start."""

from pathlib import Path

from bot.sim.auth import key_pair
from tests.e2e.processes import children


async def test_wrong_settings_are_said_at_once_and_leave_with_2(tmp_path: Path) -> None:
    private, _ = key_pair()
    env = {
        "GITHUB_APP_ID": "x",
        "GITHUB_PRIVATE_KEY": private,
        "GITHUB_WEBHOOK_SECRET": "",
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'bot.db'}",
        "DATA_DIR": str(tmp_path / "data"),
        "PORT": "-1",
    }
    async with children(tmp_path) as home:
        service = await home.start("bot", "serve", env=env)
        assert await service.process.wait() == 2
        text = service.log.read_text()
    assert "Traceback" not in text
    for name in ("GITHUB_APP_ID", "PORT", "GITHUB_WEBHOOK_SECRET"):
        assert name in text
