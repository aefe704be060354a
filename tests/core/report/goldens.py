"""Golden files: one for each subject and language, which holds every text under its name.

Set UPDATE_GOLDEN to write the files anew, and read the difference.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from bot.core.model.views import CheckWrite

GOLDEN = Path(__file__).parent / "golden"


def show_check(check: CheckWrite) -> str:
    """Return a check run as a person sees it, part by part."""
    parts = [
        f"name: {check.name}",
        f"status: {check.status} {check.conclusion or ''}".rstrip(),
        f"title: {check.title}",
        f"details: {check.details_url}".rstrip(),
        *(f"button: {b.identifier} / {b.label} / {b.description}" for b in check.buttons),
        *(f"annotation: {a.path}:{a.line} {a.title} / {a.message}" for a in check.annotations),
    ]
    return "\n".join((*parts, "", "--- summary", check.summary, "", "--- text", check.text))


def golden(subject: str, language: str, texts: Mapping[str, str]) -> tuple[str, str]:
    """Return what the golden file of a subject says, and what it must say."""
    made = "\n\n\n".join(f"# {name}\n\n{text.strip()}" for name, text in texts.items()) + "\n"
    path = GOLDEN / f"{subject}.{language}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    return path.read_text(encoding="utf-8"), made
