"""Processes that do the work whose cost an outsider decides."""
