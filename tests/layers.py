"""Reads a module's source and names each import or call that its layer may not have.

The table is the law of the layout: who may know whom.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent

ANY = frozenset({"*"})
# Programs of their own: what they share with the product they import from it.
APART = frozenset({"bot.sim", "bot.submitter"})

# The standard library without I/O, clock, environment, chance and threads.
CALM = frozenset(
    [
        "__future__",
        "abc",
        "array",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fnmatch",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "html",
        "ipaddress",
        "itertools",
        "json",
        "math",
        "numbers",
        "operator",
        "re",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "unicodedata",
        "urllib.parse",
        "zlib",
    ]
)

# What reaches out of the process by itself; use cases go through ports, web through handlers.
REACHING = frozenset(
    [
        "http.client",
        "os",
        "pathlib",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "time",
        "urllib.request",
    ]
)

NEW_AFTER_3_9 = frozenset({"tomllib"})

REACHING_CALLS = frozenset({"open", "print", "input", "exec", "eval", "breakpoint", "__import__"})
ENVIRONMENT = frozenset({"os.environ", "os.getenv", "os.environb"})
CLOCKS = frozenset(
    f"{owner}.{name}" for owner in ("datetime", "date") for name in ("now", "utcnow", "today")
)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer may import; names are dotted prefixes."""

    bot: frozenset[str] = frozenset()
    not_bot: frozenset[str] = frozenset()
    third_party: frozenset[str] = frozenset()
    stdlib: frozenset[str] = ANY
    not_stdlib: frozenset[str] = frozenset()
    calm: bool = False  # no await, no clock, no file, no output
    environment: bool = False  # may read it
    eager: frozenset[str] = ANY  # of bot and third parties, what a module imports outside functions


def _bot(*names: str) -> frozenset[str]:
    return frozenset(f"bot.{name}" for name in names)


_CORE = Layer(
    bot=_bot("core", "resources"),  # the shipped files are a part of the program
    third_party=frozenset({"yaml", "pydantic", "pydantic_core", "cronsim", "re2", "msgspec"}),
    stdlib=CALM,
    calm=True,
)
_ADAPTER = Layer(bot=_bot("core", "ports", "telemetry"), third_party=ANY)
_ANY_BOT = frozenset({"bot"})
# A command says what it is at once; what takes long to import waits until it runs.
_QUICK = frozenset({"click", "bot.cli", "bot.core", "bot.resources", "bot.settings"})

LAYERS = {
    "bot.core": _CORE,
    "bot.ports": Layer(bot=_bot("core", "ports"), stdlib=CALM),
    "bot.store": Layer(
        bot=_bot("core", "deadlines", "ports", "store", "telemetry"), third_party=ANY
    ),
    "bot.services": Layer(
        bot=_bot("core", "ports", "services", "store", "telemetry"),
        not_stdlib=REACHING,
    ),
    "bot.adapters": _ADAPTER,  # and its own files: see layer_of
    "bot.web": Layer(
        bot=_bot("core", "door", "ports", "store", "telemetry", "web"),
        third_party=ANY,
        not_stdlib=REACHING - {"pathlib"},
    ),
    "bot.sim": Layer(bot=_bot("sim"), third_party=ANY, environment=True),
    # It stands for an outside service. Of the rest it knows how a workflow proves itself.
    "bot.submitter": Layer(
        bot=_bot("door", "submitter", "ports.oidc"), third_party=ANY, environment=True
    ),
    "bot.submit": Layer(not_stdlib=NEW_AFTER_3_9, environment=True),
    "bot.settings": Layer(
        bot=_bot("core"),  # whether the policy file is one is a setting's mistake, too
        third_party=frozenset({"pydantic", "pydantic_settings"}),
        environment=True,
    ),
    "bot.telemetry": Layer(third_party=frozenset({"structlog", "prometheus_client"})),
    "bot.resources": Layer(),
    "bot.deadlines": Layer(),
    "bot.door": Layer(bot=_bot("deadlines"), third_party=frozenset({"aiohttp"})),
    "bot.app": Layer(bot=_ANY_BOT, not_bot=_bot("cli"), third_party=ANY),
    "bot.cli": Layer(bot=_ANY_BOT, third_party=ANY, environment=True),
    "bot.__main__": Layer(bot=_bot("cli")),
}


# How many files and folders a newcomer meets when opening one of these.
MOST_ENTRIES = {"bot/core": 14, "bot/services": 10}

# The rooms of bot.core: which others each may import.
ROOMS = {
    "commands": frozenset({"github", "messages", "model", "planning", "policy", "report"}),
    "digest": frozenset({"secrets"}),
    "explain": frozenset({"messages", "model", "planning", "policy", "workflows"}),
    "github": frozenset({"model", "secrets"}),
    "messages": frozenset[str](),
    "model": frozenset({"digest", "messages", "policy"}),
    "planning": frozenset({"github", "messages", "model", "policy", "queue"}),
    "policy": frozenset({"digest", "messages"}),
    "queue": frozenset({"messages", "model", "policy"}),
    "rayjob": frozenset({"model"}),
    "report": frozenset({"digest", "explain", "github", "messages", "model", "planning", "policy"})
    | {"runs", "secrets"},
    "runs": frozenset({"digest", "github", "messages", "model", "policy", "rayjob"}),
    "secrets": frozenset[str](),
    "workflows": frozenset({"messages", "model", "policy"}),
}


def entries(folder: str) -> list[str]:
    """Return the files and folders of a package that a reader sees in it."""
    return sorted({p.name for p in (ROOT / folder).iterdir()} - {"__init__.py", "__pycache__"})


