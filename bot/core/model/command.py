"""How every command begins, and how it names a commit."""

COMMAND = "/ascend-e2e"
SHA_CHARS = 12  # hex digits of a commit in a command; fewer could name another commit
