"""The webhook door and the probes, over real HTTP and real databases."""
