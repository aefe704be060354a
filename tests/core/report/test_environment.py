"""What a failed check run says of the versions since the suite's last green run."""

from dataclasses import replace

import pytest
from msgspec import structs

from bot.core.messages import Message
from bot.core.model.ids import Sha
from bot.core.model.run_events import LogRead
from bot.core.model.runs import Outcome
from bot.core.model.usual import LastGreen
from bot.core.model.views import SuiteView
from bot.core.report.digest import environment_of
from bot.core.report.suite import suite_check
from tests.core import views as s

OLD = Sha("1a2b3c4d5e6f708192a3b4c5d6e7f80912345678")
NEW = {"torch-npu": "2.8.0", "CANN": "8.2.RC1"}


def view(before: dict[str, str] | None, now: dict[str, str], sha: Sha = OLD) -> SuiteView:
    log = LogRead(1, digest=structs.replace(s.OOM, environment=now))
    run = s.done(Outcome.FAILURE, Message("run_failed"))
    green = None if before is None else LastGreen(sha, s.at("12:10"), before)
    return replace(s.suite(run, s.run_event("14:24", log)), green=green)


def summary(shown: SuiteView, language: str = "en") -> str:
    return suite_check(shown, replace(s.CTX, language=language), s.NOW).summary


COMMITS = f"<https://github.com/verl-project/verl/compare/{OLD}...{s.SHA}>"


CHANGED = (
    "Changed since this suite's last green run (`1a2b3c4`, 12:10 UTC): "
    f"`torch-npu` `2.7.1` → `2.8.0`. [Commits since then]({COMMITS})"
)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (
            {"torch-npu": "2.7.1", "CANN": "8.2.RC1"},
            CHANGED,
        ),
        (NEW, "The 2 versions that both logs tell are the same as in this suite's last green run"),
        ({"CANN": "8.2.RC1"}, "The one version that both logs tell is the same"),
    ],
)
def test_a_failure_says_what_changed_since_the_last_green_run(
    before: dict[str, str], words: str
) -> None:
    assert words in summary(view(before, NEW))
    assert f"1a2b3c4d5e6f708192a3b4c5d6e7f80912345678...{s.SHA}" in summary(view(before, NEW), "zh")


@pytest.mark.parametrize(
    "shown", [view(None, NEW), view({"ray": "2"}, NEW), view({"ray": "2"}, {})]
)
def test_nothing_is_said_where_nothing_can_be_compared(shown: SuiteView) -> None:
    assert "last green run" not in summary(shown)


def test_the_same_commit_has_no_commits_in_between() -> None:
    assert "compare" not in summary(view(NEW, NEW, s.SHA))


def test_a_rayjob_tells_more_than_the_job_that_submitted_it() -> None:
    shown = view(None, {"torch-npu": "1", "python": "3.11"})
    job = s.rayjob(digest=structs.replace(s.OOM, environment={"torch-npu": "2"}))
    told = environment_of(shown.run_events, (job, s.rayjob()))
    assert told == {"torch-npu": "2", "python": "3.11"}
