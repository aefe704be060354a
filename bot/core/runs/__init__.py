"""The life of a run: its events, its verdict and its next step."""
