"""The checker of workflows finds what it is there for, and lets the staging of bytes pass."""

import pytest
import yaml

from tests.templates.shell import UnreadableError, pipelines
from tests.templates.trust import faults, powers

TRUSTED = {"uses": "actions/checkout@v4", "with": {"path": "trusted", "persist-credentials": False}}
UNDER_TEST = {
    "uses": "actions/checkout@v4",
    "with": {"ref": "${{ inputs.sha }}", "path": "pr", "persist-credentials": False},
}
SIGNS = {"contents": "read", "id-token": "write"}
READS = {"contents": "read"}


def workflow(*steps: object, permissions: object = None, **job: object) -> str:
    """Return a workflow with one job: both checkouts, then the steps; a text is a `run`."""
    written = [{"run": step} if isinstance(step, str) else step for step in steps]
    data = {"permissions": permissions or SIGNS, "steps": [TRUSTED, UNDER_TEST, *written], **job}
    return yaml.safe_dump({"jobs": {"submit": data}})


BYTES = [
    "python3 trusted/scripts/stage.py stage",
    "exec python3 -I ./trusted/scripts/submit.py --detach",
    'bash -eu -- "$GITHUB_WORKSPACE/trusted/a b.sh"',
    "S=trusted/scripts\nbash $S/a.sh",
    "if test -d pr; then bash trusted/a.sh; fi",
    "# bash pr/x.sh\ntrue",
    'cp -R pr "$RUNNER_TEMP/x"; rm -rf pr',
    "tar -cf - pr | tar -xf - -C /mnt/stage",
    "cat pr/VERSION | head -n 1 > /tmp/version",
    'echo "commit=$(cat pr/.git/HEAD)" >> "$GITHUB_OUTPUT"',
    "sha256sum pr/a.sh >&2 2> /dev/null",
]


@pytest.mark.parametrize("step", BYTES)
def test_trusted_programs_run_and_bytes_are_copied(step: str) -> None:
    assert faults(workflow(step)) == []


EXECUTED = [
    # by a path
    "pr/run.sh",
    "./pr/run.sh",
    "$GITHUB_WORKSPACE/pr/run.sh",
    "/home/runner/_work/repo/repo/pr/run.sh",
    "bash pr/run.sh",
    "bash -- pr/run.sh",
    "bash trusted/../pr/run.sh",
    "sh -e ./pr/tests/run.sh",
    "python3 pr/setup.py install",
    "python pr/run.py",
    "exec bash pr/run.sh",
    "sudo bash pr/run.sh",
    "env A=1 bash pr/run.sh",
    "timeout 5 bash pr/run.sh",
    "command bash pr/run.sh",
    "command bash other.sh",
    "source pr/env.sh",
    ". pr/env.sh",
    # by a folder
    "cd pr && make",
    "cd pr",
    "pushd pr\nmake",
    "make -C pr",
    "make --directory=pr",
    "pip install ./pr",
    "pip install -e pr",
    "python3 -m pip install -r pr/requirements.txt",
    "pytest pr/tests",
    "pytest",
    "make",
    "git -C pr submodule update",
    "docker build pr",
    "find pr -name '*.sh' -exec bash {} ;",
    "find . -name run.sh | xargs bash",
    # by another name
    'D=pr\nbash "$D/run.sh"',
    "D=pr; bash ${D}/run.sh",
    'A=pr; B=$A/x; bash "$B/run.sh"',
    "for f in pr/*.sh; do bash $f; done",
    "for f in */run.sh; do bash $f; done",
    "bash p*/run.sh",
    "bash [p]r/run.sh",
    "bash {pr,x}/run.sh",
    'bash "p""r"/run.sh',
    "bash p\\r/run.sh",
    "bash \\\n  pr/run.sh",
    "bash 'pr'/run.sh",
    "bash $UNKNOWN/run.sh",
    "bash ../elsewhere.sh",
    "bash /mnt/shared/run.sh",
    # as text
    "cat pr/run.sh | bash",
    "bash < pr/run.sh",
    "bash <(cat pr/run.sh)",
    'bash -c "$(cat pr/run.sh)"',
    'eval "$(cat pr/run.sh)"',
    "X=$(cat pr/run.sh)\neval $X",
    "bash -c 'pr/run.sh'",
    "echo `pr/run.sh`",
    'echo "$(bash pr/run.sh)"',
    "echo $(bash pr/run.sh)",
    "bash <<< 'pr/run.sh'",
    "python3 - <<E\nimport os\nos.system('pr/run.sh')\nE",
    "python3 -c 'import pr.x'",
    "echo a && bash pr/x || true",
    "echo a & bash pr/x",
    "(bash pr/x)",
    "if bash pr/x; then true; fi",
    "while ! pr/x; do sleep 1; done",
    # through what is trusted
    "cp pr/run.sh trusted/run.sh\nbash trusted/run.sh",
    "cp -t trusted pr/run.sh",
    "cp -R pr/x trusted 2> /dev/null",
    "cp -R pr/. trusted",
    "cat pr/run.sh > trusted/scripts/stage.py",
    "mv pr/a ./trusted/a",
    "cat pr/a | tee trusted/a",
    "tar -cf - pr | tar -xf - -C trusted",
    "tar -cf - pr | tar -xf - --directory=trusted",
    "cp -R pr/. .",
    "tar --to-command=sh -xf pr/a.tar",
    "tar -I pr/x -xf a.tar",
    # through what later steps inherit
    'cat pr/env >> "$GITHUB_ENV"',
    "echo x/pr >> $GITHUB_PATH",
    "echo PATH=x >> ${GITHUB_ENV}",
    "PATH=pr/bin:$PATH python3 trusted/a.py",
    "export PATH=pr/bin",
    "PYTHONPATH=pr python3 trusted/a.py",
    "LD_PRELOAD=x.so python3 trusted/a.py",
    # what brings code in
    'git fetch origin "$SHA"',
    "gh pr checkout 5",
    "curl https://example.org/x | bash",
    "echo 'never closed",
]


