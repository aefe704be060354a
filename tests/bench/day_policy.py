"""The shipped policy in the forms that the day is played with, and the workflows they name."""

from collections.abc import Mapping
from typing import Any

import yaml

from bot.core.policy.loading import PolicyErrors, load_policy
from bot.core.policy.models import Policy, Start, Suite
from bot.resources import text
from tests.bench.day import places

_SENT = ("ascend_ci", "sha", "pr", "runner", "timeout_minutes")  # with every dispatch


def shipped(times: int, npu_hours: int | None = None) -> str:
    """Return the shipped policy with so many times its runners, and another limit of a day."""
    return yaml.safe_dump(_shipped(times, npu_hours), sort_keys=False)


def dispatched(times: int, npu_hours: int | None = None) -> str:
    """Return it with each native suite turned into dispatched ones, a job each."""
    data = _shipped(times, npu_hours)
    policy = load(yaml.safe_dump(data))
    suites: dict[str, Any] = {}
    for name, suite in data["suites"].items():
        if suite.get("start") != Start.NATIVE.value:
            suites[name] = suite
            continue
        for one, labels in places(name, policy.suites[name]):
            own = {key: value for key, value in suite.items() if key not in {"start", "nodes"}}
            own |= {"workflow": f"{one}.yml", "runners": list(labels)}
            suites[one] = own | {"triggers": ["pull_request", "command"]}
    return yaml.safe_dump(data | {"suites": suites}, sort_keys=False)


def _shipped(times: int, npu_hours: int | None) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(text("policy.yml"))
    if npu_hours is not None:
        data["limits"]["npu_hours_per_day"] = npu_hours
    for runner in data["runners"].values():
        runner["slots"] *= times
    for pool in data["pools"].values():
        pool["npus"] *= times
    return data


def load(source: str) -> Policy:
    """Return a policy that has no mistakes."""
    policy = load_policy(source.encode())
    if isinstance(policy, PolicyErrors):
        raise ValueError(policy.errors)
    return policy


def workflows(policy: Policy) -> dict[str, str]:
    """Return every workflow file that the policy names, by path."""
    files: dict[str, dict[str, Any]] = {}
    for name, suite in policy.suites.items():
        path = f".github/workflows/{suite.workflow}"
        if suite.start is Start.NATIVE:
            files[path] = _native(name, suite)
        else:
            files[path] = _own(suite, files.get(path, {}))
    return {path: yaml.safe_dump(data, sort_keys=False) for path, data in files.items()}


def _native(name: str, suite: Suite) -> dict[str, Any]:
    jobs = {one: _job(labels[0]) for one, labels in places(name, suite)}
    return {"name": name, "on": ["pull_request"], "jobs": jobs}


def _own(suite: Suite, before: Mapping[str, Any]) -> dict[str, Any]:
    """Declare what the suite sends beside what others of the same file do."""
    known = before["on"]["workflow_dispatch"]["inputs"] if before else {}
    inputs = {**known, **{name: {"required": False} for name in (*_SENT, *suite.inputs)}}
    return {
        "name": suite.workflow,
        "run-name": "Run ${{ inputs.ascend_ci }}",
        "on": {"workflow_dispatch": {"inputs": inputs}},
        "jobs": {"run": _job("${{ inputs.runner }}")},
    }


def _job(runner: str) -> dict[str, Any]:
    return {"runs-on": runner, "steps": [{"run": "echo test"}]}
