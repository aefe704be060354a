from datetime import UTC, datetime

import pytest

from bot.core.model.ids import RepoId, RunId
from bot.core.model.rayjobs import unconfirmed
from bot.core.model.repos import Repo
from bot.core.rayjob.record import RayJobRecord, parse_record, parse_records, parse_time
from bot.core.rayjob.words import FinalStatus, RayJobId

REPO = Repo(RepoId(7), "octo", "verl", "main")
FULL = {
    "job_id": "verl-1-1-e2e",
    "status": "RUNNING",
    "message": "step 3",
    "rayjob_status": "RUNNING",
    "job_deployment_status": "Running",
    "github_run_id": "16400120077",
    "github_run_attempt": 2,
    "commit_sha": "abc",
    "created_at": "2026-07-15T17:04:05Z",
    "ended_at": None,
}


@pytest.mark.parametrize(
    ("word", "status", "tells_the_end"),
    [
        ("SUCCEEDED", FinalStatus.SUCCEEDED, True),
        (" SUCCEEDED\n", FinalStatus.SUCCEEDED, True),
        ("FAILED", FinalStatus.FAILED, True),
        ("TIMEOUT", FinalStatus.TIMEOUT, True),
        ("NOT_FOUND", FinalStatus.NOT_FOUND, False),
        ("STOPPED", FinalStatus.STOPPED, False),
        ("succeeded", FinalStatus.OTHER, False),
        ("SUCCEEDED_PARTLY", FinalStatus.OTHER, False),
        ("", FinalStatus.OTHER, False),
    ],
)
def test_words_are_compared_exactly_and_few_tell_the_end(
    word: str, status: FinalStatus, tells_the_end: bool
) -> None:
    found = FinalStatus.of(word)
    assert found is status
    assert found.tells_the_end is tells_the_end


def test_a_full_record_is_read_with_ids_as_numbers_and_times_as_utc() -> None:
    assert parse_record(FULL) == RayJobRecord(
        job_id=RayJobId("verl-1-1-e2e"),
        status="RUNNING",
        message="step 3",
        rayjob_status="RUNNING",
        job_deployment_status="Running",
        github_run_id=16400120077,
        github_run_attempt=2,
        commit_sha="abc",
        created_at=datetime(2026, 7, 15, 17, 4, 5, tzinfo=UTC),
    )


def test_missing_null_and_odd_fields_are_empty() -> None:
    odd = {"status": None, "message": 5, "github_run_id": True, "github_run_attempt": "two"}
    assert parse_record({"job_id": "j", **odd, "created_at": 7, "more": []}) == RayJobRecord(
        RayJobId("j")
    )


def test_an_answer_without_id_is_of_the_job_asked_for() -> None:
    assert parse_record({"status": "FAILED"}, "asked") == RayJobRecord(RayJobId("asked"), "FAILED")


@pytest.mark.parametrize("data", [None, [], "text", {}, {"job_id": ""}, {"job_id": 4}])
def test_what_names_no_job_is_no_record(data: object) -> None:
    assert parse_record(data) is None


def test_a_list_keeps_its_records_and_leaves_the_rest() -> None:
    assert parse_records({"jobs": [{"job_id": "a"}, None, {"x": 1}, {"job_id": "b"}]}) == (
        RayJobRecord(RayJobId("a")),
        RayJobRecord(RayJobId("b")),
    )


@pytest.mark.parametrize("data", [None, [], {}, {"jobs": None}, {"jobs": {}}])
def test_what_holds_no_list_is_no_answer(data: object) -> None:
    assert parse_records(data) is None


@pytest.mark.parametrize(
    ("words", "final"),
    [
        ({"status": "RUNNING"}, None),
        ({"status": "PENDING", "job_deployment_status": "Complete"}, None),
        ({"status": "SUCCEEDED"}, FinalStatus.SUCCEEDED),
        ({"status": "NOT_FOUND"}, FinalStatus.NOT_FOUND),
        ({"status": "OTHER"}, None),
        ({"status": "EVICTED", "ended_at": "2026-07-15T17:04:05Z"}, FinalStatus.OTHER),
        ({}, None),
        ({"rayjob_status": "SUCCEEDED", "job_deployment_status": "Running"}, None),
        (
            {"rayjob_status": "SUCCEEDED", "job_deployment_status": "Complete"},
            FinalStatus.SUCCEEDED,
        ),
        ({"rayjob_status": "STOPPED", "job_deployment_status": "Complete"}, FinalStatus.STOPPED),
        ({"rayjob_status": "SUCCEEDED", "job_deployment_status": "Failed"}, FinalStatus.FAILED),
        ({"job_deployment_status": "ValidationFailed"}, FinalStatus.FAILED),
        ({"job_deployment_status": "Complete"}, FinalStatus.OTHER),
    ],
)
def test_a_record_tells_its_end_by_status_first(
    words: dict[str, str], final: FinalStatus | None
) -> None:
    record = parse_record({"job_id": "j", **words})
    assert record is not None
    assert record.final is final


def test_a_record_belongs_only_to_the_run_attempt_it_names() -> None:
    record = parse_record(FULL)
    assert record is not None
    assert record.belongs_to(REPO, 16400120077, 2)
    assert not record.belongs_to(REPO, 16400120077, 1)
    assert not record.belongs_to(REPO, 1, 2)
    assert not RayJobRecord(RayJobId("j")).belongs_to(REPO, 1, 1)


@pytest.mark.parametrize(
    ("named", "belongs", "is_proven"),
    [
        ({}, True, False),
        ({"repository": "Octo/VERL"}, True, False),
        ({"repository": "octo/other"}, False, False),
        ({"repository": "octo/verl", "repository_id": None}, True, False),
        ({"repository": "octo/verl", "repository_id": 7}, True, True),
        ({"repository": "octo/its-old-name", "repository_id": 7}, True, True),
        ({"repository": "octo/verl", "repository_id": 8}, False, True),
    ],
)
def test_a_record_belongs_only_to_the_repository_it_names_by_number_if_that_is_proven(
    named: dict[str, object], belongs: bool, is_proven: bool
) -> None:
    record = parse_record({**FULL, **named})
    assert record is not None
    assert record.belongs_to(REPO, 16400120077, 2) is belongs
    assert record.is_proven is is_proven


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-07-15T19:04:05.5+02:00", datetime(2026, 7, 15, 17, 4, 5, 500000, tzinfo=UTC)),
        ("2026-07-15T17:04:05", None),
        ("0001-01-01T00:00:00+10:00", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_a_time_needs_an_offset(text: object, time: datetime | None) -> None:
    assert parse_time(text) == time


def test_an_id_longer_than_64_bits_is_none() -> None:
    record = parse_record({"job_id": "j", "github_run_id": "9" * 5000, "github_run_attempt": "²"})
    assert record == RayJobRecord(RayJobId("j"))


def test_a_named_rayjob_waits_for_the_submitters_word_where_there_is_one() -> None:
    named = unconfirmed(RunId("01J5"), "rj-1", "log", submitter=True)
    assert (named.confirmed, named.final, named.complete) == (False, None, False)
    alone = unconfirmed(RunId("01J5"), "rj-1", "log", submitter=False)
    assert (alone.confirmed, alone.final, alone.complete) == (True, "UNKNOWN", True)
