"""Adapters: each connects one outside thing to its port (GitHub, submitter, logs, OIDC, clock)."""
