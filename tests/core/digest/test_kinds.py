"""One short log for each kind of mistake: class, retry and root line are right together."""

from pathlib import Path
from typing import Any

import pytest

from bot.core.digest.digester import Digester
from tests.core.digest.corpus import signatures
from tests.quick_yaml import read_yaml

KINDS: list[dict[str, Any]] = read_yaml(Path(__file__).parent / "kinds.yaml")
ROOTS = ["/verl", "/__w/*/*", "/vllm-workspace/vllm-ascend", "/workspace/*"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind["name"])
def test_a_kind_of_log_is_read_as_a_person_reads_it(kind: dict[str, Any]) -> None:
    digester = Digester(signatures(), repo_roots=ROOTS)
    digester.feed(kind["log"].encode())
    digest = digester.end()
    lines = kind["log"].split("\n")
    root = "" if digest.root_cause_line is None else lines[digest.root_cause_line - 1]
    assert (digest.failure_class, digest.infra) == (kind["class"], kind["infra"]), root
    assert (kind["root"] is None) == (digest.root_cause_line is None)
    assert (kind["root"] or "") in root
