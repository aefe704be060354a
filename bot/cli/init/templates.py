"""The files that `init` installs: `config/templates/` and the helper, each with its target."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.resources import files

import yaml

from bot import resources
from bot.core.policy.selection import POLICY_PATH

FOLDER = "templates"
MANIFEST = f"{FOLDER}/manifest.yml"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file with its wanted contents: its path in the checkout and its bytes."""

    path: str
    content: bytes

    @property
    def executable(self) -> bool:
        """Return True if the file must be executable: it names its interpreter."""
        return self.content.startswith(b"#!")


def wanted() -> list[Wanted]:
    """Return every file to install, by path; raise LookupError for one without a target."""
    manifest = yaml.safe_load(resources.text(MANIFEST))
    rules = [(rule["from"], rule["to"]) for rule in manifest["files"]]
    names = [name for name in resources.names(FOLDER) if name != MANIFEST]
    found = [
        Wanted(_target(name.removeprefix(f"{FOLDER}/"), rules), _bytes(name)) for name in names
    ]
    helper = files("bot").joinpath("submit.py").read_bytes()
    return sorted([*found, Wanted(manifest["helper"], helper)], key=lambda file: file.path)


def with_policy(files: list[Wanted], policy: str | None) -> list[Wanted]:
    """Return ``files`` with this policy instead of the starter; None: without a policy."""
    rest = [file for file in files if file.path != POLICY_PATH]
    if policy is None:
        return rest
    starter = next(file for file in files if file.path == POLICY_PATH)
    return [replace(starter, content=policy.encode()), *rest]


def _bytes(name: str) -> bytes:
    with resources.path_of(name) as path:
        return path.read_bytes()


def _target(name: str, rules: list[tuple[str, str]]) -> str:
    for pattern, target in rules:
        if fnmatchcase(name, pattern):
            return target + name.rsplit("/", 1)[-1] if target.endswith("/") else target
    raise LookupError(f"config/{MANIFEST} has no line for {name}")
