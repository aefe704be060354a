"""The queue: which waiting run starts next, and the NPU-hours used."""
