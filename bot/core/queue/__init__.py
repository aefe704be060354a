"""The queue: the run that starts next, and the NPU-hours used."""
