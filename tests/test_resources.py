import subprocess
import sys
from pathlib import Path

import pytest

from bot import resources

CONFIG = Path(__file__).parent.parent / "config"


def test_a_file_of_config_is_read_as_text() -> None:
    assert resources.text("policy.yml") == (CONFIG / "policy.yml").read_text()


def test_a_file_and_a_folder_have_a_path() -> None:
    with resources.path_of("policy.yml") as path:
        assert path.read_bytes() == (CONFIG / "policy.yml").read_bytes()
    with resources.path_of(".") as folder:
        assert (folder / "policy.yml").is_file()


def test_names_are_listed_from_config_down() -> None:
    names = resources.names()
    assert "policy.yml" in names
    assert list(names) == sorted(
        path.relative_to(CONFIG).as_posix() for path in CONFIG.rglob("*") if path.is_file()
    )


def test_names_below_a_folder_keep_its_name() -> None:
    folders = sorted(path for path in CONFIG.iterdir() if path.is_dir())
    for folder in folders:
        names = resources.names(folder.name)
        assert all(name.startswith(f"{folder.name}/") for name in names)
        assert all(resources.text(name) == (CONFIG / name).read_text() for name in names)


def test_a_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"config/nothing\.yml"):
        resources.text("nothing.yml")


def test_an_installed_wheel_reads_the_copy_that_it_carries(tmp_path: Path) -> None:
    package = tmp_path / "bot"
    (package / "_config" / "templates").mkdir(parents=True)
    (package / "_config" / "policy.yml").write_text("carried")
    (package / "_config" / "templates" / "a.yml").write_text("a")
    source = Path(resources.__file__).parent
    for name in ("__init__.py", "resources.py"):
        (package / name).write_text((source / name).read_text())
    program = "from bot import resources as r; print(r.text('policy.yml'), *r.names('templates'))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "carried templates/a.yml\n"
