"""As in Ray: where a task runs."""

from dataclasses import dataclass


@dataclass
class NodeAffinitySchedulingStrategy:
    """On this node, and on no other unless `soft`."""

    node_id: str
    soft: bool
