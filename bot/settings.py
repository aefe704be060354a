"""The settings: the environment, read once; all mistakes together, and no secret printed."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.request import getproxies

from pydantic import AfterValidator, Field, HttpUrl, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Kind = TypeVar("Kind", bound=BaseSettings)

DEFAULT_DATABASE = "sqlite:///ascend-ci.db"


class SettingsError(Exception):
    """The settings are wrong; ``problems`` names each variable once."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


Url = Annotated[HttpUrl, AfterValidator(lambda url: str(url).rstrip("/"))]

_SQLITE, _POSTGRES = "sqlite:///", "postgresql+asyncpg://"
_SQLITE_BY_DRIVER = "sqlite+aiosqlite:///"  # as URLs for SQLAlchemy often are; no driver is needed


def _openable(url: str) -> str:
    """Refuse an unusable database URL; the message omits it, because it may have a password."""
    if url.startswith((_SQLITE, _SQLITE_BY_DRIVER)):
        folder = Path(url.partition(":///")[2].partition("?")[0]).parent
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder} for the database's file")
    elif not url.startswith(_POSTGRES):
        raise ValueError(f"must be {_SQLITE}FILE or {_POSTGRES}USER:PASSWORD@HOST/NAME")
    elif find_spec("asyncpg") is None:
        raise ValueError("PostgreSQL needs its driver: pip install 'ascend-ci[postgres]'")
    return url


Database = Annotated[str, AfterValidator(_openable)]


class Settings(BaseSettings):
    """The settings; each field is the environment variable of the same name in capitals."""

    model_config = SettingsConfigDict(extra="ignore", env_ignore_empty=False, frozen=True)

    github_app_id: int = Field(gt=0)
    github_private_key: SecretStr
    github_webhook_secret: Annotated[tuple[SecretStr, ...], NoDecode]
    github_api_url: Url = Field(default=HttpUrl("https://api.github.com"), validate_default=True)
    github_api_version: str = "2026-03-10"
    github_oidc_issuer: Url = Field(
        default=HttpUrl("https://token.actions.githubusercontent.com"), validate_default=True
    )
    github_oidc_audience: str = Field(default="ascend-ci", min_length=1)
    github_writes_per_second: float = Field(default=1.0, gt=0)
    submitter_url: Url | None = None
    submitter_token: SecretStr | None = None
    database_url: Database = DEFAULT_DATABASE
    replica_name: str = ""
    data_dir: Path = Path("ascend-ci-data")
    public_url: Url | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    policy_file: Path | None = None
    poll_seconds: float = Field(default=60.0, gt=0)
    retention_days: int = Field(default=90, gt=0)
    audit_days: int = Field(default=365, gt=0)
    dashboard: Literal["public", "token", "off"] = "token"
    dashboard_token: SecretStr | None = None
    metrics_token: SecretStr | None = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"

    @field_validator("github_webhook_secret", mode="before")
    @classmethod
    def _split_secrets(cls, value: object) -> object:
        """Accept one secret, or two separated by a comma during a rotation."""
        if not isinstance(value, str):
            return value
        secrets = tuple(part.strip() for part in value.split(","))
        if not all(secrets):
            raise ValueError("must not be empty: without a secret anybody could send webhooks")
        return secrets

    @field_validator("dashboard_token", "metrics_token")
    @classmethod
    def _not_empty(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().strip():
            raise ValueError("must not be empty: unset it, or set a token")
        return value

    @field_validator("github_private_key", mode="before")
    @classmethod
    def _read_key(cls, value: object) -> object:
        r"""Accept PEM text, also with literal ``\n``, or the path of a PEM file."""
        if not isinstance(value, str):
            return value
        if "-----BEGIN" in value:
            return value.replace("\\n", "\n")
        try:
            text = Path(value).read_text(encoding="utf-8")
        except (OSError, ValueError):
            text = ""
        if "-----BEGIN" not in text:
            msg = "must be a PEM private key, or the path of a readable file that holds one"
            raise ValueError(msg)
        return text

    @field_validator("policy_file")
    @classmethod
    def _policy_is_one(cls, value: Path | None) -> Path | None:
        from bot.core.policy.loading import PolicyErrors, load_policy  # noqa: PLC0415  needed by few

        if value is None:
            return None
        if not value.is_file():
            raise ValueError(f"there is no file {value}")
        policy = load_policy(value.read_bytes())
        if isinstance(policy, PolicyErrors):
            first, more = policy.errors[0], len(policy.errors) - 1
            msg = f"{value} has errors: {first}"
            raise ValueError(f"{msg}, and {more} more" if more else msg)
        return value

    @field_validator("data_dir")
    @classmethod
    def _can_be_written(cls, value: Path) -> Path:
        there = next(path for path in (value, *value.absolute().parents) if path.exists())
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise ValueError(f"{there} is no folder that can be written to")
        return value


class OperatorSettings(BaseSettings):
    """The settings of operators' commands: the database, and no secret of the app."""

    model_config = SettingsConfigDict(extra="ignore", env_ignore_empty=False, frozen=True)

    github_api_url: Url = Field(default=HttpUrl("https://api.github.com"), validate_default=True)
    database_url: Database = DEFAULT_DATABASE
    policy_file: Path | None = None


def pages_of(api_url: str) -> str:
    """Return the address of GitHub's pages for an API address (also an Enterprise Server's)."""
    if api_url == "https://api.github.com":
        return "https://github.com"
    return api_url.removesuffix("/api/v3")


def is_proxied() -> bool:
    """Return True if the environment names a proxy: only then may aiohttp look for one.

    It looks anew at each call, in two visits to threads. One of them reads a `.netrc` file, and
    credentials that it finds there make it refuse a call that brings its own.
    """
    return any(scheme != "no" for scheme in getproxies())


# Plain sentences for pydantic's errors.
_PLAIN = {
    "missing": "is required",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "url_parsing": "must be a whole URL, such as https://host.example",
    "url_scheme": "must begin with https:// or http://",
}


def read_settings(kind: type[Kind]) -> Kind:
    """Read the environment; raise ``SettingsError`` with all mistakes."""
    try:
        return kind()
    except ValidationError as error:
        problems = tuple(_words(item["loc"], item["type"], item["msg"]) for item in error.errors())
        raise SettingsError(problems) from None  # the cause would print secrets


def _words(where: tuple[int | str, ...], kind: str, message: str) -> str:
    name = str(where[0]).upper() if where else ""
    said = message.removeprefix("Value error, ")
    said = _PLAIN.get(kind, said)
    return f"{name}: {said}" if name else said
