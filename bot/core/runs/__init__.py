"""One run's life: what was observed of it, its verdict and its next step."""
