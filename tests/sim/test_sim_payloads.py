"""GitHub's example payloads, and how a shape is made from one."""

from datetime import UTC, datetime

import pytest

from bot.sim.payloads import FOLDER, HOSTS, WORDS, example, fields

URL = "http://127.0.0.1:1"


def test_a_word_is_replaced_wherever_it_stands() -> None:
    made = example("check_run", URL, repo="a/b", id=7, sha="f" * 40)
    assert made["id"] == 7
    assert made["url"] == f"{URL}/repos/a/b/check-runs/7"
    assert made["html_url"] == f"{URL}/a/b/runs/7"
    assert made["output"]["annotations_url"] == f"{URL}/repos/a/b/check-runs/7/annotations"
    assert made["head_sha"] == "f" * 40


def test_a_word_that_looks_like_another_stays_what_it_is() -> None:
    made = example("user", URL, login=WORDS["id"], id=7)
    assert (made["login"], made["id"]) == (WORDS["id"], 7)


def test_a_word_of_any_characters_is_one_text() -> None:
    assert example("user", URL, login='a"b\\c\né', id=7)["login"] == 'a"b\\c\né'


def test_a_missing_word_is_an_error() -> None:
    with pytest.raises(KeyError):
        example("user", URL, login="mia")


def test_each_copy_is_ones_own() -> None:
    first, second = (example("check_run", URL, repo="a/b", id=7, sha="f") for _ in range(2))
    first["output"]["title"] = "changed"
    assert second["output"]["title"] is None


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.iterdir()))
def test_nothing_of_the_example_itself_is_left(name: str) -> None:
    made = str(example(name, URL, **dict.fromkeys(WORDS, 0)))
    assert not [word for word in (*HOSTS, *WORDS.values()) if word in made]


def test_fields_are_taken_by_name_with_times_as_text() -> None:
    class Record:
        created_at = datetime(2026, 3, 10, 9, 30, tzinfo=UTC)
        closed_at = None
        title = "T"

    assert fields(Record(), "title", "created_at", "closed_at") == {
        "title": "T",
        "created_at": "2026-03-10T09:30:00Z",
        "closed_at": None,
    }
