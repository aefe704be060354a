"""The log digester: read bytes, find the root cause, and judge whether a retry helps."""