@pytest.mark.parametrize("step", EXECUTED)
def test_execution_of_the_commit_under_test_is_found(step: str) -> None:
    assert faults(workflow(step)) != []


STEPS = [
    ({"run": "make", "working-directory": "pr"}, "runs in pr"),
    ({"run": "true", "working-directory": "${{ inputs.script }}"}, "runs in ${{"),
    ({"uses": "./pr/action"}, "uses ./pr/action"),
    ({"uses": "./pr"}, "uses ./pr"),
    ({"uses": "./other"}, "uses ./other"),
    ({"uses": "docker://x"}, "uses docker://x"),
    ({"run": "true", "shell": "bash pr/x {0}"}, "its shell is bash pr/x"),
    ({"run": "import pr.x", "shell": "python"}, "its shell is python"),
    ({"run": "python3 trusted/a.py", "env": {"PYTHONPATH": "pr"}}, "PYTHONPATH steers"),
    ({"run": "python3 trusted/a.py", "env": {"BASH_ENV": "${{ inputs.x }}"}}, "BASH_ENV steers"),
    ({"run": 'bash "$F/run.sh"', "env": {"F": "pr"}}, "executes with the commit under test"),
]


@pytest.mark.parametrize(("step", "said"), STEPS)
def test_a_step_is_looked_at_around_its_script(step: object, said: str) -> None:
    assert any(said in fault for fault in faults(workflow(step)))


def test_a_trusted_action_and_folder_pass() -> None:
    step = {"run": "python3 trusted/a.py", "working-directory": "trusted"}
    assert faults(workflow({"uses": "./trusted/action"}, step)) == []


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"container": "${{ inputs.image }}"}, "its container is chosen from outside"),
        ({"container": {"image": "${{ github.event.inputs.image }}"}}, "its container"),
        ({"services": {"x": {"image": "${{ inputs.image }}"}}}, "its services"),
        ({"uses": "./.github/workflows/x.yml"}, "a called workflow"),
        ({"env": {"LD_PRELOAD": "pr/x.so"}}, "LD_PRELOAD steers"),
    ],
)
def test_a_job_is_looked_at_around_its_steps(job: dict[str, object], said: str) -> None:
    assert any(said in fault for fault in faults(workflow("true", **job)))


def test_a_job_that_may_do_nothing_executes_what_it_likes() -> None:
    assert faults(workflow("cd pr && make", "pytest", permissions=READS)) == []


POWERS: list[tuple[dict[str, object], dict[str, object], str]] = [
    ({}, {}, "the default token"),
    ({"permissions": "write-all"}, {}, "permissions: write-all"),
    ({"permissions": "read-all"}, {}, "permissions: read-all"),
    ({"permissions": {"id-token": "write"}}, {}, "id-token: write"),
    ({"permissions": {}}, {"permissions": {"contents": "write"}}, "contents: write"),
    ({"permissions": {}}, {"permissions": {"packages": "read"}}, "packages: read"),
    ({"permissions": {}}, {"env": {"A": "${{ secrets.X }}"}}, "a secret"),
    ({"permissions": {}}, {"steps": [{"with": {"t": "${{ secrets['X'] }}"}}]}, "a secret"),
    ({"permissions": {}}, {"steps": [{"env": {"T": "${{ github.token }}"}}]}, "a secret"),
    ({"permissions": {}}, {"steps": [{"run": "echo ${{ toJSON(github) }}"}]}, "a secret"),
    ({"permissions": {}}, {"steps": [{"run": "echo ${{ github['token'] }}"}]}, "a secret"),
    ({"permissions": {}}, {"secrets": "inherit"}, "a secret"),
    ({"permissions": {}, "env": {"A": "${{ secrets.X }}"}}, {}, "a secret"),
]


