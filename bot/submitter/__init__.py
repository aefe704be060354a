"""Our own RayJob submitter service: one HTTP API over exchangeable backends.

It represents an outside service, so it imports nothing from the rest of `bot` but the door
and the port of OIDC tokens.
"""
