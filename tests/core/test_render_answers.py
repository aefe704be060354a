"""What `explain` answers."""

from bot.core.matching import Choice, Selection
from bot.core.planner import Chosen, PolicyAt
from bot.core.render.answers import explained
from bot.core.trust import Trusted
from tests.core.building import a_pull
from tests.core.policies import loaded, with_suite

POLICY = loaded(
    with_suite("paths: ['**']")
    + "  nightly:\n    workflow: n.yml\n    runners: [npu-16]\n    tier: heavy\n    pool: cluster\n"
)


def chosen(*, trusted: bool) -> Chosen:
    choices = (Choice("unit", True, "`a.py` matches `**`"), Choice("nightly", False, "no `paths`"))
    return Chosen(
        pull=a_pull(),
        at=PolicyAt(POLICY, "main", "p" * 40),
        selection=Selection(choices),
        files=(),
        trust=Trusted(trusted, "author and pusher may start runs here"),
        origin="",
        fresh=False,
        pushed=False,
    )


def test_each_suite_says_why_who_and_at_what_cost() -> None:
    text = explained(chosen(trusted=True), ())
    assert "is trusted: author and pusher may start runs here." in text
    assert "| `unit` | yes | `a.py` matches `**` | by itself | triage | 32 NPU-hours" in text
    assert (
        "| `nightly` | no | no `paths` | by command | write | 64 NPU-hours on `cluster` |" in text
    )


def test_an_untrusted_commit_starts_after_an_approval() -> None:
    text = explained(chosen(trusted=False), ("unit",))
    assert "is not trusted" in text
    assert "after an approval" in text
    assert "nightly" not in text
