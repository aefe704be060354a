"""aiohttp handlers: webhooks, the API, and the probes."""
