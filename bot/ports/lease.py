"""A claim on a row for a while: owner and number are the compare-and-swap of every save."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """``number`` grows with each claim of the row, so that a late writer is told no."""

    key: str
    owner: str
    number: int
    pokes: int = 0  # seen at the claim: a poke that came meanwhile keeps the row due
