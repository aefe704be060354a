"""Build the body of a check run: limits counted in bytes, unset keys left out.

GitHub says characters but counts bytes (422 ``summary exceeds a maximum bytesize of 65535``). It
answers 422 to a null ``conclusion`` or ``completed_at``. Rendering respects the limits already.
This is the last guard, because a pull request waits for ever for a refused result.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot.core.github.limits import ANNOTATION_BYTES, TEXT_BYTES, TITLE_CHARS
from bot.core.model.views import Annotation, Button, CheckWrite
from bot.core.report.markdown import cut_bytes

Json = dict[str, Any]

BUTTONS = 3
LABEL_CHARS, DESCRIPTION_CHARS, IDENTIFIER_CHARS = 20, 40, 20
MARK = "\n\n… (cut: more than GitHub shows)"
SHORT_MARK = "…"


def body_of(check: CheckWrite, annotations: Sequence[Annotation] = ()) -> Json:
    """Build the body of a create; an update sends the same without ``head_sha``."""
    body: Json = {
        "name": check.name,
        "head_sha": check.head_sha,
        "external_id": check.external_id,
        "status": check.status,
        "details_url": check.details_url or None,
        "started_at": stamp(check.started_at),
        "output": output_of(check, annotations),
    }
    if completes(check):
        body["conclusion"] = check.conclusion
        body["completed_at"] = stamp(check.completed_at)
        # GitHub shows buttons only on completed runs, and drops buttons that are not sent.
        body["actions"] = [_button(button) for button in check.buttons[:BUTTONS]] or None
    return {key: value for key, value in body.items() if value is not None}


def output_of(check: CheckWrite, annotations: Sequence[Annotation] = ()) -> Json:
    """Build the whole output: GitHub does not document whether it keeps a missing part."""
    output: Json = {
        "title": cut_chars(check.title, TITLE_CHARS) or check.name,
        "summary": cut_bytes(check.summary, TEXT_BYTES, MARK),
    }
    if check.text:
        output["text"] = cut_bytes(check.text, TEXT_BYTES, MARK)
    if annotations:
        output["annotations"] = [_annotation(item) for item in annotations]
    return output


def completes(check: CheckWrite) -> bool:
    """Return True if this write ends the check run."""
    return check.status == "completed"


def stamp(when: datetime | None) -> str | None:
    """Return a time in GitHub's form, in whole seconds of UTC."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def cut_chars(text: str, limit: int) -> str:
    """Cut to ``limit`` characters with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + SHORT_MARK


def _annotation(item: Annotation) -> Json:
    line = max(item.line, 1)
    body = {
        "path": item.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": item.level,
        "message": cut_bytes(item.message, ANNOTATION_BYTES, MARK),
    }
    if item.title:
        body["title"] = cut_chars(item.title, TITLE_CHARS)
    return body


def _button(button: Button) -> Json:
    return {
        "label": cut_chars(button.label, LABEL_CHARS),
        "description": cut_chars(button.description, DESCRIPTION_CHARS),
        # Without an ellipsis: GitHub sends it back, and we look it up.
        "identifier": button.identifier[:IDENTIFIER_CHARS],
    }
