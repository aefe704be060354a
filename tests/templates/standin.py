"""A recording stand-in for `python3`, and a way to run a script of the templates under bash."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "config" / "templates"
SCRIPTS = TEMPLATES / "scripts"

# Every call is a line of `calls`, its arguments between separators that no argument holds.
_PROGRAM = """#!/usr/bin/env bash
{ printf '%s\\x1f' "$@"; printf '\\x1e'; } >> "$RECORD/calls"
printf '%s' "${HCCL_CONNECT_TIMEOUT:-}" > "$RECORD/hccl"
pwd > "$RECORD/cwd"
echo "step:1 - critic/rewards/mean:0.5"
echo "a warning of the training" >&2
exit "${PYTHON_ENDS_WITH:-0}"
"""


@dataclass(frozen=True, slots=True)
class Bash:
    """Runs scripts in `cwd`, with a home of their own and `python3` recorded instead of run."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def cwd(self) -> Path:
        return self.folder / "cwd"

    def prepare(self) -> "Bash":
        for name in ("home", "cwd", "bin", "record"):
            (self.folder / name).mkdir()
        program = self.folder / "bin" / "python3"
        program.write_text(_PROGRAM)
        program.chmod(0o755)
        return self

    def run(self, script: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        record = str(self.folder / "record")
        return subprocess.run(
            ["/bin/bash", str(script), *arguments],
            check=False,
            cwd=self.cwd,
            env={"PATH": path, "HOME": str(self.home), "RECORD": record, "LC_ALL": "C", **env},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self) -> list[list[str]]:
        """Return the arguments of each call of `python3`."""
        record = self.folder / "record" / "calls"
        if not record.exists():
            return []
        calls = record.read_bytes().decode(errors="surrogateescape").split("\x1e")[:-1]
        return [call.split("\x1f")[:-1] for call in calls]

    def recorded(self, name: str) -> str:
        return (self.folder / "record" / name).read_text()
