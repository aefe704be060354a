"""Every kind of check of a changed policy as it reads."""

from dataclasses import replace

import pytest

from bot.core.messages import TABLES, Message
from bot.core.model.views import WorkflowNote
from bot.core.report.policy_change import WorkflowNotes, render_policy_check
from tests.core import views as s
from tests.core.proposed import PROPOSED
from tests.core.report.goldens import golden, show_check

PLACE = ".github/workflows/night.yml"
LACKS = Message("drift_lacks", n=1, jobs="`a`", labels="`npu-16`")
LIMIT = Message("drift_limit", suite="`unit`", now=90, held=60)
GONE = Message("drift_gone", suite="`dear`", path="`.github/workflows/dear.yml`")
ADDED = WorkflowNote(PLACE, 7, LACKS, adds=True)
MOVED = (
    WorkflowNote(PLACE, 4, LIMIT),
    WorkflowNote(".github/workflows/dear.yml", 1, GONE, there=False),
)
WORKFLOWS = {
    "workflow added": ("same", WorkflowNotes((ADDED,))),
    "workflows added": (
        "same",
        WorkflowNotes((ADDED, WorkflowNote("x/two.yml", 3, LACKS, adds=True)), unread=1),
    ),
    "workflows moved": ("same", WorkflowNotes(MOVED, unread=2)),
    "workflow and policy": ("changed", WorkflowNotes(MOVED[:1])),
}


@pytest.mark.parametrize("language", TABLES)
def test_each_check_of_a_policy_reads_as_its_golden_file(language: str) -> None:
    ctx = replace(s.CTX, policy_ref="main", policy_sha=s.POLICY_SHA, language=language)
    texts = {
        name: show_check(render_policy_check(item, s.SHA, ctx, s.NOW))
        for name, item in PROPOSED.items()
    }
    texts |= {
        name: show_check(render_policy_check(PROPOSED[base], s.SHA, ctx, s.NOW, notes))
        for name, (base, notes) in WORKFLOWS.items()
    }
    said, made = golden("policies", language, texts)
    assert made == said
