"""The pages: what a person sees of checks and comments, and does there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from bot.sim import SimGitHub
from bot.sim.model import CheckRun, Pull
from bot.sim.views import rendered
from tests.sim.conftest import Inbox

PROJECT = "/octo/project"
BUTTON = {"label": "Approve & run", "description": "Let it run", "identifier": "approve"}
NOTE = {"path": "a.py", "start_line": 3, "end_line": 3, "annotation_level": "failure"}


@dataclass
class Browser:
    """Looks at pages and sends their forms, as one person."""

    github: SimGitHub
    session: aiohttp.ClientSession

    async def page(self, path: str, status: int = 200, **headers: str) -> str:
        async with self.session.get(self.github.url + path, headers=headers) as answer:
            assert answer.status == status
            return await answer.text()

    async def live(self, path: str) -> str:
        return await self.page(f"{path}{'&' if '?' in path else '?'}part=live")

    async def send(self, deed: str, /, *, origin: str = "", **form: Any) -> Any:
        """Send a form; return the status and where it leads, or what went wrong."""
        headers = {"Origin": origin} if origin else {}
        url = f"{self.github.url}/_page/{deed}"
        async with self.session.post(
            url, data=form, headers=headers, allow_redirects=False
        ) as answer:
            return answer.status, answer.headers.get("Location") or await answer.text()


@pytest.fixture
async def browser(github: SimGitHub) -> AsyncIterator[Browser]:
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Browser(github, session)


@pytest.fixture
def pull(github: SimGitHub) -> Pull:
    return github.people.open_pull("wes", {"a.py": "1"})


Write = Callable[..., CheckRun]


@pytest.fixture
def write(github: SimGitHub, pull: Pull) -> Write:
    """Let the app write a check run on the pull request's head."""

    def write(name: str = "Ascend / e2e", title: str = "Title", **more: Any) -> CheckRun:
        app = github.state.the_app()
        assert app.bot is not None
        output = {"title": title, "summary": "", **more.pop("output", {})}
        body = {"name": name, "head_sha": pull.head_sha, "output": output, **more}
        return github.checks.create(pull.repo, app, body, app.bot)

    return write


def test_markdown_is_rendered() -> None:
    text = (
        "**b** `c` ~~d~~\n\n| a | b |\n|---|---|\n| [run](<http://x/1>) | passed |\n<!-- mark -->"
    )
    html = rendered(text)
    for part in ("<strong>b</strong>", "<code>c</code>", "<s>d</s>", "<td>passed</td>"):
        assert part in html
    assert '<a href="http://x/1">run</a>' in html
    assert "mark" not in html


def test_text_can_be_folded_but_code_stays_code() -> None:
    html = rendered("<details><summary>More</summary>\n\ntext\n\n</details>\n\n`<details>`")
    assert "<details><summary>More</summary>" in html
    assert "<code>&lt;details&gt;</code>" in html


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "<javascript:alert(1)>",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](javascript:alert(1))",
        '<details open ontoggle="alert(1)">',
        "<details/onclick=alert(1)>",
        '[x](http://a "\\" onmouseover=alert(1)")',
    ],
)
def test_hostile_text_is_inert(hostile: str) -> None:
    html = rendered(hostile).lower()
    assert "<script" not in html
    assert "<img src=x" not in html
    assert "<details " not in html
    assert "<details/" not in html
    assert 'href="javascript' not in html
    assert 'src="javascript' not in html
    assert 'href="data:' not in html
    assert '" onmouseover' not in html


HOSTILE = "<script>alert(1)</script>"


async def test_whoever_writes_it_no_page_runs_a_text(
    browser: Browser, github: SimGitHub, pull: Pull, write: Write
) -> None:
    github.people.edit_title(pull, HOSTILE)
    github.people.comment(pull, "bob", HOSTILE)
    button = dict.fromkeys(BUTTON, HOSTILE[:20])
    run = write(
        f"x{HOSTILE}",
        HOSTILE,
        output={
            "title": HOSTILE,
            "summary": HOSTILE,
            "text": HOSTILE,
            "annotations": [NOTE | {"message": HOSTILE, "title": HOSTILE}],
        },
        conclusion="failure",
        actions=[button],
        details_url="javascript:alert(1)",
    )
    job = github.actions.native(pull, "e2e.yml")
    github.actions.finish(job, log=HOSTILE)
    for path in (
        PROJECT,
        f"{PROJECT}/pull/1",
        f"{PROJECT}/pull/1/checks",
        f"{PROJECT}/runs/{run.id}",
        f"{PROJECT}/actions/runs/{job.id}",
    ):
        text = await browser.page(path)
        assert "&lt;script&gt;" in text
        assert text.count("<script") == 1  # the page's own
        assert "javascript:" not in text


