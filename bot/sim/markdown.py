"""Markdown as GitHub shows it: no HTML of the text acts, except for folding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markupsafe import Markup

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FOLDING = re.compile(r"&lt;(/?(?:details|summary))&gt;")


def rendered(text: str | None) -> Markup:
    """Return the HTML of a Markdown text. Links to `javascript:` and the like stay plain text."""
    return Markup(_parser().render(_COMMENT.sub("", text or "")))  # noqa: S704 - HTML is off


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("text", _text)
    return parser


def _text(_: RendererProtocol, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """Escape a text. Only the tags of a folded part come back, and never those within code."""
    return _FOLDING.sub(r"<\1>", escapeHtml(tokens[at].content))
