"""A Ray cluster of two nodes on this machine, as a process of its own.

    python -m tests.ray.cluster

prints the address of its dashboard, and lives until its standard input closes. Apart, so that what
Ray does at its import, its threads and its warnings stay out of the tests.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

from ray.cluster_utils import Cluster

NODE: dict[str, Any] = {"num_cpus": 2, "num_gpus": 0, "object_store_memory": 80 * 1024 * 1024}


def free_port() -> int:
    """Return a port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Start it, say where, wait, stop it."""
    port = free_port()
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**NODE, "include_dashboard": True, "dashboard_port": port},
    )
    try:
        cluster.add_node(**NODE, resources={"second": 1})
        cluster.wait_for_nodes()
        sys.stdout.write(f"cluster at http://127.0.0.1:{port}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