def room_of(name: str) -> str:
    """Return the room of bot.core that a module or an imported name lies in, or ""."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["bot", "core"] and len(parts) > 2 else ""


def trespasses(source: str, module: str, *, package: bool = False) -> list[str]:
    """Return the imports of a module from rooms that its own room may not import."""
    own = room_of(module)
    if not own:
        return []
    return [
        f"{module}:{one.line}: imports {one.target}"
        for one in imports(source, module, package=package)
        if (room := room_of(one.target)) and room != own and room not in ROOMS.get(own, ())
    ]


def knots(rooms: Mapping[str, frozenset[str]]) -> frozenset[frozenset[str]]:
    """Return the sets of rooms that lead to each other."""
    reach = {name: _reached(name, rooms) for name in rooms}
    found = {
        frozenset(other for other in rooms if other in reach[name] and name in reach[other])
        for name in rooms
    }
    return frozenset(knot for knot in found if knot)


def _reached(start: str, rooms: Mapping[str, frozenset[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = rooms[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def module_of(path: Path) -> str:
    """Return the dotted name of a file below the root; a package's is its folder's."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, Path]:
    """Return every module of bot and its file."""
    return {module_of(path): path for path in sorted((ROOT / "bot").rglob("*.py"))}


def twins(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of classes that stand twice, and where: one word means one thing."""
    places: dict[str, list[str]] = {}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not within(module, APART):
                places.setdefault(node.name, []).append(module)
    return {name: found for name, found in places.items() if len(found) > 1}


def within(name: str, prefixes: frozenset[str]) -> bool:
    """Return True if a dotted name is one of the prefixes or lies below one."""
    return prefixes is ANY or any(
        name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes
    )


def layer_of(module: str) -> Layer | None:
    """Return a module's layer; None when the table does not know it."""
    top = ".".join(module.split(".")[:2])
    layer = LAYERS.get(top)
    if top == "bot.adapters":
        own = ".".join(module.split(".")[:3])
        return Layer(bot=_ADAPTER.bot | {own}, third_party=ANY)
    if top == "bot.cli" and module.count(".") < 3:
        own_command = _bot(module.rpartition(".")[2])  # as `submit` is one with its package
        return Layer(bot=_ANY_BOT, third_party=ANY, environment=True, eager=_QUICK | own_command)
    return layer


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name; lazy when a function imports it, typed when only a type checker does."""

    target: str
    line: int
    lazy: bool
    typed: bool


@cache
def imports(source: str, module: str, *, package: bool) -> tuple[Import, ...]:
    """Return every name that a module imports; ``package`` when its file is an __init__."""
    folder = module if package else module.rpartition(".")[0]
    return tuple(_imports(_tree(source), folder, lazy=False, typed=False))


@lru_cache(maxsize=1)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _imports(node: ast.AST, folder: str, *, lazy: bool, typed: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(name.name, child.lineno, lazy, typed) for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            start = _absolute(child, folder)
            yield from (
                Import(f"{start}.{name.name}", child.lineno, lazy, typed) for name in child.names
            )
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            checked = isinstance(child, ast.If) and dotted(child.test).endswith("TYPE_CHECKING")
            yield from _imports(child, folder, lazy=lazy or inside, typed=typed or checked)


def _absolute(node: ast.ImportFrom, folder: str) -> str:
    if not node.level:
        return node.module or ""
    parts = folder.split(".")
    start = ".".join(parts[: len(parts) - node.level + 1])
    return f"{start}.{node.module}" if node.module else start


def breaches(source: str, module: str, *, package: bool = False) -> list[str]:
    """Return what a module does that its layer may not, each with its line."""
    layer = layer_of(module)
    if module == "bot":
        layer = Layer(stdlib=frozenset())
    if layer is None:
        return [f"{module}: belongs to no layer"]
    found = [
        (one.line, f"imports {one.target}")
        for one in imports(source, module, package=package)
        if not _allowed(layer, one)
    ]
    found += _acts(_tree(source), layer)
    return [f"{module}:{line}: {text}" for line, text in sorted(found)]


def _allowed(layer: Layer, one: Import) -> bool:
    name = one.target
    top = name.partition(".")[0]
    if top == "bot":
        fits = within(name, layer.bot) and not within(name, layer.not_bot)
    elif top in sys.stdlib_module_names:
        fits = within(name, layer.stdlib) and not within(name, layer.not_stdlib)
        return fits and (layer.environment or not within(name, ENVIRONMENT))
    else:
        fits = within(name, layer.third_party)
    return fits and (one.lazy or one.typed or within(name, layer.eager))


def dotted(node: ast.expr) -> str:
    """Return the dotted name that an expression is, or ""."""
    if isinstance(node, ast.Attribute) and (start := dotted(node.value)):
        return f"{start}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _acts(tree: ast.AST, layer: Layer) -> Iterator[tuple[int, str]]:
    """Yield what a module does besides importing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            if name in ENVIRONMENT and not layer.environment:
                yield node.lineno, f"reads {name}"
            if layer.calm and CLOCKS & {name, name.removeprefix("datetime.")}:
                yield node.lineno, f"reads the clock with {name}"
        if layer.calm:
            yield from _stirs(node)


def _stirs(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await):
        yield node.lineno, "waits"
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in REACHING_CALLS:
            yield node.lineno, f"calls {name}"


def cycle(sources: dict[str, str], packages: frozenset[str] = frozenset()) -> list[str]:
    """Return modules that import each other in a ring, or nothing.

    An import for a type checker counts: one module can still not be read without the other. An
    import within a function does not count, except in the simulation, which needs none.
    """
    graph = {
        module: {
            found
            for one in imports(source, module, package=module in packages)
            if (not one.lazy or module.startswith("bot.sim."))
            and (found := _module_in(one.target, sources))
            and found != module
        }
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def _module_in(target: str, known: dict[str, str]) -> str:
    """Return the module that an imported name lies in, or an empty text."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target
