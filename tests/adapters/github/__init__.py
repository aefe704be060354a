"""The GitHub adapter over real HTTP, against scripted answers and the simulated GitHub."""
