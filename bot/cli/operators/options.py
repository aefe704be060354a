"""Options that several operators' commands share, in a module that is quick to import."""

import os
import pwd
import re
from functools import partial

import click

from bot.core.github.markdown import one_line

_REPO = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}|[0-9]{1,18}", re.ASCII).fullmatch


def _nonblank(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty text: people read it, and the audit keeps it."""
    if value is not None and not value.strip():
        raise click.BadParameter("must not be empty")
    return value.strip() if value else value


def _operator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a name that nobody takes for an account on GitHub, None if there is none."""
    found = _system_user() if value is None else value
    if found is None:
        return None
    return f"{_nonblank(ctx, param, one_line(found))} (command line)"


def _an_operator(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    name = _operator(ctx, param, value)
    if name is None:
        raise click.MissingParameter(ctx=ctx, param=param)
    return name


def _system_user() -> str | None:
    """Return the name of the process's user; None where the system knows none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container may run as any number
        return None


def _named(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _REPO(value):
        raise click.BadParameter("must be OWNER/NAME or the repository's number")
    return value


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_BY = "Your name, for check runs and the audit; default: $USER, or the system's user."
by = click.option("--by", envvar="USER", callback=_an_operator, help=_BY)
by_or_none = click.option("--by", envvar="USER", callback=_operator, help=_BY)
repo = click.option("--repo", metavar="O/N", callback=_named, help="Only this repository.")
number = click.option("--pr", "number", type=click.IntRange(min=1), help="Only this pull request.")
limit = click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Number of rows, newest first.",
)

_WHY = "The reason: people read it, and the audit keeps it."
_reason = partial(click.option, "--reason", metavar="T", callback=_nonblank, help=_WHY)
reason, required_reason = _reason(), _reason(required=True)
