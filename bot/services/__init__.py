"""Use cases over ports; each loop offers ``async def step() -> bool``."""