async def test_a_page_forbids_what_does_not_come_from_it(browser: Browser) -> None:
    async with browser.session.get(f"{browser.github.url}/") as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
    assert "unsafe" not in policy


async def test_the_checks_tab_lists_checks_by_app_and_shows_one(
    browser: Browser, github: SimGitHub, pull: Pull, write: Write
) -> None:
    write("ascend-ci", "1 suite passed", conclusion="success")
    output = {"summary": "**why**", "text": "more", "annotations": [NOTE | {"message": "here"}]}
    failed = write("Ascend / e2e", "Broken in a.py:3", conclusion="failure", output=output)
    github.actions.native(pull, "e2e.yml")
    text = await browser.live(f"{PROJECT}/pull/1/checks")
    assert text.index("<h2>ascend-ci") < text.index("<h2>Two nodes <small>on: pull_request")
    assert "<h2>Broken in a.py:3</h2>" in text  # what failed is shown first
    assert "<strong>why</strong>" in text
    assert "on line 3 in <code>a.py</code>" in text
    assert [text.count(f'class="icon {state}"') for state in ("success", "failure")] == [1, 2]
    other = next(run for run in github.check_runs() if run.name == "ascend-ci")
    assert "<h2>1 suite passed</h2>" in await browser.live(
        f"{PROJECT}/pull/1/checks?check_run_id={other.id}"
    )
    assert "<h2>Broken in a.py:3</h2>" in await browser.live(f"{PROJECT}/runs/{failed.id}")


async def test_githubs_buttons_and_the_apps_are_told_apart(browser: Browser, write: Write) -> None:
    write(conclusion="action_required", actions=[BUTTON])
    text = await browser.live(f"{PROJECT}/pull/1/checks")
    header, _, rest = text.partition("</header>")
    assert "↻ Re-run<" in header
    assert "Re-run all checks" in header
    assert "Approve" not in header
    group = rest.partition("<fieldset")[2].partition("</fieldset>")[0]
    assert "<legend>Actions of the app ascend-ci</legend>" in group
    assert "Approve &amp; run</button>" in group
    assert "Let it run" in group
    assert "Re-run" not in group


async def test_a_running_check_has_no_buttons(browser: Browser, write: Write) -> None:
    write(status="in_progress")
    text = await browser.live(f"{PROJECT}/pull/1/checks")
    assert "↻ Re-run<" not in text
    assert "<fieldset" not in text


async def test_a_replaced_check_run_points_to_the_newer_one(browser: Browser, write: Write) -> None:
    old = write(conclusion="failure")
    new = write(title="Running", status="in_progress")
    text = await browser.live(f"{PROJECT}/pull/1/checks?check_run_id={old.id}")
    assert f'check_run_id={new.id}">Running</a>' in text.partition('class="flash"')[2]


async def test_an_earlier_commits_checks_can_be_looked_at(
    browser: Browser, github: SimGitHub, pull: Pull, write: Write
) -> None:
    old = pull.head_sha
    write(title="Superseded", conclusion="cancelled")
    github.people.push(pull, {"a.py": "2"})
    text = await browser.live(f"{PROJECT}/pull/1/checks")
    assert "No checks on this commit yet." in text
    assert f"checks?sha={old}" in text
    assert "Superseded" in await browser.live(f"{PROJECT}/pull/1/checks?sha={old}")


async def test_the_conversation_shows_comments_and_reactions(
    browser: Browser, github: SimGitHub, pull: Pull, write: Write
) -> None:
    write(title="Passed in 3 s", conclusion="success")
    app = github.state.the_app()
    assert app.bot is not None
    github.people.write_comment(pull, app.bot, "| a |\n|---|\n| done |", app)
    text = await browser.live(f"{PROJECT}/pull/1")
    assert "<td>done</td>" in text
    assert '<span class="badge">bot</span>' in text
    assert "Passed in 3 s" in text


async def test_the_live_part_follows_and_leaves_the_comment_box_out(
    browser: Browser, github: SimGitHub, pull: Pull
) -> None:
    page, before = await browser.page(f"{PROJECT}/pull/1"), await browser.live(f"{PROJECT}/pull/1")
    assert before in page
    assert "<textarea" in page
    assert "<textarea" not in before
    github.people.comment(pull, "mia", "hello there")
    assert "hello there" in await browser.live(f"{PROJECT}/pull/1")


async def test_an_unchanged_part_is_not_sent_again(browser: Browser, pull: Pull) -> None:
    url = f"{browser.github.url}{PROJECT}/pull/{pull.number}?part=live"
    async with browser.session.get(url) as answer:
        tag = answer.headers["ETag"]
    async with browser.session.get(url, headers={"If-None-Match": tag}) as answer:
        assert (answer.status, await answer.read()) == (304, b"")


