"""An evaluation that only pretends."""
