"""`ascend-ci sync`: a policy that is compared with its workflows, and edited."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli.sync import command
from bot.core.policy.loading import load_policy
from bot.core.policy.models import Policy

FOLDER = ".github/workflows"
POLICY = ".github/ascend-ci.yml"
HEAD = """\
# our policy
version: 1
runners:
  npu-8: {npus: 8}  # eight
suites:
  # Ours
"""
ONE = """\
  one:  # the first
    workflow: one.yml  # native
    start: native
    runners: [npu-8]  # a label
    paths: ["**"]
    timeout_minutes: 60  # an hour
"""
TAIL = "\n# the end\ntrust: {auto: write}\n"
PULLS = "on: pull_request\njobs:\n  a: {runs-on: npu-8, timeout-minutes: 60}\n"
NIGHT = PULLS.replace("pull_request", "schedule")


def checkout(folder: Path, policy: str, **workflows: str) -> Path:
    (folder / FOLDER).mkdir(parents=True)
    (folder / POLICY).write_bytes(policy.encode())
    for stem, text in workflows.items():
        (folder / FOLDER / f"{stem}.yml").write_text(text)
    return folder


def sync(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [*options, str(folder)])


def test_a_policy_that_fits_is_left_alone(tmp_path: Path) -> None:
    checkout(tmp_path, HEAD + ONE + TAIL, one=PULLS)
    for options in ([], ["--check"], ["--write"]):
        result = sync(tmp_path, *options)
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == "The policy fits the workflows.\n"
    assert (tmp_path / POLICY).read_text() == HEAD + ONE + TAIL


LIMIT = "the jobs of suite `one` may take 90 min; its `timeout_minutes` is 60"


def test_differences_are_told_and_only_check_fails(tmp_path: Path) -> None:
    checkout(tmp_path, HEAD + ONE + TAIL, one=PULLS.replace("60", "90"), two=NIGHT)
    result = sync(tmp_path)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"limit   {FOLDER}/one.yml:3: {LIMIT}",
        f"lacks   {FOLDER}/two.yml:3: no suite covers 1 job on `npu-8`: `a`",
    ]
    assert sync(tmp_path, "--check").exit_code == 1
    written = json.loads(sync(tmp_path, "--write", "--json").stdout)["differences"]
    assert [one["written"] for one in written] == [True, True]


def test_json_tells_the_same(tmp_path: Path) -> None:
    checkout(tmp_path, HEAD + ONE + TAIL, one=PULLS.replace("60", "90"), two=NIGHT)
    answer = json.loads(sync(tmp_path, "--json").stdout)["differences"]
    assert [(one["kind"], one["suite"], one["line"]) for one in answer] == [
        ("limit", "one", 3),
        ("lacks", "two", 3),
    ]


TWO = """\

  # From .github/workflows/two.yml
  #   job `a`: `npu-16`
  two:
    workflow: two.yml
    start: native
    triggers: [schedule]
    runners: [npu-16]
    timeout_minutes: 60
"""
EIGHTS = "  npu-8: {npus: 8}  # eight\n"
SIXTEENS = "  npu-16: {npus: 16, slots: 1}\n"
FLOW = "  one: {workflow: one.yml, start: native, runners: [npu-8], timeout_minutes: 60}  # x\n"
MANY = ONE.replace('    paths: ["**"]\n', "    paths:\nTHESE")
PATHS = "pull_request {pull_request: {paths: [first, a, '!b', c/**]}}"
OLD = """\
      # the folders
      - a  # one
      - old  # gone
      - "!b"
"""
NEW = """\
      # the folders
      - first
      - a  # one
      - "!b"
      - "c/**"
