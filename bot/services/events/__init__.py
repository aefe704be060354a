"""One file per GitHub event: each turns an event into a plan to commit."""