@pytest.mark.parametrize(("top", "job", "said"), POWERS)
def test_whatever_gives_power_is_seen(
    top: dict[str, object], job: dict[str, object], said: str
) -> None:
    assert list(powers(top, job)) == [said]


def test_reading_the_repository_is_no_power_and_a_job_may_give_up_more() -> None:
    assert list(powers({"permissions": "write-all"}, {"permissions": {}})) == []
    assert list(powers({}, {"permissions": {"contents": "read", "id-token": "none"}})) == []


def checkout(path: str | None = None, **given: object) -> dict[str, object]:
    where = {} if path is None else {"path": path}
    return {"uses": "actions/checkout@v4", "with": {"persist-credentials": False, **where, **given}}


@pytest.mark.parametrize(
    "given",
    [
        {"ref": "${{ inputs.sha }}"},
        {"ref": "${{ github.event.pull_request.head.sha }}"},
        {"ref": "refs/pull/${{ inputs.pr }}/head"},
        {"ref": "${{ inputs.ref || github.sha }}"},
        {"repository": "${{ github.event.pull_request.head.repo.full_name }}"},
    ],
)
@pytest.mark.parametrize("path", ["code", ".", None, "${{ inputs.path }}"])
def test_the_commit_under_test_is_known_wherever_it_is_put(
    given: dict[str, object], path: str | None
) -> None:
    steps = [checkout(path, **given), {"run": "bash code/run.sh"}]
    text = yaml.safe_dump({"jobs": {"a": {"permissions": SIGNS, "steps": steps}}})
    assert len(faults(text)) == 1
    cached = yaml.safe_load(text)
    cached["jobs"]["a"]["permissions"] = READS
    assert faults(yaml.safe_dump(cached)) == []
    cached["jobs"]["a"]["steps"].append({"uses": "actions/cache@v4", "with": {"path": "x"}})
    assert "shares a cache" in faults(yaml.safe_dump(cached))[0]


def test_a_setup_action_with_a_cache_is_a_cache() -> None:
    step = {"uses": "actions/setup-python@v5", "with": {"cache": "pip"}}
    assert "shares a cache" in faults(workflow(step, permissions=READS))[0]


def test_an_artifact_is_as_little_trusted_as_the_commit() -> None:
    artifact = {"uses": "actions/download-artifact@v4", "with": {"path": "built"}}
    assert faults(workflow(artifact, "bash built/run.sh")) != []


@pytest.mark.parametrize("given", [{}, {"persist-credentials": True}, {"persist-credentials": ""}])
def test_credentials_left_behind_are_found_in_every_job(given: dict[str, object]) -> None:
    left = {"uses": "actions/checkout@v4", "with": {"path": "trusted", **given}}
    for permissions in (SIGNS, READS):
        assert "leaves its credentials" in faults(workflow(left, permissions=permissions))[0]


def test_a_fault_names_job_powers_and_step() -> None:
    (fault,) = faults(workflow("bash pr/run.sh"))
    said = "executes with the commit under test in reach: bash pr/run.sh"
    assert fault == f"submit (id-token: write), step 3: {said}"


def test_commands_are_read_as_bash_reads_them() -> None:
    script = "a 'b c' \\\n d > e 2>&1 | f\nX=1 Y='2 3' g; for i in h j; do k; done\n# l\nm \"n\no\""
    read = [[(c.words, c.targets, c.assigned) for c in line] for line in pipelines(script)]
    assert read == [
        [(["a", "b c", "d"], ["e", "1"], {}), (["f"], [], {})],
        [(["g"], [], {"X": "1", "Y": "2 3"})],
        [([], [], {"i": "in h j"})],
        [(["k"], [], {})],
        [([], [], {})],
        [(["m", "n\no"], [], {})],
    ]


def test_a_text_that_does_not_end_is_no_text() -> None:
    with pytest.raises(UnreadableError):
        list(pipelines('echo "a'))
