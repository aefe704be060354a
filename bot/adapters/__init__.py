"""One outside thing each: GitHub, the RayJob submitter, the store, the log files."""
