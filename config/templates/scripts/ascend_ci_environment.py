#!/usr/bin/env python3
"""Print what this node runs with, in one block: a failure is often a new version of something.

For Python 3.9 without packages. It imports none of the packages that it lists: that would take
the cards, or fail. What a node does not have has no line.
"""

import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASCEND = Path(os.environ.get("ASCEND_CI_ASCEND_ROOT") or "/usr/local/Ascend")
TOOLKIT = Path(os.environ.get("ASCEND_TOOLKIT_HOME") or ASCEND / "ascend-toolkit" / "latest")
VERSION = re.compile(r"^\s*version\s*=\s*([\w.+-]+)", re.I | re.M)
# Files of which the first that names a version counts.
FILES = {
    "CANN": sorted(TOOLKIT.glob("*/ascend_toolkit_install.info")),
    "driver": [ASCEND / "driver" / "version.info"],
    "firmware": [ASCEND / "firmware" / "version.info"],
}
PACKAGES = (
    *("torch", "torch-npu", "vllm", "vllm-ascend", "sglang", "transformers", "ray", "numpy"),
    *("megatron-core", "mindspeed", "mbridge", "megatron-bridge", "triton-ascend", "verl"),
)


def named(files):
    """Return the version that the first readable file names, None without one."""
    for path in files:
        try:
            found = VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        if found:
            return found[1]
    return None


def package(name):
    """Return the version of an installed package, with its commit if it comes from git."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    commit = commit_of(found.read_text("direct_url.json"))
    return f"{found.version} at {commit[:12]}" if commit else found.version


def commit_of(source):
    """Return the commit that a package was installed from, "" if that is not known."""
    try:
        told = json.loads(source or "{}")
        url = urlsplit(told.get("url", ""))
        if url.scheme != "file":
            return told.get("vcs_info", {}).get("commit_id", "")
        asked = ["git", "-C", unquote(url.path), "rev-parse", "HEAD"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    except (ValueError, AttributeError, OSError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main():
    """Print one line for each thing that is there."""
    host = os.environ.get("HOSTNAME") or platform.node()
    found = {
        "image": os.environ.get("ASCEND_CI_IMAGE", "").strip(),
        **{name: named(files) for name, files in FILES.items()},
        "python": platform.python_version(),
        **{name: package(name) for name in PACKAGES},
    }
    print(f"ascend-ci: environment of {host}")  # noqa: T201
    for name, version in found.items():
        if version:
            print(f"ascend-ci:   {name} {version}")  # noqa: T201
    sys.stdout.flush()


if __name__ == "__main__":
    main()
