"""Every kind of check of a changed policy as it reads."""

from dataclasses import replace

import pytest

from bot.core.messages import TABLES
from bot.core.report.policy_change import render_policy_check
from tests.core import views as s
from tests.core.proposed import PROPOSED
from tests.core.report.goldens import golden, show_check


@pytest.mark.parametrize("language", TABLES)
def test_each_check_of_a_policy_reads_as_its_golden_file(language: str) -> None:
    ctx = replace(s.CTX, policy_ref="main", policy_sha=s.POLICY_SHA, language=language)
    texts = {
        name: show_check(render_policy_check(item, s.SHA, ctx, s.NOW))
        for name, item in PROPOSED.items()
    }
    said, made = golden("policies", language, texts)
    assert made == said
