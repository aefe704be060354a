"""A stand-in for Ray, for what `ascend_ci_nodes.py` uses of it: nodes are folders of this machine.

The file that `RAY_NODES` names holds the cluster: for each node, whether it is alive and where it
sees the staged folder ("" = where it really is). A task runs at once, in this process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = "head"


def _cluster() -> dict[str, dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = json.loads(Path(os.environ["RAY_NODES"]).read_text())
    return nodes


def init(*, address: str, log_to_driver: bool) -> None:
    """Join the cluster."""
    assert address == "auto"
    assert log_to_driver is False


def nodes() -> list[dict[str, Any]]:
    """Return every node as Ray does."""
    return [{"NodeID": name, "Alive": node["alive"]} for name, node in _cluster().items()]


def get_runtime_context() -> SimpleNamespace:
    """Return where the driver runs."""
    return SimpleNamespace(get_node_id=lambda: HERE)


@dataclass
class _Task:
    function: Callable[[list[str]], Any]
    node: str = ""

    def options(self, *, scheduling_strategy: Any) -> _Task:
        assert scheduling_strategy.soft is False
        return _Task(self.function, scheduling_strategy.node_id)

    def remote(self, command: list[str]) -> Any:
        sees = _cluster()[self.node]["sees"]
        staged = command[4]
        there = [sees or staged if word == staged else word for word in command]
        os.environ["HOSTNAME"] = self.node
        return self.function(["env", f"HOSTNAME={self.node}", *there])


def remote(**options: Any) -> Callable[[Callable[[list[str]], Any]], _Task]:
    """Make a task; one that needs a CPU would not fit on a busy node."""
    assert options == {"num_cpus": 0, "max_retries": 0}
    return _Task


def get(results: list[Any]) -> list[Any]:
    """Return the results."""
    return results
