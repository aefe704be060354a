"""Shared parts of the operators' commands; they work on the database of a running service."""
