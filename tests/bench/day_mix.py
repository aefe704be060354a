"""Made-up commits whose files start as much under today's filters as the target project's do.

Counted over 400 of its commits: 313 start an NPU job, more than half of those start all 18; 137
touch a path with an Ascend name, 53 of these start none.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.core.policy.models import Policy
from bot.core.policy.selection import ChangedFile, select

_SEED = 11  # the same commits each time
_ASCEND = ("ascend", "npu")
_MOST = 3  # files of a kind in a commit


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of commit: how many of 400 are so, what it touches, and what it may touch besides."""

    name: str
    weight: int
    paths: tuple[str, ...]
    besides: tuple[str, ...] = ()


_DOCS = ("docs/advance/rollout.md", "docs/index.rst", "docs/perf/tuning.md", "README.md")
_TUTORIALS = (
    "docs/ascend_tutorial/quick_start.rst",
    "docs/ascend_tutorial/profiling.rst",
    "docs/ascend_tutorial/faq.md",
    "docker/ascend/Dockerfile.a3",
    "docker/ascend/Dockerfile.910b",
)
_WORKERS = (
    "verl/workers/rollout/base.py",
    "verl/workers/rollout/replica.py",
    "verl/workers/engine/base.py",
    "verl/workers/engine_workers.py",
    "verl/workers/config/engine.py",
    "verl/workers/reward_manager/naive.py",
)
_TRAINER = (
    "verl/trainer/ppo/core_algos.py",
    "verl/trainer/ppo/ray_trainer.py",
    "verl/utils/dataset/rl_dataset.py",
    "verl/utils/tracking.py",
    "verl/protocol.py",
)

KINDS = (
    Kind("Ascend documentation and images", 53, _TUTORIALS, _DOCS),
    Kind("documentation and other images", 34, _DOCS, ("docker/Dockerfile.stable",)),
    Kind(
        "scripts on NPUs",
        24,
        (
            "tests/special_npu/run_qwen3_0_6b_ppo.sh",
            "tests/special_npu/run_qwen2_5_05b_grpo.sh",
            "tests/special_npu/run_qwen3_06b_ppo_multinode.sh",
        ),
        _TUTORIALS,
    ),
    Kind(
        "examples",
        20,
        ("examples/grpo_trainer/run_qwen3_8b.sh", "examples/ppo_trainer/run_gemma.sh"),
        _DOCS,
    ),
    Kind(
        "tests",
        12,
        ("tests/utils/test_metric.py", "tests/trainer/test_config.py"),
        ("tests/experimental/reward_loop/test_reward.py", *_DOCS),
    ),
    Kind(
        "code for NPUs",
        60,
        ("verl/workers/engine/npu_patch.py", "verl/workers/rollout/npu_graph.py"),
        (*_WORKERS, *_TRAINER, *_TUTORIALS),
    ),
    Kind("workers", 131, _WORKERS, (*_TRAINER, *_DOCS)),
    Kind("trainers and tools", 66, _TRAINER, (*_DOCS, "tests/trainer/test_config.py")),
)


def commits(count: int) -> list[tuple[str, ...]]:
    """Return the files of so many commits; each kind has its share, the order is mixed."""
    choose = random.Random(_SEED)
    total = sum(kind.weight for kind in KINDS)
    drawn = [_files(_kind_at((i + 0.5) / count * total), choose) for i in range(count)]
    choose.shuffle(drawn)
    return drawn


def _kind_at(place: float) -> Kind:
    for kind in KINDS:
        place -= kind.weight
        if place < 0:
            return kind
    return KINDS[-1]


def _files(kind: Kind, choose: random.Random) -> tuple[str, ...]:
    own = choose.sample(kind.paths, min(choose.randint(1, _MOST), len(kind.paths)))
    more = choose.sample(kind.besides, min(choose.randint(0, _MOST), len(kind.besides)))
    return tuple(dict.fromkeys([*own, *more]))


@dataclass(frozen=True, slots=True)
class Shares:
    """What a mix of commits starts, in parts of 1."""

    starting: float  # of all
    starting_all: float  # of those that start something
    ascend: float  # of all: touch a path with an Ascend name
    ascend_without: float  # of those that touch one: start nothing


TARGET = Shares(starting=313 / 400, starting_all=0.61, ascend=137 / 400, ascend_without=53 / 137)


def shares(policy: Policy, mix: Sequence[tuple[str, ...]]) -> Shares:
    """Measure a mix under a policy's filters."""
    found = {files: len(selected(policy, files)) for files in mix}
    most = max(found.values())
    starting = [files for files in mix if found[files]]
    ascend = [files for files in mix if any(map(_names_ascend, files))]
    return Shares(
        starting=len(starting) / len(mix),
        starting_all=_part(starting, lambda files: found[files] == most),
        ascend=len(ascend) / len(mix),
        ascend_without=_part(ascend, lambda files: not found[files]),
    )


def _part(mix: Sequence[tuple[str, ...]], test: Callable[[tuple[str, ...]], bool]) -> float:
    return sum(map(test, mix)) / len(mix) if mix else 0.0


def _names_ascend(path: str) -> bool:
    return any(word in path.lower() for word in _ASCEND)


def selected(policy: Policy, files: Sequence[str]) -> tuple[str, ...]:
    """Return the suites that a change of these files selects."""
    return select(policy, [ChangedFile(path) for path in files]).selected
