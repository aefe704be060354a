"""``ascend-ci serve``: the webhook service and its loops."""

from bot.cli.service import service_command

command = service_command("serve", "Serve webhooks and work on them, until SIGTERM.", with_web=True)
