"""Our own RayJob submitter service: one HTTP API, exchangeable backends.

It stands for an outside service, so it imports nothing of the rest of `bot`.
"""
