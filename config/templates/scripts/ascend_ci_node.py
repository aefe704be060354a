#!/usr/bin/env python3
"""Set one node up: STAGED TREE ROOT NAME COMMIT DATA. For Python 3.9 without packages.

Copies what is staged to the folder ROOT, which nobody else can enter, compares the copy with TREE,
and sets the commit up in ROOT/work/NAME. The launcher hands this text to every node, so a node
executes nothing that it has not compared.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

CHUNK_BYTES = 1 << 20


def entries(folder, without=()):
    """Return git's mode and id of everything in a folder, by name."""
    paths = (path for path in folder.iterdir() if path.name not in without)
    return {os.fsencode(path.name): entry(path) for path in paths}


def entry(path, without=()):
    """Return git's mode and id of a file, a link or a folder; no link is followed."""
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode):
        return b"40000", tree(entries(path, without))
    if stat.S_ISLNK(found.st_mode):
        target = os.fsencode(os.readlink(path))  # noqa: PTH115 - a Path would change the text
        return b"120000", blob([target], len(target))
    mode = b"100755" if found.st_mode & stat.S_IXUSR else b"100644"
    with path.open("rb") as file:
        return mode, blob(iter(lambda: file.read(CHUNK_BYTES), b""), found.st_size)


def blob(pieces, size):
    """Return git's id of a content."""
    sha = hashlib.sha256(b"blob %d\0" % size)
    for piece in pieces:
        sha.update(piece)
    return sha.digest()


def tree(found):
    """Return the id of a folder as `git write-tree` does with the object format sha256."""
    # Git sorts a folder as if its name ended in a slash. It keeps no empty folder; here one counts.
    order = sorted(found, key=lambda name: name + b"/" * (found[name][0] == b"40000"))
    content = b"".join(b"%s %s\0%s" % (found[name][0], name, found[name][1]) for name in order)
    return hashlib.sha256(b"tree %d\0" % len(content) + content).digest()


def fail(text):
    """End with code 1 and a reason."""
    sys.exit(f"ascend-ci: {host()} {text}")


def host():
    """Return the name of this node."""
    return os.environ.get("HOSTNAME") or os.uname().nodename


def make_root(root):
    """Make a folder that nobody else can enter; remove what an earlier job of ours left there."""
    root.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(root):
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            fail(f"has something of another user at {root}")
        shutil.rmtree(root)
    root.mkdir(mode=0o700)


def receive(staged, expected, root):
    """Copy what is staged into the root and compare the copy: the volume may change meanwhile."""
    make_root(root)
    copy = root / "staged"
    try:
        shutil.copytree(staged, copy, symlinks=True)
        found = tree(entries(copy)).hex()
    except OSError as error:
        fail(f"can't copy {staged}: {str(error)[:300]}")
    if found != expected:
        shutil.rmtree(root)
        fail(
            f"sees other files in {staged} than were submitted: somebody changed them, or the"
            f" volume does not keep modes and links (tree {found}, submitted was {expected})"
        )
    return copy


def main():
    """Receive the commit, check it and set it up."""
    staged, expected, root, name, commit, data = sys.argv[1:]
    copy = receive(staged, expected, Path(root))
    work = Path(root) / "work" / name
    work.parent.mkdir()
    (copy / "repo").rename(work)
    set_up = ["bash", "--", str(copy / "ascend_ci_setup.sh"), data]
    done = subprocess.run(set_up, cwd=work, check=False)  # noqa: S603 - compared above
    if not done.returncode:
        print(f"ascend-ci: {host()} runs commit {commit} in {work}", flush=True)  # noqa: T201
        told = [sys.executable, "-I", str(copy / "ascend_ci_environment.py")]
        subprocess.run(told, check=False)  # noqa: S603 - compared above; it decides nothing
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
