"""What a script would lose if another took its place."""

import pytest

from bot.cli.init.install import loss_text
from bot.cli.init.losses import MOST_SHOWN, losses

NEW = """\
export HCCL_CONNECT_TIMEOUT=${HCCL_CONNECT_TIMEOUT:-1500}
steps=15
prefix=actor.megatron
args=("$prefix.param_offload=True" "trainer.steps=$steps" 'trainer.logger=["console"]' same=1)
python3 -m train "${args[@]}" --resume
"""


@pytest.mark.parametrize(
    ("old", "lost"),
    [
        ("run +actor.megatron.param_offload=True", []),
        ("run ++actor.megatron.grad_offload=True", ["++actor.megatron.grad_offload=True"]),
        ("run actor.param_offload=False", ["actor.param_offload=False"]),
        ("run actor.param_offload=$X", []),
        ("run trainer.steps=3", []),
        ("run trainer.logger=['console']", []),
        ("run same=2", ["same=2"]),
        ("run same=1 same=1", []),
        ("run --resume --flag --depth=3", ["--depth=3", "--flag"]),
        ("export HCCL_CONNECT_TIMEOUT=1500", []),
        ("export OTHER=1", ["OTHER=1"]),
        ("X=${NNODES:-1}\nY=${Z:?must be set}", ["NNODES", "Z"]),
        ("# run a.b=c\nplain=1\nNAME=2 run", []),
        ("", []),
    ],
)
def test_arguments_are_compared_by_name_and_value(old: str, lost: list[str]) -> None:
    assert losses(old, NEW) == lost


def test_a_script_loses_nothing_to_itself() -> None:
    assert losses(NEW, NEW) == []


def test_a_long_list_is_cut() -> None:
    lost = [f"a.b{number}=1" for number in range(MOST_SHOWN + 2)]
    assert loss_text(lost).endswith(f"`a.b{MOST_SHOWN - 1}=1` and 2 more")
