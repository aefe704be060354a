"""The webhook server and the probes, over real HTTP and real databases."""
