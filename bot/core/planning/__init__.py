"""Plans: what an event makes of runs, approvals and gates, as data to commit."""
