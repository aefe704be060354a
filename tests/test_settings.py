"""The environment is refused with every mistake at once, and no message holds a secret."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.settings import Settings, SettingsError, is_proxied, pages_of, read_settings

PEM = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n"
GOOD = {
    "GITHUB_APP_ID": "12",
    "GITHUB_PRIVATE_KEY": PEM,
    "GITHUB_WEBHOOK_SECRET": "hook-secret",
}
OURS = {name.upper() for name in Settings.model_fields}


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Give each test an environment without our variables, and back what there was."""
    kept = dict(os.environ)
    for name in OURS & kept.keys():
        del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(kept)


def read(**changes: str | None) -> Settings:
    for name, value in {**GOOD, **changes}.items():
        if value is not None:
            os.environ[name] = value
    return read_settings(Settings)


def problems(**changes: str | None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read(**changes)
    assert caught.value.__cause__ is None
    return caught.value.problems


def test_three_variables_are_enough() -> None:
    settings = read()
    assert settings.github_app_id == 12
    assert settings.github_api_url == "https://api.github.com"
    assert settings.database_url.startswith("sqlite")


def test_every_mistake_is_said_at_once_each_by_its_variable() -> None:
    said = problems(
        GITHUB_APP_ID="zero",
        GITHUB_PRIVATE_KEY=None,
        GITHUB_WEBHOOK_SECRET="",
        PORT="70000",
        POLL_SECONDS="0",
        RETENTION_DAYS="-1",
        SUBMITTER_URL="ftp://x",
        LOG_LEVEL="LOUD",
    )
    names = {line.partition(":")[0] for line in said}
    assert len(said) == 8
    assert {"GITHUB_APP_ID", "GITHUB_PRIVATE_KEY", "GITHUB_WEBHOOK_SECRET", "PORT"} <= names
    assert {"POLL_SECONDS", "RETENTION_DAYS", "SUBMITTER_URL", "LOG_LEVEL"} <= names
    assert "GITHUB_PRIVATE_KEY: is required" in said


def test_no_message_and_no_text_of_the_settings_holds_a_secret() -> None:
    said = problems(
        GITHUB_APP_ID="x",
        GITHUB_PRIVATE_KEY="sEcReT-key-that-is-no-pem",
        GITHUB_WEBHOOK_SECRET="sEcReT-hook,",
        SUBMITTER_TOKEN="sEcReT-token",
    )
    assert "sEcReT" not in "\n".join(said)
    settings = read(GITHUB_APP_ID="1", GITHUB_PRIVATE_KEY=PEM, GITHUB_WEBHOOK_SECRET="sEcReT-hook")
    for secret in ("sEcReT", "c2VjcmV0"):
        assert secret not in f"{settings!r} {settings}"


def test_a_key_may_hold_literal_line_ends_or_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(PEM)
    for value in (PEM, PEM.replace("\n", "\\n"), str(file)):
        assert read(GITHUB_PRIVATE_KEY=value).github_private_key.get_secret_value() == PEM


@pytest.mark.parametrize("value", ["", "/no/such/file", "/", "a" * 5000, "\0"])
def test_a_key_that_is_neither_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="must be a PEM private key"):
        Settings(
            github_app_id=1,
            github_private_key=value,
            github_webhook_secret="x",
        )


def test_two_secrets_count_while_rotating() -> None:
    secrets = read(GITHUB_WEBHOOK_SECRET="old, new").github_webhook_secret
    assert [secret.get_secret_value() for secret in secrets] == ["old", "new"]


@pytest.mark.parametrize("value", ["", " ", ",", "old,", ",new", "old, ,new"])
def test_an_empty_secret_is_refused_at_the_start(value: str) -> None:
    [said] = problems(GITHUB_WEBHOOK_SECRET=value)
    assert "must not be empty" in said


def test_a_policy_file_has_to_be_there(tmp_path: Path) -> None:
    [said] = problems(POLICY_FILE=str(tmp_path / "none.yml"))
    assert said.startswith("POLICY_FILE: there is no file")


def test_a_slash_at_the_end_of_an_address_is_dropped() -> None:
    settings = read(GITHUB_API_URL="https://ghe.example/api/v3/", SUBMITTER_URL="http://s:1/")
    assert settings.github_api_url == "https://ghe.example/api/v3"
    assert settings.submitter_url == "http://s:1"
    assert pages_of(str(settings.github_api_url)) == "https://ghe.example"
    assert pages_of("https://api.github.com") == "https://github.com"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://user:secret@x/y", "must be sqlite:///FILE or postgresql+asyncpg://"),
        ("sqlite:////nope/x.db", "there is no folder /nope for the database's file"),
        ("sqlite+aiosqlite:////nope/x.db", "there is no folder /nope for the database's file"),
        ("", "must be sqlite:///FILE"),
    ],
)
def test_a_database_that_is_none_of_ours_is_refused_without_its_password(
    url: str, said: str
) -> None:
    [problem] = problems(DATABASE_URL=url)
    assert problem.startswith(f"DATABASE_URL: {said}")
    assert "secret" not in problem


def test_a_broken_policy_file_is_refused_by_its_first_mistake(tmp_path: Path) -> None:
    file = tmp_path / "policy.yml"
    file.write_text("version: 1\nrunners: {}\nsuites: 3\nnope: 1\n")
    [problem] = problems(POLICY_FILE=str(file))
    assert problem.startswith(f"POLICY_FILE: {file} has errors: line ") or "has errors" in problem
    assert " more" in problem


def test_a_folder_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    [problem] = problems(DATA_DIR=str(tmp_path / "file" / "data"))
    assert problem == f"DATA_DIR: {tmp_path / 'file'} is no folder that can be written to"


def test_a_proxy_is_looked_for_if_the_environment_names_one() -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    assert not is_proxied()
    os.environ["NO_PROXY"] = "*"
    assert not is_proxied()
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy"):
        os.environ[name] = "http://proxy.example:3128"
        assert is_proxied(), name
        del os.environ[name]
