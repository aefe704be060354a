"""Which run has a plot in its check run, and the address that shows it."""

from dataclasses import replace

import pytest

from bot.core.digest.result import Digest, Progress, StepPoint
from bot.core.model.rayjobs import RayJob
from bot.core.model.runs import Outcome, Run
from bot.core.model.views import Image
from bot.core.report.images import plot_points
from bot.core.report.plot_links import PlotLinks, is_reachable
from bot.core.report.suite import suite_check
from tests.core.views import CTX, at, done, live, rayjob, suite

LINKS = PlotLinks("https://ci.example.org", (b"new", b"old"))
POINTS = (StepPoint(1, 0.1, 40.0), StepPoint(2, 0.2, 41.0), StepPoint(3, 0.3, 42.0))
TRAINED = Progress(3, 3, 42.0, {}, 9, POINTS)
PASSED = done(Outcome.SUCCESS, "x")


def images(
    run: Run, *jobs: RayJob, links: PlotLinks | None = LINKS, language: str = "en"
) -> tuple[Image, ...]:
    ctx = replace(CTX, plots=links, language=language)
    return suite_check(suite(run, jobs=jobs), ctx, at("14:30")).images


def test_a_training_that_ended_shows_its_plot_with_a_text_in_its_language() -> None:
    [english] = images(PASSED, rayjob(progress=TRAINED))
    assert english.alt == "Plot of the mean reward and the seconds per step, steps 1 to 3"
    assert english.caption == "Mean reward and seconds per step, steps 1 to 3"
    [chinese] = images(PASSED, rayjob(progress=TRAINED), language="zh")
    assert "平均奖励" in chinese.alt
    assert "第 1 步至第 3 步" in chinese.caption
    assert english.url == chinese.url == LINKS.address(PASSED.id)


def test_a_training_that_failed_shows_its_plot_too() -> None:
    failed = done(Outcome.FAILURE, "x")
    assert images(failed, rayjob(digest=Digest(progress=TRAINED)))


@pytest.mark.parametrize(
    ("run", "points", "links"),
    [
        (live(), POINTS, LINKS),
        (PASSED, POINTS, None),
        (PASSED, POINTS[:1], LINKS),
        (PASSED, (StepPoint(1, 0.1, None), StepPoint(2, None, 4.0)), LINKS),
    ],
)
def test_there_is_no_plot_before_the_end_without_links_or_of_one_point(
    run: Run, points: tuple[StepPoint, ...], links: PlotLinks | None
) -> None:
    assert images(run, rayjob(progress=replace(TRAINED, points=points)), links=links) == ()


def test_a_run_without_a_training_has_no_points() -> None:
    assert plot_points(PASSED, (rayjob(),)) == ()


def test_one_metric_is_enough_for_a_plot() -> None:
    points = tuple(StepPoint(step, None, 4.0) for step in (1, 2))
    assert plot_points(PASSED, (rayjob(progress=replace(TRAINED, points=points)),)) == points


def test_an_address_is_the_same_at_each_look_and_of_one_run() -> None:
    assert LINKS.address(PASSED.id) == LINKS.address(PASSED.id)
    head, _, signature = LINKS.address(PASSED.id).removesuffix(".png").rpartition("-")
    assert head == f"https://ci.example.org/plots/{PASSED.id}"
    assert LINKS.is_signed(PASSED.id, signature)
    assert not LINKS.is_signed(live(id="01J6").id, signature)
    assert not LINKS.is_signed(PASSED.id, "0" * 32)


def test_an_address_holds_while_its_secret_is_one_of_two() -> None:
    signature = PlotLinks("", (b"old",)).address(PASSED.id)[-36:-4]
    assert LINKS.is_signed(PASSED.id, signature)
    assert not PlotLinks("", (b"new",)).is_signed(PASSED.id, signature)


def test_the_secrets_are_not_printed() -> None:
    assert "old" not in repr(LINKS)


@pytest.mark.parametrize(
    ("url", "reachable"),
    [
        ("https://ci.example.org", True),
        ("https://ci.example.org:8443/bot", True),
        ("https://8.8.8.8", True),
        ("http://ci.example.org", False),
        ("https://localhost", False),
        ("https://ci", False),
        ("https://ci.corp.internal", False),
        ("https://127.0.0.1:8080", False),
        ("https://10.1.2.3", False),
        ("https://[::1]", False),
        ("https://me:word@ci.example.org", False),
        ("", False),
    ],
)
def test_plots_are_shown_only_where_github_can_fetch_them(url: str, reachable: bool) -> None:
    assert is_reachable(url) is reachable
