#!/usr/bin/env python3
"""Run a command once on every other node of the Ray cluster: WORKERS COMMAND [ARGUMENT…].

For Python 3.9 and Ray. Fails when fewer than WORKERS nodes take part, or the command fails on one:
a training on a node that nobody set up would run whatever lies there.
"""

import os
import socket
import subprocess
import sys
import time
from functools import partial

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

# A pod that pulls its image joins late.
JOIN_S = float(os.environ.get("ASCEND_CI_JOIN_SECONDS", "300"))
POLL_S = 5.0

say = partial(print, flush=True)


def execute(command):
    """Run the command; answers host, exit code and output."""
    pipe, merged = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(command, stdout=pipe, stderr=merged, check=False)  # noqa: S603 - ours
    return socket.gethostname(), done.returncode, done.stdout.decode("utf-8", "replace")


def others(count):
    """Return the ids of the nodes beside this one, once there are `count`."""
    here, until = ray.get_runtime_context().get_node_id(), time.monotonic() + JOIN_S
    while True:
        nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != here]
        if len(nodes) >= count:
            return nodes
        if time.monotonic() >= until:
            sys.exit(f"ascend-ci: {len(nodes)} workers joined, {count} were asked for")
        time.sleep(POLL_S)


def main():
    """Run the command everywhere and print what it said."""
    workers, command = int(sys.argv[1]), sys.argv[2:]
    ray.init(address="auto", log_to_driver=False)
    task = ray.remote(num_cpus=0, max_retries=0)(execute)
    places = [NodeAffinitySchedulingStrategy(node, soft=False) for node in others(workers)]
    waiting = [task.options(scheduling_strategy=place).remote(command) for place in places]
    failed = 0
    for host, code, output in ray.get(waiting):
        say(output, end="")
        if code:
            say(f"ascend-ci: {host} is not set up, exit code {code}", file=sys.stderr)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
