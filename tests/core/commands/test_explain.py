"""`/ascend-e2e explain`: how it is typed, and that each suite is explained with its state."""

from bot.core.commands.explain import ExplainCommand
from tests.core.building import a_run
from tests.core.commands.commenting import COMMAND, READER, carried_out, commented, read


def test_the_command_is_read() -> None:
    text = f"{COMMAND} explain unit"
    found = read(text)
    assert isinstance(found, ExplainCommand)
    assert found.words == ("unit",)


def test_every_suite_is_explained_to_anybody() -> None:
    builder = carried_out(f"{COMMAND} explain", commented(person=READER, runs=(a_run(),)))
    (said,) = builder.said
    assert all(f"| `{name}` |" in said for name in ("unit", "heavy", "other"))
    row = next(line for line in said.splitlines() if "| `unit` |" in line)
    assert "queued" in row
    assert builder.refusals == 0


def test_one_suite_is_explained_by_its_name() -> None:
    (said,) = carried_out(f"{COMMAND} explain other", commented()).said
    assert "| `other` |" in said
    assert "| `unit` |" not in said
