"""``ascend-ci serve``: the webhook service and its loops."""

from bot.cli.service import service_command

command = service_command("serve", "Answer webhooks and do the work, until SIGTERM.", with_web=True)
