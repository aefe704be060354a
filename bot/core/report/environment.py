"""What a failed run ran with that was another version in the suite's last green run."""

from datetime import datetime
from urllib.parse import quote

from bot.core.digest.environment import changed
from bot.core.messages.words import clock, listing, sentences
from bot.core.model.ids import short
from bot.core.model.views import SuiteView
from bot.core.report.context import MarkdownWriter
from bot.core.report.digest import environment_of

_MOST = 8  # differences that are shown


def since_green(writer: MarkdownWriter, view: SuiteView, now: datetime) -> str:
    """Say what changed since the suite's last green run, "" if nothing is known of one."""
    green = view.green
    current = environment_of(view.run_events, view.rayjobs)
    if green is None or not current:
        return ""
    items = [
        writer.text("env_item", name=writer.code(name), old=writer.code(old), new=writer.code(new))
        for name, old, new in changed(green.environment, current)
    ]
    at = {"sha": writer.code(short(green.sha)), "at": clock(green.ended_at, now)}
    if items:
        said = writer.text("env_changed", **at, items=listing(items, _MOST))
    elif green.environment.keys() & current.keys():
        said = writer.text("env_same", **at, n=len(green.environment.keys() & current.keys()))
    else:
        return ""
    return sentences(said, _commits(writer, view, green.sha))


def _commits(writer: MarkdownWriter, view: SuiteView, green: str) -> str:
    """Return a link to the commits since then."""
    if green == view.run.sha:
        return ""
    ctx = writer.ctx
    url = f"{ctx.html_url}/{ctx.full_name}/compare/{quote(green)}...{quote(view.run.sha)}"
    return writer.link("env_commits", url)
