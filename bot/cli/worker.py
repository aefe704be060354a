"""``ascend-ci worker``: only the loops, beside another process that answers webhooks."""

from bot.cli.service import service_command

command = service_command(
    "worker",
    "Do the work only, beside a `serve`, until SIGTERM.",
    with_web=False,
)
