"""Sections fit their budget and stay whole Markdown."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.github.markdown import clean, size
from bot.core.report.sections import Block, Rows, Section, compose
from tests.core.github.test_markdown import NASTY, parse


def more(left: int) -> str:
    return f"And {left} more."


def test_what_does_not_fit_is_left_out_whole() -> None:
    assert compose(["one", "", "too long for it", "two"], 10) == "one\n\ntwo"


def test_rows_say_how_many_were_left_out() -> None:
    rows = Rows("head", tuple(f"row {n}" for n in range(9)), more)
    assert rows.fit(1_000) == "head\n" + "\n".join(rows.lines)
    assert rows.fit(34) == "head\nrow 0\nrow 1\n\nAnd 7 more."
    assert rows.fit(20) == ""


def test_rows_without_a_head() -> None:
    rows = Rows("", ("- one", "- two", "- three and more"), more)
    assert rows.fit(1_000) == "- one\n- two\n- three and more"
    assert rows.fit(20) == "- one\n\nAnd 2 more."


def test_a_block_loses_its_middle() -> None:
    made = Block("start\n" + "x\n" * 500 + "end", "[cut]").fit(400)
    assert made.startswith("```text\nstart\n")
    assert "\n[cut]\n" in made
    assert made.endswith("end\n```")
    assert size(made) <= 400


def test_the_end_of_a_log_loses_its_start() -> None:
    made = Block("start\n" + "x\n" * 500 + "end", "[cut]", keep_start=False).fit(400)
    assert made.startswith("```text\n[cut]\n")
    assert made.endswith("end\n```")


def test_a_block_that_could_tell_nothing_is_left_out() -> None:
    assert Block("x" * 1_000, "[cut]").fit(100) == ""
    assert Block(" \n", "[cut]").fit(100) == ""


def test_a_folded_block_shows_its_summary_as_text() -> None:
    made = Block("x", "[cut]", folded="3 <b>lines").fit(1_000)
    assert made.startswith("<details><summary>3 &#60;b&#62;lines</summary>\n\n```text\nx")
    assert made.endswith("```\n\n</details>")


SECTIONS: st.SearchStrategy[Section] = st.one_of(
    st.text(max_size=40),
    st.builds(
        Rows, st.just("head"), st.lists(st.just("- row é"), max_size=60).map(tuple), st.just(more)
    ),
    st.builds(
        Block,
        NASTY.map(lambda text: text * 20),
        st.just("[cut]"),
        st.sampled_from(["", "folded"]),
        st.booleans(),
    ),
)


@given(st.lists(SECTIONS, max_size=5), st.integers(0, 3_000))
@settings(max_examples=150)
def test_a_report_never_breaks_its_limit(sections: list[Section], limit: int) -> None:
    assert size(compose(sections, limit)) <= limit


@given(NASTY, st.integers(250, 2_000), st.booleans())
@settings(max_examples=150)
def test_a_shortened_block_is_one_fence(text: str, limit: int, keep_start: bool) -> None:
    made = Block(f"{text}{'y' * 3_000}\n{text}", "[cut]", keep_start=keep_start).fit(limit)
    tokens = parse(made)
    assert [token.type for token in tokens] == (["fence"] if made else [])
    assert all(token.content == clean(token.content) for token in tokens)
