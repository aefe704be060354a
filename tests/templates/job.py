"""The workspace of a submit job: `trusted/` with the scripts, `pr/` with the commit under test."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.templates.standin import SCRIPTS

COMMIT = "c" * 40
CLIENT = Path(__file__).parents[2] / "bot" / "submit.py"


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """One attempt of a run; `shared` is the volume that the cluster mounts."""

    folder: Path
    run: str = "77"
    attempt: str = "1"

    @property
    def shared(self) -> Path:
        return self.folder / "shared [1] *"

    @property
    def output(self) -> Path:
        return self.folder / f"output-{self.attempt}"

    @property
    def staged(self) -> Path:
        """Return the folder that the job has made."""
        return self.shared / str(self.outputs()["folder"])

    @property
    def pr(self) -> Path:
        return self.folder / "workspace" / "pr"

    def check_out(self) -> "SubmitJob":
        """Lay out both checkouts, as actions/checkout leaves them."""
        trusted = self.folder / "workspace" / "trusted" / ".github" / "scripts"
        shutil.copytree(SCRIPTS, trusted, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(CLIENT, trusted / "ascend_ci_submit.py")
        (self.pr / ".git").mkdir(parents=True)
        (self.pr / ".git" / "HEAD").write_text(f"{COMMIT}\n")
        (self.pr / "tests").mkdir()
        self.add("tests/run.sh", "echo trained\n")
        return self

    def add(self, name: str, text: str = "") -> Path:
        path = self.pr / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `ascend_ci_stage.py` as the workflow does."""
        env = {
            "PATH": os.environ["PATH"],
            "GITHUB_RUN_ID": self.run,
            "GITHUB_RUN_ATTEMPT": self.attempt,
            "GITHUB_REPOSITORY": "octo/verl",
            "GITHUB_OUTPUT": str(self.output),
            "ASCEND_CI_STAGING_DIR": str(self.shared),
            "ASCEND_CI_SHA": COMMIT,
            "TEST_SCRIPT": "tests/run.sh",
            "WORKER_REPLICAS": "2",
            "ASCEND_CI_STAGED": self.outputs().get("folder", ""),
            **more,
        }
        return subprocess.run(
            [sys.executable, "trusted/.github/scripts/ascend_ci_stage.py", name],
            cwd=self.folder / "workspace",
            env=env,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def outputs(self) -> dict[str, Any]:
        """Return what the step handed on, decoded."""
        lines = self.output.read_text().splitlines() if self.output.exists() else []
        pairs = dict(line.split("=", 1) for line in lines)
        return {k: v if k in ("folder", "script") else json.loads(v) for k, v in pairs.items()}
