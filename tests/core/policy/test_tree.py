"""What a policy names and its repository does not have."""

import pytest

from bot.core.policy.loading import check_policy
from bot.core.policy.tree import Names, RepoTree
from tests.core.policies import BASE, with_suite

FILES = (
    ".github/workflows/unit.yml",
    "src/workers/rollout/a.py",
    "src/workers/rollout/b.py",
    "src/main.py",
    "scripts/train.sh",
    "docs/one/guide.md",
    "docs/one/same.md",
    "docs/two/same.md",
    "module",  # a submodule is one name
    *(f"many/f{number}.py" for number in range(1_100)),
)
BRANCHES = Names(frozenset({"main", "v0.5.x"}))
NIGHTS = "nightly: [{suites: [], ref: v0.5.x}, {suites: [], name: b, ref: dev}]\n"
TREE = RepoTree(Names(frozenset(FILES)), BRANCHES)


def told(source: str, tree: RepoTree = TREE) -> list[tuple[str, int, str]]:
    found = check_policy(source, tree).warnings
    return [(one.path, one.line, str(one.message)) for one in found]


@pytest.mark.parametrize(
    ("lines", "path", "words"),
    [
        (["paths: [src/worksers/rollout/*]"], "paths[0]", "mean `src/workers/rollout/*`?"),
        (["paths: [src/workers]"], "paths[0]", "no file; did you mean `src/workers/**`?"),
        (["paths: [a, 'src/?']"], "paths[0]", "`a` matches no file"),
        (["paths: ['**', '!src/mian.py']"], "paths[1]", "no file; did you mean `!src/main.py`?"),
        (["paths: ['module/**']"], "paths[0]", "did you mean `module`?"),
        (["paths: [old/guide.md]"], "paths[0]", "did you mean `docs/one/guide.md`?"),
        (["paths: [old/same.md]"], "paths[0]", "`old/same.md` matches no file"),
        (["paths: ['src/*.md']"], "paths[0]", "`src/*.md` matches no file"),
        (["paths: ['many/g+.py']"], "paths[0]", "`many/g+.py` matches no file"),
        (["env_paths: ['srcs/**']"], "env_paths[0]", "did you mean `src/**`?"),
        (["paths: [many/zzz.py]"], "paths[0]", "`many/zzz.py` matches no file"),
        (["inputs: {script: scripts/trian.sh}"], "inputs.script", "mean `scripts/train.sh`?"),
        (["inputs: {second: old/train.sh}"], "inputs.second", "did you mean `scripts/train.sh`?"),
        (["inputs: {script: other}"], "inputs.script", "there is no script `other`"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_a_warning(lines: list[str], path: str, words: str) -> None:
    first, *_ = told(with_suite(*lines))
    assert (first[0], first[1]) == (f"suites.unit.{path}", 10)
    assert first[2].endswith(words)


@pytest.mark.parametrize(
    "lines",
    [
        ["paths: ['**/*.py', '!src/**', 'src/ma?in.py', '\\src/main.py', '[s]rc/main.py']"],
        ["env_paths: [scripts/train.sh]"],
        ["inputs: {script: scripts/train.sh, data: gsm8k, empty: '', root: /x/a.sh, home: ~/a.sh}"],
        ["inputs: {a: 'bash other/a.sh', b: 'sub/{sha}.sh', c: 'host:1/a.sh', d: a.sh}"],
    ],
)
def test_what_is_there_or_is_no_path_is_no_warning(lines: list[str]) -> None:
    assert told(with_suite(*lines)) == []


def test_a_workflow_that_does_not_exist_is_a_warning() -> None:
    source = with_suite().replace("unit.yml", "units.yml")
    (warning,) = told(source)
    assert warning[0] == "suites.unit.workflow"
    words = (
        "there is no file `.github/workflows/units.yml`; did you mean `.github/workflows/unit.yml`?"
    )
    assert warning[2] == words


@pytest.mark.parametrize(
    ("line", "path", "words"),
    [
        ("branches: [main, 'v0.*', 'release/*']\n", "branches[2]", "`release/*` matches none"),
        ("branches: [main, '!mian']\n", "branches[1]", "clone knows; did you mean `main`?"),
        ("dispatch_ref: mian\n", "dispatch_ref", "did you mean `main`?"),
        (NIGHTS, "nightly[1].ref", "`dev` matches none"),
        ("    bases: [main, mian]\n", "suites.unit.bases[1]", "did you mean `main`?"),
    ],
)  # fmt: skip
def test_a_branch_that_is_not_there_is_a_warning(line: str, path: str, words: str) -> None:
    (warning,) = told(with_suite() + line)
    assert warning[0] == path
    assert words in warning[2]


def test_branches_that_are_not_known_are_no_warning() -> None:
    assert told(with_suite() + "branches: [x]\n", RepoTree(TREE.files)) == []


def test_without_a_tree_nothing_is_compared() -> None:
    assert check_policy(BASE + "branches: [x]\n").warnings == ()
