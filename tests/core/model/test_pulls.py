"""What is known of a pull request stays known when GitHub tells less."""

from dataclasses import replace

from bot.core.model.pulls import PullAt
from tests.core.building import a_pull, at

PULL = a_pull(updated_at=at(1))


def test_the_time_of_a_new_base_is_kept() -> None:
    assert PULL.after(replace(PULL, base_ref="old")).based_at == at(1)
    assert PULL.after(replace(PULL, based_at=at(-1))).based_at == at(-1)
    moved = replace(PULL, based_at=at(0))
    assert moved.after(replace(PULL, based_at=at(-1))).based_at == at(0)


def test_reports_differ_by_what_decides_about_runs() -> None:
    for change in ({"head_sha": "b" * 40}, {"open": False}, {"draft": True}, {"base_ref": "old"}):
        assert PULL.differs(replace(PULL, **change))
    assert not PULL.differs(replace(PULL, updated_at=at(2), changed_files=9))


def test_a_deleted_fork_is_the_one_that_it_was() -> None:
    gone = replace(PULL, head_repo_id=None)
    assert gone.after(replace(PULL, head_repo_id=9)).head_repo_id == 9
    assert PULL.after(replace(PULL, head_repo_id=9)).head_repo_id == PULL.head_repo_id


def test_a_pull_request_at_a_commit_is_told_anew() -> None:
    item = PullAt(PULL, at(0))
    assert item.after(None) == item
    before = PullAt(replace(PULL, based_at=at(-1)), at(-5))
    assert item.after(before) == PullAt(replace(PULL, based_at=at(-1)), at(0))
