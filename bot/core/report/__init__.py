"""Makes of rows what GitHub shows: pure functions from views to whole check runs and replies."""
