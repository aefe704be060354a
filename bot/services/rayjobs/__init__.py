"""Follows RayJobs: their streams, logs and announcements."""
