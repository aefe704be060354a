"""The policy of a repository (`.github/ascend-ci.yml`): load it, check it, and ask it."""
