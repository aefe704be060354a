#!/usr/bin/env python3
"""Stage a commit for a RayJob and clear up after it: the trusted half of a submit job.

For Python 3.9 without packages. The job has checked out two folders: `trusted/`, where this file
lies, and `pr/`, the commit under test. The commit is bytes here: it is copied, nothing in it is
executed and no link in it is followed.

    stage   copy pr/ into a new folder on a volume that the cluster mounts; write its name and what
            is to be submitted to GITHUB_OUTPUT: folder, script, args, env, patches
    stop    delete the RayJobs of this run attempt; fails unless the submitter confirms it
    remove  remove the folder; fails if it is still there

The submission carries git's id of all that was staged, as computed from the checkouts, and every
node compares its copy with it. So nobody who can write to the volume changes what a job runs.

All comes from the environment, see `workflows/ascend_multinode.yml`.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import ascend_ci_node as node

TRUSTED = Path(__file__).resolve().parent
CHECKOUT = Path("pr")
LAUNCHER = "ascend_ci_launch.sh"
NODE = "ascend_ci_node.py"
IN_CLUSTER = (
    *(LAUNCHER, NODE, "ascend_ci_nodes.py", "ascend_ci_setup.sh"),
    "ascend_ci_environment.py",
)
GIT = (".git",)
# Scripts read the NPUs of a node under one of these names: with different ones a training would
# start with fewer or more than its pods have.
NPUS_OF_NODE = ("NPUS_PER_NODE", "NGPUS_PER_NODE", "N_NPUS")
KEEP_S = 2 * 24 * 3600  # longer than any run: what is older was left by a run that was killed
STOP_S = "60"  # a restarting submitter is back by then; a cancelled job has 5 minutes to end
RESOURCES = "/spec/rayClusterSpec/workerGroupSpecs/0/template/spec/containers/0/resources"
say = partial(print, flush=True)
OURS = r"\d+-\d+-[0-9a-f]{16}"


def fail(text):
    """End with code 1 and a reason."""
    sys.exit(f"ascend-ci: {text}")


def wanted(name, pattern=r"[\s\S]+", default=None):
    """Return a variable's value; ends with its name when it is missing or malformed."""
    value = os.environ.get(name, "").strip() or default
    if value is None:
        fail(f"{name} is missing")
    if not re.fullmatch(pattern, value):
        fail(f"{name} is {value!r}, which is not {pattern}")
    return value


def staging_root():
    """Return the folder that all runs stage in."""
    return Path(wanted("ASCEND_CI_STAGING_DIR", r"/.*"))


def new_folder():
    """Return a folder for this run and attempt, with a name that nobody can guess and occupy."""
    run, attempt = wanted("GITHUB_RUN_ID", r"\d+"), wanted("GITHUB_RUN_ATTEMPT", r"\d+")
    return staging_root() / f"{run}-{attempt}-{secrets.token_hex(8)}"


def stage():
    """Copy the commit and write what is to be submitted."""
    folder, commit = new_folder(), wanted("ASCEND_CI_SHA", r"[0-9a-f]{40}|[0-9a-f]{64}")
    script = checked_script(wanted("TEST_SCRIPT"))
    outputs = submission(folder)
    found = (CHECKOUT / ".git" / "HEAD").read_text().strip()
    if found != commit:
        fail(f"pr/ is at {found[:80]!r}, asked for was {commit}")
    prepare(folder.parent)
    hand_on(folder=folder.name)  # before the copy: an aborted one is removed, too
    copy(folder)
    hand_on(**outputs, args=json.dumps([*ids(), commit, script]))
    say(f"ascend-ci: {commit} is staged in {folder}")


def hand_on(**outputs):
    """Write outputs of this step."""
    with Path(wanted("GITHUB_OUTPUT")).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs.items())


def prepare(root):
    """Make the folder of all runs if need be, check it, and clear it up."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = root.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        fail(f"everybody may replace what lies in {root}: make it `chmod o-w` or `chmod +t`")
    sweep(root, time.time() - KEEP_S)


def checked_script(script):
    """Return the script's path if it is a file of the commit itself."""
    path, root = CHECKOUT / script, CHECKOUT.resolve()
    if ".." in path.parts or not path.resolve().is_relative_to(root) or not path.is_file():
        fail(f"the commit has no script {script!r}")
    return script


def copy(folder):
    """Copy the checkout and the scripts of the cluster."""
    folder.mkdir(mode=0o700)
    for name in IN_CLUSTER:
        shutil.copy(TRUSTED / name, folder / name)
    git = str(CHECKOUT)
    ignore = lambda inside, names: set(GIT) & set(names) if inside == git else set()  # noqa: E731
    shutil.copytree(CHECKOUT, folder / "repo", symlinks=True, ignore=ignore)


