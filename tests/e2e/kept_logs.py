"""The logs that the bot keeps, as an operator reads them with zcat."""

import gzip

from tests.e2e.world import World


def kept_bytes(world: World, job_id: str) -> int:
    """Return how much of a RayJob's log lies on the disk, packed."""
    files = (world.settings.data_dir / "logs").glob(f"*/{job_id}.log.gz")
    return sum(file.stat().st_size for file in files)


def kept_lines(world: World, job_id: str) -> list[str]:
    """Return the lines of the one log of a RayJob, when nobody writes it any more."""
    (file,) = (world.settings.data_dir / "logs").glob(f"*/{job_id}.log.gz")
    return gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]


def output_of(lines: list[str]) -> list[str]:
    """Leave out what the bot itself wrote between a job's lines."""
    return [line for line in lines if not line.startswith("[rayjob ")]