"""
LESS = "      - other\n"
ALL = "".join(f"      - {item}\n" for item in ("first", "a", '"!b"', '"c/**"'))
BOTH = "jobs:\n jobs:\n  b: {runs-on: npu-8, timeout-minutes: 60}\n"
LISTED = "    runners:\n      - npu-4  # four\n      - npu-8  # eight\n"


@pytest.mark.parametrize(
    ("before", "after", "one", "two"),
    [
        # what is lacking is added with its label
        (HEAD + ONE + TAIL, HEAD.replace(EIGHTS, EIGHTS + SIXTEENS) + ONE + TWO + TAIL, "", "16"),
        (
            HEAD + ONE + TAIL,
            HEAD + (ONE + TWO).replace("npu-16", "npu-8") + TAIL,
            "",
            "8",
        ),
        # a limit, where it stands and where it does not
        (HEAD + ONE + TAIL, HEAD + ONE.replace("60", "90") + TAIL, "60 90", ""),
        (
            HEAD + ONE.replace("    timeout_minutes: 60  # an hour\n", "") + TAIL,
            HEAD + ONE.replace("60  # an hour", "60") + TAIL,
            "",
            "",
        ),
        (
            HEAD + FLOW.replace(", timeout_minutes: 60", "") + TAIL,
            HEAD + FLOW + TAIL,
            "",
            "",
        ),
        # labels in both forms of a list
        (
            HEAD + ONE + TAIL,
            HEAD.replace(EIGHTS, EIGHTS + SIXTEENS) + ONE.replace("[npu-8]", "[npu-16]") + TAIL,
            "npu-8 npu-16",
            "",
        ),
        (
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:")
            + ONE.replace("    runners: [npu-8]  # a label\n", LISTED),
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:")
            + ONE.replace("    runners: [npu-8]  # a label\n", LISTED).replace(
                "      - npu-4  # four\n", ""
            ),
            "",
            "",
        ),
        (
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:")
            + ONE.replace("[npu-8]", "[npu-4, npu-8]"),
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:") + ONE,
            "",
            "",
        ),
        (
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:")
            + ONE.replace("[npu-8]", "[npu-8, npu-4]"),
            HEAD.replace("npu-8:", "npu-4: {}\n  npu-8:") + ONE,
            "",
            "",
        ),
        # path filters, line by line and in one line
        (HEAD + MANY.replace("THESE", OLD), HEAD + MANY.replace("THESE", NEW), PATHS, ""),
        (HEAD + MANY.replace("THESE", LESS), HEAD + MANY.replace("THESE", ALL), PATHS, ""),
        (
            HEAD + ONE.replace('["**"]', '[old, "!b"]  # ours') + TAIL,
            HEAD + ONE.replace('["**"]', '[first, a, "!b", "c/**"]  # ours') + TAIL,
            PATHS,
            "",
        ),
        # jobs at once
        (HEAD + ONE + TAIL, HEAD + ONE + "    nodes: 2\n" + TAIL, BOTH, ""),
        (
            HEAD + ONE.replace("    start", "    nodes: 3  # three\n    start") + TAIL,
            HEAD + ONE.replace("    start", "    nodes: 2  # three\n    start") + TAIL,
            BOTH,
            "",
        ),
        # a file with the line ends of Windows, without an end, and with a mark
        (
            (HEAD + ONE + TAIL).replace("\n", "\r\n"),
            (HEAD + ONE.replace("60", "90") + TAIL).replace("\n", "\r\n"),
            "60 90",
            "",
        ),
        (
            (HEAD + ONE).replace("\n", "\r\n").removesuffix("\r\n"),
            (HEAD.replace(EIGHTS, EIGHTS + SIXTEENS) + ONE + TWO).replace("\n", "\r\n"),
            "",
            "16",
        ),
        ("\ufeff" + HEAD + ONE, "\ufeff" + HEAD + ONE.replace("60", "90"), "60 90", ""),
    ],
)
def test_the_policy_is_edited_and_keeps_its_comments(
    tmp_path: Path, before: str, after: str, one: str, two: str
) -> None:
    old, _, new = one.partition(" ")
    changed = PULLS.replace(old, new) if one else PULLS
    more = {"two": NIGHT.replace("npu-8", f"npu-{two}")} if two else {}
    checkout(tmp_path, before, one=changed, **more)
    result = sync(tmp_path, "--write")
    assert result.exit_code == 0
    assert f"+++ b/{POLICY}" in result.stdout
    assert (tmp_path / POLICY).read_bytes().decode() == after
    assert sync(tmp_path, "--check").exit_code == 0


def test_labels_are_added_to_lists_of_both_forms(tmp_path: Path) -> None:
    other = (
        ONE.replace("one", "two").replace("[npu-8]", "\n      - npu-8").replace("  # a label", "")
    )
    both = PULLS + "  b: {runs-on: npu-16, timeout-minutes: 60}\n"
    head = HEAD.replace("runners:\n" + EIGHTS, "runners: {npu-8: {npus: 8}}\n")
    checkout(tmp_path, head + ONE + other, one=both, two=both)
    assert sync(tmp_path, "--write").exit_code == 0
    text = (tmp_path / POLICY).read_text()
    assert "runners: {npu-8: {npus: 8}, npu-16: {npus: 16, slots: 1}}\n" in text
    assert "    runners: [npu-8, npu-16]  # a label\n" in text
    assert "      - npu-8\n      - npu-16\n    paths:" in text


@pytest.mark.parametrize("suites", ["suites: {}\n", ""])
def test_the_first_suite_is_added(tmp_path: Path, suites: str) -> None:
    head = HEAD.partition("suites:")[0]
    checkout(tmp_path, head + suites, two=NIGHT)
    assert sync(tmp_path, "--write").exit_code == 0
    loaded = load_policy((tmp_path / POLICY).read_bytes())
    assert isinstance(loaded, Policy)
    assert list(loaded.suites) == ["two"]
    assert (tmp_path / POLICY).read_text().startswith(head)


def test_what_is_gone_is_removed_with_the_comment_that_was_made_for_it(tmp_path: Path) -> None:
    block = "  #   kept: it is a person's\n" + TWO.lstrip("\n").replace("two", "gone")
    gone = block.replace("npu-16", "npu-8")
    jobs = TWO.replace("npu-16", "npu-8").replace(
        "two.yml\n    st", "one.yml\n    jobs: [x, y]\n    st"
    )
    own = ONE.replace("    start", "    jobs: [a, z]\n    start")
    checkout(tmp_path, HEAD + own + "\n" + gone + jobs + TAIL, one=PULLS)
    result = sync(tmp_path, "--write")
    assert result.exit_code == 0
    left = own.replace("[a, z]", "[a]") + "\n  #   kept: it is a person's\n"
    assert (tmp_path / POLICY).read_text() == HEAD + left + TAIL


BRACES = HEAD.partition("suites:")[0] + "suites: {" + FLOW.strip().partition("  #")[0] + "}\n"
SHARED = ONE.replace(": [npu-8]", ": &r [npu-8]") + ONE.replace("one", "two").replace(
    "[npu-8]", "*r"
)
MOVED = PULLS.replace("npu-8", "npu-16")


@pytest.mark.parametrize(
    ("policy", "workflows"),
    [
        (BRACES, {"one": PULLS, "two": NIGHT}),  # suites in braces take no block
        (HEAD + ONE, {}),  # the last suite is not removed
        (HEAD + SHARED, {"one": PULLS, "two": MOVED}),  # an alias would change another suite
    ],
)
def test_what_is_not_edited_is_left_to_people(
    tmp_path: Path, policy: str, workflows: dict[str, str]
) -> None:
    checkout(tmp_path, policy, **workflows)
    result = sync(tmp_path, "--write")
    assert result.exit_code == 1
    assert result.stdout.startswith("by hand  ")
    assert (tmp_path / POLICY).read_text() == policy


@pytest.mark.parametrize(
    ("options", "policy", "code", "words"),
    [
        (["--check", "--write"], HEAD, 2, "either --check or --write"),
        ([], None, 2, "there is no .github/ascend-ci.yml; `ascend-ci init` writes one"),
        ([], "version: 2\n", 1, f"{POLICY}:1: version: "),
    ],
)
def test_wrong_use_is_told(
    tmp_path: Path, options: list[str], policy: str | None, code: int, words: str
) -> None:
    if policy is not None:
        checkout(tmp_path, policy)
    result = sync(tmp_path, *options)
    assert result.exit_code == code
    assert words in result.stderr


def test_no_link_is_followed(tmp_path: Path) -> None:
    checkout(tmp_path / "a", HEAD + ONE, one=PULLS)
    (tmp_path / "a" / FOLDER / "two.yml").symlink_to(tmp_path / "two.yml")
    result = sync(tmp_path / "a")
    assert result.exit_code == 0
    assert "two.yml is a symbolic link; none is followed" in result.stderr
    (tmp_path / "b" / ".github").mkdir(parents=True)
    (tmp_path / "b" / POLICY).symlink_to(tmp_path / "a" / POLICY)
    assert "is a symbolic link" in sync(tmp_path / "b", "--write").stderr
