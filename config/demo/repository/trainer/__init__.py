"""A trainer that only pretends: no NPU is needed to watch the bot work."""
