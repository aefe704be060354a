"""Moves runs from queued to done: dispatch, observe, write."""
