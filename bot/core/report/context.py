"""The settings of a report, and the writer that makes its texts safe."""

from dataclasses import dataclass
from urllib.parse import quote

from bot.core.github import markdown
from bot.core.github.limits import TITLE_CHARS
from bot.core.messages import Field, Messages
from bot.core.model.ids import short
from bot.core.model.runs import Run
from bot.core.model.views import Button
from bot.core.planning.offers import line, start_line
from bot.core.report.plot_links import PlotLinks
from bot.core.secrets.redaction import Redactor


@dataclass(frozen=True, slots=True)
class Context:
    """The place of a report and its links; with ``external_id`` "" the run's id is used."""

    full_name: str  # owner/name of the repository
    public_url: str = ""  # of the dashboard, without a slash at its end; "": no links to it
    html_url: str = "https://github.com"
    gate: str = "ascend-ci"
    policy_ref: str = ""  # of the gate's policy, where no selection names one
    policy_sha: str = ""
    unprotected: str = ""  # a base whose own policy does not count
    external_id: str = ""
    language: str = "en"
    redact: tuple[str, ...] = ()  # the policy's `log.redact`
    plots: PlotLinks | None = None  # None: the repository is not public, or plots are off


class MarkdownWriter:
    """Writes sentences; everything from outside goes through ``prose``, ``code`` or ``redact``."""

    def __init__(self, ctx: Context, redact: tuple[str, ...] = ()) -> None:
        self.ctx = ctx
        self.messages = Messages(ctx.language)
        self.redact = Redactor((*ctx.redact, *redact))

    def text(self, key: str, /, **fields: Field) -> str:
        """Return the sentence ``key`` in the reader's language; its fields are Markdown."""
        return self.messages(key, **fields)

    def count(self, what: str, many: int) -> str:
        """Return ``1 suite`` or ``3 suites``."""
        return self.text(f"count_{what}", n=many)

    def button(self, name: str) -> Button:
        """Return a button; its name is the identifier that GitHub sends back."""
        return Button(name, self.text(f"button_{name}"), self.text(f"button_{name}_why"))

    def prose(self, text: str) -> str:
        """Return a sentence as Markdown that keeps its `code`, without a full stop."""
        return markdown.prose(self.redact(self.messages.render(text))).rstrip(". 。")

    def code(self, text: str) -> str:
        """Return inline code."""
        return markdown.code(self.redact(text))

    def words(self, text: str) -> str:
        """Return plain words for a title: no Markdown is read there."""
        said = self.redact(self.messages.render(text)).replace("`", "")
        return markdown.title(said).rstrip(". 。")

    def fit_title(self, text: str, limit: int = TITLE_CHARS) -> str:
        """Return a title within a limit of characters, by default GitHub's."""
        return markdown.headline(text, limit)

    def command(self, *words: str, sha: str = "") -> str:
        """Return a command to type, as code; with ``sha`` it also works on a former head."""
        return markdown.code(line(*words, sha=sha))

    def start(self, *suites: str, sha: str = "") -> str:
        """Return the command that starts suites, as code; options may follow them."""
        return markdown.code(start_line(*suites, sha=sha))

    def link(self, key: str, url: str) -> str:
        """Return a link; "" if there is no address."""
        url = address(url)
        return f"[{self.text(key)}](<{url}>)" if url else ""

    def actions(self, run: Run) -> str:
        """Return a link to the Actions run of a run, or its name where there is no address."""
        return self.link("link_actions", run.actions_url) or self.text("link_actions")

    def check_link(self, check_id: int | None) -> str:
        """Return a link to a check run; "" if GitHub does not show it yet."""
        if check_id is None:
            return ""
        return self.link("link_check", f"{self.ctx.html_url}/{self.ctx.full_name}/runs/{check_id}")

    def page(self, run: Run, part: str = "") -> str:
        """Return the address of a run's page; "" if there is no dashboard."""
        return f"{self.ctx.public_url}/runs/{run.id}{part}" if self.ctx.public_url else ""

    def policy(self, ref: str, sha: str) -> str:
        """Return a sentence that names the policy; "" if the policy is not known."""
        if not (ref and sha):
            return ""
        return self.text("policy", ref=self.code(ref), sha=self.code(short(sha)))

    def unprotected(self, base: str) -> str:
        """Say that a listed base has no policy of its own, "" for no base."""
        return self.text("policy_unprotected", base=self.code(base)) if base else ""


def address(url: str) -> str:
    """Return a URL that is safe inside a Markdown link; "" if it is no web address."""
    if not url.startswith(("https://", "http://")):
        return ""
    return quote(url, safe="%/:=&?~#+,;@$()'*[]!", errors="replace")
