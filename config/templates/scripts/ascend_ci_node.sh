#!/usr/bin/env bash
# Sets one node up: STAGED COMMIT WORK DATA. Compares the staged commit with the one asked for, copies
# it to a folder of the node's own and sets it up there. Runs on every node, the workers too.
set -euo pipefail

staged=$1 commit=$2 work=$3 data=$4

found=$(cat -- "$staged/COMMIT")
if [[ "$found" != "$commit" ]]; then
    printf 'ascend-ci: %s has commit %s staged, asked for was %s\n' "$HOSTNAME" "$found" "$commit" >&2
    exit 1
fi

rm -rf -- "$work"
mkdir -p -- "$(dirname -- "$work")"
cp -R -P --preserve=mode,timestamps -- "$staged/repo" "$work"
cd -- "$work"
bash "$staged/ascend_ci_setup.sh" "$data"
printf 'ascend-ci: %s runs commit %s in %s\n' "$HOSTNAME" "$commit" "$work"
