"""Nothing from outside acts: Markdown, HTML, mentions, numbers, addresses, control characters."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.core.github import markdown

_ALPHABET = "`*_~[]()<>#|\\&!@:/.-+=1a\n\r\t \x1b\x00\u202e\u200b$^é中\ud800"
_PIECES = [
    "@octocat", "#1", "o/r#12", "GH-3", "https://evil.example/x", "www.evil.example", "a@b.example",
    "```", "~~~", "</details>", "<!--", "-->", "<img src=x onerror=y>", "[x](http://y)", "![i](u)",
    "\x1b[31mred\x1b[0m", "\x1b]8;;http://x\x07y\x1b]8;;\x07", "| a | b |", "---", "# head", "1. x",
    "- x", "> q", "&amp;", "&#64;octocat", "\\@octocat", ":tada:", "$x$", "[^1]", "**b**", "`@x`",
    "ftp://x.y", "\r\n", "\u2028", "==", "123456789. x", "``", "`", "\\`", "\\|",
]  # fmt: skip
NASTY = st.lists(
    st.one_of(st.sampled_from(_PIECES), st.text(_ALPHABET, max_size=6), st.just(" ")), max_size=12
).map("".join)

# What GitHub looks for in text that is not code; the letter or digit must follow at once.
_ACTS = re.compile(r"@[A-Za-z0-9]|#[0-9]|\bGH-[0-9]|[a-z]://|\bwww\.", re.IGNORECASE)
_INERT = {"text", "code_inline", "softbreak"}


def parse(markdown: str) -> list[Token]:
    return (
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    )


def inline(markdown: str) -> list[Token]:
    """Return the tokens of one paragraph, the only block that there may be."""
    blocks = parse(markdown)
    assert [token.type for token in blocks] == ["paragraph_open", "inline", "paragraph_close"]
    return blocks[1].children or []


def visible(tokens: list[Token]) -> str:
    return "".join(token.content for token in tokens)


def assert_inert(tokens: list[Token]) -> None:
    assert {token.type for token in tokens} <= _INERT
    for token in tokens:
        assert token.type == "code_inline" or not _ACTS.search(token.content), token.content


@given(NASTY)
@settings(max_examples=300)
def test_plain_text_shows_as_it_is_and_does_nothing(text: str) -> None:
    made = markdown.plain(text)
    if made:
        tokens = inline(made)
        assert_inert(tokens)
        shown = visible(tokens).replace(markdown.SPACE, "")
        assert shown == markdown.one_line(text)


@given(NASTY)
@settings(max_examples=300)
def test_prose_does_nothing_but_show_code(text: str) -> None:
    made = markdown.prose(text)
    if made:
        tokens = [t for t in inline(made) if t.type != "html_inline"]
        html = {t.content for t in inline(made) if t.type == "html_inline"}
        assert html <= {"<code>", "</code>"}
        assert {token.type for token in tokens} <= _INERT


@given(NASTY)
@settings(max_examples=300)
def test_inline_code_holds_all_of_the_text(text: str) -> None:
    made = markdown.code(text)
    claimant = markdown.one_line(text)
    assert bool(made) == bool(claimant)
    if made:
        tokens = inline(made)
        if "|" in claimant:
            assert [tokens[0].content, tokens[-1].content] == ["<code>", "</code>"]
            assert visible(tokens[1:-1]) == claimant
        else:
            assert [token.type for token in tokens] == ["code_inline"]
            assert tokens[0].content == claimant


@given(NASTY, NASTY, NASTY)
@settings(max_examples=200)
def test_a_cell_stays_a_cell(one: str, two: str, three: str) -> None:
    row = (markdown.plain(one), markdown.code(two), markdown.prose(three))
    tokens = parse(markdown.table(("a", "b", "c"), [row, ("x", "y", "z")]))
    assert sum(token.type == "tr_open" for token in tokens) == 3
    assert sum(token.type == "td_open" for token in tokens) == 6
    # GitHub's parser ends a cell at a pipe whose backslash is itself escaped; so there is none.
    assert all("|" not in cell for cell in row)


@given(NASTY)
@settings(max_examples=300)
def test_nothing_closes_a_block(text: str) -> None:
    tokens = parse(f"before\n\n{markdown.block(text)}\n\nafter")
    fences = [token for token in tokens if token.type == "fence"]
    assert [token.content for token in fences] == [markdown.clean(text) + "\n"]
    assert [token.content for token in tokens if token.type == "inline"] == ["before", "after"]


@given(NASTY)
@settings(max_examples=200)
def test_html_around_a_text_stays_whole(text: str) -> None:
    made = f"<details><summary>{markdown.plain(text)}</summary>"
    assert re.findall("<[^>]*>?", made) == ["<details>", "<summary>", "</summary>"]


@given(st.text(max_size=80), st.integers(-5, 120))
def test_a_cut_is_the_longest_start_that_fits(text: str, limit: int) -> None:
    made = markdown.cut_bytes(text, limit)
    assert markdown.size(made) <= max(0, limit)
    assert text.startswith(made)
    if len(made) < len(text):
        assert markdown.size(text[: len(made) + 1]) > limit


@given(NASTY)
def test_cleaning_leaves_nothing_invisible_and_is_done_once(text: str) -> None:
    made = markdown.clean(text)
    assert markdown.clean(made) == made
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ud800]", made)


def test_no_character_of_unicode_stays_invisible() -> None:
    every = "".join(map(chr, range(0x11_0000))).replace("\n", "").replace("\t", "")
    made = markdown.clean(every)
    hidden = {char for char in made if unicodedata.category(char) in {"Cc", "Cf", "Cs"}}
    assert hidden == {"\n"}


@pytest.mark.parametrize(
    ("text", "claimant"),
    [
        ("\x1b[1;31mred\x1b[0m x", "red x"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("half \x1b", "half "),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\ud800", "\ufffd"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_cleaned_text(text: str, claimant: str) -> None:
    assert markdown.clean(text) == claimant


@pytest.mark.parametrize(
    ("text", "claimant"),
    [
        ("", ""),
        ("plain", "`plain`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a|b", "<code>a&#124;b</code>"),
        ("two\nlines", "`two lines`"),
    ],
)
def test_inline_code(text: str, claimant: str) -> None:
    assert markdown.code(text) == claimant


@pytest.mark.parametrize(
    ("text", "claimant"),
    [
        ("`a/b.py` matches `a/**`", "`a/b.py` matches `a/**`"),
        ("by @bob, see #12", "by @\u200bbob, see #\u200b12"),
        ("a lone ` stays", "a lone &#96; stays"),
        ("x ``a`b`` y", "x ``a`b`` y"),
        ("snake_case and _that_", "snake_case and &#95;that&#95;"),
        ("14:02:11 passed", "14:02:11 passed"),
        ("12. of May", "12&#46; of May"),
        ("12.5 GB", "12.5 GB"),
        ("- x", "&#45; x"),
        ("see https://x.example", "see https\u200b://x.example"),
    ],
)
def test_prose(text: str, claimant: str) -> None:
    assert markdown.prose(text) == claimant


def test_a_title_is_cut_at_its_limit() -> None:
    assert markdown.title("x" * 300) == "x" * 254 + "…"
    assert markdown.title("x" * 255) == "x" * 255


def test_a_sentence_that_is_a_log_is_cut() -> None:
    assert len(markdown.plain("x" * 10_000)) == markdown.MAX_PLAIN
    assert len(markdown.prose("x" * 10_000)) == markdown.MAX_PLAIN


def test_a_text_of_backticks_is_read_in_no_time() -> None:
    assert markdown.size(markdown.prose("`a" * 100_000)) < 20_000
