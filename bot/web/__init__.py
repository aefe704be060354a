"""aiohttp handlers: the webhook door and the probes."""
