"""Plans: the runs, approvals and gates that follow from an event, as data to commit."""
