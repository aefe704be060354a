"""Unit tests of the trainer."""
