"""The block that says what a node runs with."""

import json
import platform
import subprocess
import sys
from pathlib import Path

from tests.templates.standin import SCRIPTS

ENVIRONMENT = SCRIPTS / "ascend_ci_environment.py"


def told(folder: Path, **more: str) -> list[str]:
    """Return the lines that the program prints, with a folder's packages and Ascend files."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder / "site"), "HOSTNAME": "a3-0042"}
    env |= {"ASCEND_CI_ASCEND_ROOT": str(folder / "Ascend"), **more}
    # Without `-I`, which leaves out PYTHONPATH; `-S`: no packages of this machine.
    done = subprocess.run(
        [sys.executable, "-S", str(ENVIRONMENT)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def install(folder: Path, name: str, version: str, source: object = None) -> None:
    info = folder / "site" / f"{name}-{version}.dist-info"
    put(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if source is not None:
        put(info / "direct_url.json", source if isinstance(source, str) else json.dumps(source))


def test_versions_of_the_driver_and_of_packages_are_told_with_their_commits(tmp_path: Path) -> None:
    root = tmp_path / "Ascend"
    cann = root / "ascend-toolkit" / "latest" / "aarch64-linux" / "ascend_toolkit_install.info"
    put(cann, "package_name=Ascend-cann-toolkit\nversion=8.2.RC1\ninnerversion=V100R001\n")
    put(root / "driver" / "version.info", "Version=25.0.rc1.1\nascendhal_version=7.35.23\n")
    put(root / "firmware" / "version.info", "no version here\n")
    clone = tmp_path / "a clone"
    clone.mkdir()
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    install(tmp_path, "torch_npu", "2.7.1")
    install(tmp_path, "mbridge", "0.15.1", {"url": clone.as_uri(), "dir_info": {"editable": True}})
    install(
        tmp_path, "vllm_ascend", "0.11", {"url": "https://x", "vcs_info": {"commit_id": "c" * 40}}
    )
    assert told(tmp_path, ASCEND_CI_IMAGE="quay.io/ascend/verl:9") == [
        "ascend-ci: environment of a3-0042",
        "ascend-ci:   image quay.io/ascend/verl:9",
        "ascend-ci:   CANN 8.2.RC1",
        "ascend-ci:   driver 25.0.rc1.1",
        f"ascend-ci:   python {platform.python_version()}",
        "ascend-ci:   torch-npu 2.7.1",
        f"ascend-ci:   vllm-ascend 0.11 at {'c' * 12}",
        f"ascend-ci:   mbridge 0.15.1 at {head.stdout[:12]}",
    ]


def test_what_is_missing_or_unreadable_is_left_out(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.7.1", "{no json")
    install(tmp_path, "vllm", "0.11", {"url": (tmp_path / "gone").as_uri()})
    install(tmp_path, "ray", "2.5", [1])
    assert [line.split("ci:")[1] for line in told(tmp_path)[2:]] == [
        "   torch 2.7.1",
        "   vllm 0.11",
        "   ray 2.5",
    ]