def ids():
    """Return the ids of all that is staged, and of the program that compares it.

    They are computed from the checkouts: what lies on the volume may have changed already.
    """
    scripts = {os.fsencode(name): node.entry(TRUSTED / name) for name in IN_CLUSTER}
    tree = node.tree({**scripts, b"repo": node.entry(CHECKOUT, GIT)})
    return tree.hex(), sha256_of(NODE)


def sha256_of(name):
    """Return the SHA-256 of a script of the cluster."""
    return hashlib.sha256((TRUSTED / name).read_bytes()).hexdigest()


def submission(folder):
    """Return the outputs: where the launcher lies in the cluster, and its environment."""
    mount = Path(os.environ.get("ASCEND_CI_STAGING_MOUNT", "").strip() or folder.parent)
    workers = wanted("WORKER_REPLICAS", r"[1-9]\d{0,3}")
    npus = wanted("NPUS_PER_WORKER", r"\d{1,3}", "0")
    env = {
        "ASCEND_CI_DATA": os.environ.get("TEST_DATA", "").strip(),
        "ASCEND_CI_WORKERS": workers,
        "ASCEND_CI_CHECKOUT": wanted("GITHUB_REPOSITORY").rpartition("/")[2],
        "ASCEND_CI_SCRIPT_SHA256": sha256_of(LAUNCHER),  # for submitters that compare it
        "NNODES": workers,
        **(dict.fromkeys(NPUS_OF_NODE, npus) if int(npus) else {}),
    }
    launcher = str(mount / folder.name / LAUNCHER)
    if not launcher.isprintable():
        fail(f"the staging folder is {launcher!r}")
    return {"script": launcher, "env": json.dumps(env), "patches": json.dumps(patches(npus))}


def patches(npus):
    """Return the changes to the RayJob's template: a worker's NPUs, then the repository's own."""
    name = wanted("ASCEND_CI_NPU_RESOURCE", r"\S+", "huawei.com/ascend-1980")
    escaped = name.replace("~", "~0").replace("/", "~1")
    paths = [f"{RESOURCES}/{kind}/{escaped}" for kind in ("requests", "limits")]
    own = os.environ.get("ASCEND_CI_TEMPLATE_PATCHES", "").strip() or "[]"
    try:
        more = json.loads(own)
    except ValueError as error:
        fail(f"ASCEND_CI_TEMPLATE_PATCHES is no JSON: {error}")
    if not isinstance(more, list):
        fail("ASCEND_CI_TEMPLATE_PATCHES is no JSON array")
    return [{"op": "add", "path": path, "value": npus} for path in paths if int(npus)] + more


def sweep(root, before):
    """Remove folders of runs that were killed; one that stays is said, and hinders nobody."""
    for folder in root.iterdir():
        try:
            is_old = re.fullmatch(OURS, folder.name) and folder.lstat().st_mtime < before
            if is_old and folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
                say(f"ascend-ci: removed {folder}, left by an old run")
        except FileNotFoundError:  # noqa: PERF203  one folder must not stop the sweep
            continue  # another job sweeps too
        except OSError as error:
            say(f"ascend-ci: {folder} stays: {error}", file=sys.stderr)


def remove():
    """Remove what this job staged."""
    folder = staging_root() / wanted("ASCEND_CI_STAGED", OURS)
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        fail(f"{folder} could not be removed")
    say(f"ascend-ci: {folder} is gone")


def stop():
    """Delete this run attempt's RayJobs."""
    import ascend_ci_submit as client  # noqa: PLC0415 - needed here alone

    run, attempt = wanted("GITHUB_RUN_ID", r"\d+"), wanted("GITHUB_RUN_ATTEMPT", r"\d+")
    base = wanted("SUBMITTER_URL").rstrip("/")
    token, audience = (os.environ.get(f"SUBMITTER_{x}", "").strip() for x in ("TOKEN", "AUDIENCE"))
    token = token or (audience and partial(client.oidc_token, audience))
    url = f"{base}/api/v1/workflows/{quote(run, safe='')}?{urlencode({'attempt': attempt})}"
    once = partial(client.call, "DELETE", url, token)
    patience_s = float(wanted("ASCEND_CI_RETRY_SECONDS", r"\d+", STOP_S))
    status, text = client.insist(once, patience_s, 500)
    if not (200 <= status < 300 or status == 404):  # 404: nothing is left
        fail(f"the RayJobs of this attempt may run on: {text}")
    say("ascend-ci: no RayJob of this attempt is left")


if __name__ == "__main__":
    commands = {"stage": stage, "stop": stop, "remove": remove}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        fail(f"usage: {sys.argv[0]} {'|'.join(commands)}")
    commands[sys.argv[1]]()