async def test_the_files_of_the_pages_are_served(browser: Browser) -> None:
    assert "prefers-color-scheme: dark" in await browser.page("/_static/github.css")
    assert "refresh()" in await browser.page("/_static/live.js")
    assert "<svg" in await browser.page("/_static/icon.svg")


async def test_a_person_comments_and_presses(
    browser: Browser, github: SimGitHub, pull: Pull, write: Write, inbox: Inbox
) -> None:
    run = write(conclusion="action_required", actions=[BUTTON])
    back = f"{PROJECT}/pull/1"
    sent = await browser.send("comment", pull=1, repo="octo/project", body="a\r\nb", back=back)
    assert sent == (303, back)
    assert github.comments(pull) == ["a\nb"]
    assert await browser.send("press", check=run.id, identifier="approve", back=back) == (303, back)
    assert (await browser.send("rerun", check=run.id))[0] == 303
    assert (await browser.send("rerun-all", check=run.id))[0] == 303
    await github.deliveries.idle()
    names = inbox.names()
    assert inbox.last("check_run.requested_action")["sender"]["login"] == "mia"
    assert names.count("check_suite.rerequested") == 2


async def test_a_person_runs_jobs_again(browser: Browser, github: SimGitHub, pull: Pull) -> None:
    run = github.actions.native(pull, "e2e.yml")
    github.actions.finish(run, "failure", log="line")
    assert "Re-run failed jobs" in await browser.live(f"{PROJECT}/actions/runs/{run.id}")
    assert (await browser.send("rerun-jobs", run=run.id, failed_only=1))[0] == 303
    assert run.attempt == 2
    (old, _) = run.jobs
    text = await browser.live(f"{PROJECT}/actions/runs/{run.id}/job/{old.id}")
    assert '<li class="">line</li>' in text


async def test_a_person_acts_as_whom_they_choose(
    browser: Browser, github: SimGitHub, pull: Pull
) -> None:
    assert '<option value="mia" selected>mia (maintain)' in await browser.page("/")
    assert await browser.send("as", by="tia", back="/octo/project") == (303, "/octo/project")
    assert '<option value="tia" selected>tia (triage)' in await browser.page("/")
    await browser.send("comment", pull=1, repo="octo/project", body="hi")
    (comment,) = github.state.comments_of(pull)
    assert comment.user.login == "tia"
    await browser.send("as", by="nobody")
    assert '<option value="mia" selected>' in await browser.page("/")


@pytest.mark.parametrize(
    ("deed", "form", "status", "said"),
    [
        ("press", {"check": "1", "identifier": "x"}, 400, "no check run 1"),
        ("press", {"check": "1"}, 400, "identifier"),
        ("press", {"check": "one", "identifier": "x"}, 400, "one"),
        ("comment", {"pull": "1", "repo": "octo/project", "body": " "}, 400, "needs a text"),
        ("comment", {"pull": "9", "repo": "octo/project", "body": "a"}, 400, "Not Found"),
        ("rerun-jobs", {"run": "9"}, 400, "9"),
        ("levitate", {}, 404, ""),
    ],
)
async def test_a_form_that_cannot_be_carried_out_says_why(
    browser: Browser, pull: Pull, deed: str, form: dict[str, str], status: int, said: str
) -> None:
    found, text = await browser.send(deed, **form)
    assert found == status
    assert said in text


@pytest.mark.parametrize("back", ["http://evil/", "//evil/", "/\\evil/"])
async def test_a_form_leads_nowhere_else(browser: Browser, pull: Pull, back: str) -> None:
    form: dict[str, Any] = {"pull": 1, "repo": "octo/project", "body": "a", "back": back}
    assert await browser.send("comment", **form) == (303, "/")


async def test_another_sites_form_is_refused(browser: Browser, github: SimGitHub) -> None:
    pull = github.people.open_pull("bob", {"a.py": "1"})
    form: dict[str, Any] = {"pull": 1, "repo": "octo/project", "body": "a"}
    status, _ = await browser.send("comment", origin="http://evil", **form)
    assert status == 403
    assert (await browser.send("comment", origin=github.url, **form))[0] == 303
    assert github.comments(pull) == ["a"]


async def test_pages_of_what_is_not_there_are_404(browser: Browser, pull: Pull) -> None:
    for path in (
        "/octo/none",
        "/octo/project/pull/99",
        "/octo/project/runs/9",
        "/octo/project/actions/runs/9",
        "/_static/none.js",
        "/_static/../pages.py",
        "/_logs/job-1.txt?made=2999-01-01T00:00:00Z",
    ):
        await browser.page(path, 404)
