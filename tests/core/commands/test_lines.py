"""A line is read only where a Markdown parser finds top-level prose."""

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.core.commands.lines import top_level
from tests.core.commands.commenting import COMMAND

PARSER = MarkdownIt("commonmark").enable("table")
PROSE = {"paragraph_open", "heading_open"}  # a line "---" makes all lines above it a heading
PIECES = st.sampled_from(
    [
        "",
        "text",
        "> quote",
        "- item",
        "2. item",
        "    indented",
        "```",
        "````",
        "~~~",
        "`",
        "``",
        "a `b` c",
        "<!--",
        "-->",
        "<details>",
        "</details>",
        "<pre>",
        "</pre>",
        "<b>x</b>",
        "| a | b |",
        "--- | ---",
        "---",
        "===",
        "# head",
        "[a]: /url",
        COMMAND,
        f"  {COMMAND}",
        f"   {COMMAND}",
    ]
)


def in_paragraphs(body: str) -> Iterator[str]:
    """Yield the lines of top-level prose that are not within inline code or HTML."""
    tokens = PARSER.parse(body)
    lines = body.split("\n")
    for opening, inline in pairwise(tokens):
        if opening.type in PROSE and opening.level == 0 and opening.map:
            hidden = "".join(
                child.content
                for child in inline.children or ()
                if child.type in {"code_inline", "html_inline"}
            )
            yield from (line for line in lines[slice(*opening.map)] if line not in hidden)


@given(st.lists(PIECES, max_size=12))
@example(["text", "    indented", COMMAND])
@example(["`", COMMAND, "`"])
@example(["`", "---", "`", COMMAND, "`"])
@example(["- item", "", "text", "", f"  {COMMAND}"])
@example(["2. item", "text", "", f"   {COMMAND}", f"   {COMMAND}"])
def test_no_line_is_read_that_a_markdown_parser_puts_elsewhere(pieces: list[str]) -> None:
    numbered = [
        f"{piece} line-{place}" if piece.strip() == COMMAND else piece
        for place, piece in enumerate(pieces)
    ]
    body = "\n".join(numbered)
    read = {line for line in top_level(body) if line.strip().startswith(COMMAND)}
    assert read <= set(in_paragraphs(body))


@given(st.lists(PIECES, max_size=12))
def test_a_command_between_blank_lines_of_plain_text_is_read(pieces: list[str]) -> None:
    plain = [piece for piece in pieces if piece in {"", "text", "# head"}]
    body = "\n".join([*plain, "", COMMAND, "", *plain])
    assert COMMAND in top_level(body)


def test_a_long_line_of_dashes_is_read_in_one_pass() -> None:
    body = "-" * 65_000 + "x"  # two patterns that share its characters take 40 s
    assert top_level(f"{body}\n\n{COMMAND}") == [body, COMMAND]
