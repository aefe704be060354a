"""RayJobs: their words, records and log events, and what a log proves about them."""
