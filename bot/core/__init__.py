"""The pure part: decisions over values, with no clock, no environment and no I/O."""
