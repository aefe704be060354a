"""What the README, the examples and the package say of the code stays true."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from click import Context, Group
from packaging.requirements import Requirement

from bot.cli import COMMANDS, main
from bot.core.commands.parser import parse
from bot.core.commands.verb import Mistake
from bot.core.model.command import COMMAND
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy
from bot.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "config/docs").glob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SETTINGS = {name.upper() for name in Settings.model_fields}


def section(title: str) -> str:
    """Return the README's text below a heading, up to the next one of any level."""
    return re.split(r"^#+ ", README.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str) -> str:
    """Return the first column of a table."""
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return "\n".join(row.split("|")[1] for row in rows)


def test_the_readme_lists_each_setting() -> None:
    assert set(re.findall(r"`([A-Z_]+)`", first_cells(section("Settings")))) == SETTINGS


def test_the_example_environment_lists_each_setting_and_no_other() -> None:
    text = (ROOT / "config/env.example").read_text()
    assert set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE)) == SETTINGS


def test_the_readme_lists_each_command() -> None:
    assert set(
        re.findall(r"(?:`|^)ascend-ci ([a-z-]+)", first_cells(section("Command line")))
    ) == set(COMMANDS)


def test_the_procfile_starts_commands_that_there_are() -> None:
    lines = (ROOT / "Procfile").read_text().splitlines()
    kinds = dict(line.split(": ", 1) for line in lines)
    assert set(kinds) == {"web", "worker", "release"}
    assert {text.split("ascend-ci ")[1] for text in kinds.values()} <= set(COMMANDS)


def test_the_policy_in_the_readme_is_one() -> None:
    text = section("The policy in short").split("```yaml\n")[1].split("```")[0]
    assert isinstance(load_policy(text.encode()), Policy)


TYPED = [
    *PAGES,
    ROOT / "config/env.example",
    *sorted((ROOT / "config").rglob("*.y*ml")),
    *sorted((ROOT / "bot/core/messages/en").glob("*.py")),
    *sorted((ROOT / "bot/cli").rglob("*.py")),
]


@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.name)
def test_a_command_that_a_text_names_can_be_typed(page: Path) -> None:
    text = page.read_text()
    for verb, rest in re.findall(r"(?:`|^)ascend-ci ([a-z-]+)([^`\n>|#&]*)", text, re.MULTILINE):
        command = main.get_command(Context(main), verb)
        if isinstance(command, Group) and rest:
            command = command.get_command(Context(command), rest.split()[0])
        assert command or verb == "policy", verb  # the name of a check run
        known = {option for param in command.params for option in param.opts} if command else set()
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, (verb, rest)
    for line in re.findall(rf"`({COMMAND}[^`]*)`", text):
        plain_line = re.sub(r"[\[\]]", "", line).replace("SHA", "0123456789ab")
        (read,) = parse(plain_line)
        assert not isinstance(read, Mistake), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_a_file_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    missing = [
        link for link in links if "://" not in link and not (page.parent / link).resolve().exists()
    ]
    assert missing == []


def locked() -> dict[str, str]:
    """Return the names and releases of both locks."""
    texts = [(ROOT / "config" / name).read_text() for name in ("requirements.lock", "ray.lock")]
    lines = [line for text in texts for line in text.splitlines()]
    return dict(line.lower().split("==") for line in lines if not line.startswith("#"))


def plain(name: str) -> str:
    """Return a distribution's name as all its spellings are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_has_one_exact_release_of_each_requirement() -> None:
    locks = {plain(name): version for name, version in locked().items()}
    extras = PROJECT["optional-dependencies"].values()
    named = [Requirement(line) for line in sum(extras, PROJECT["dependencies"])]
    for one in named:
        if one.name != PROJECT["name"]:
            assert locks[plain(one.name)] in one.specifier, one.name


def imported() -> set[str]:
    """Return the top names of what bot imports from outside."""
    found: set[str] = set()
    for path in (ROOT / "bot").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"bot"}


def test_bot_imports_only_what_it_declares_to_need() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = {
        plain(Requirement(line).name)
        for line in PROJECT["dependencies"] + extras["postgres"] + extras["plots"]
    }
    # They come with a declared one, which promises them: aiohttp its URLs, PyJWT[crypto] its keys.
    declared |= {"yarl", "cryptography"}
    owners = packages_distributions()
    undeclared = {
        name for name in imported() if not {plain(owner) for owner in owners[name]} & declared
    }
    assert undeclared == set()
    assert requires("ascend-ci"), "the tests run on an installed ascend-ci"
