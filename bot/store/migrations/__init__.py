"""Schema versions; they travel in the wheel."""
