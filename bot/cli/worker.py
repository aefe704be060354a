"""``ascend-ci worker``: the loops alone, beside another process that serves the webhooks."""

from bot.cli.service import service_command

command = service_command(
    "worker", "Work on what the service stored, until SIGTERM.", with_web=False
)
