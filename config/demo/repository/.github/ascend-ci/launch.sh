#!/usr/bin/env bash
# What a RayJob starts with, on the worker: runs a script of the staged commit, if that is the
# commit asked for.
set -euo pipefail

folder=$(cd -- "$(dirname -- "$0")" && pwd)
staged=$(cat "$folder/COMMIT")
if [[ "$staged" != "$ASCEND_CI_COMMIT_SHA" ]]; then
  printf 'staged is %s, asked for was %s\n' "$staged" "$ASCEND_CI_COMMIT_SHA" >&2
  exit 1
fi
printf 'commit %s on %s nodes\n' "$staged" "$ASCEND_CI_NODES"
cd -- "$folder/pr"
exec bash -- "$1"
