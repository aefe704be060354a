"""Explain why a policy selects suites, and simulate what it would have started."""
