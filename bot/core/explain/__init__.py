"""Why a policy selects what it does, and what it would have started."""
