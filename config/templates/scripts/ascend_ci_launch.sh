#!/usr/bin/env bash
# What a RayJob starts with: TREE NODE COMMIT SCRIPT [ARGUMENT…]. Sets every node up with what was
# staged, runs the script there and removes the staged folder at the end. Its status is the script's.
# TREE is git's id of all that was staged, NODE the SHA-256 of ascend_ci_node.py, which compares it.
set -euo pipefail

# Read whole into memory: this file goes with its folder, and on NFS an open file would keep that.
if [[ -n "${BASH_SOURCE[0]:-}" ]]; then
    exec bash -c "$(<"$0")" "$0" "$@"
fi

tree=$1 sum=$2 commit=$3 script=$4
shift 4
staged=$(cd -- "$(dirname -- "$0")" && pwd)
name=${ASCEND_CI_CHECKOUT:-repo}
# Directly in the temporary folder, whose sticky bit keeps others from replacing it.
root=${ASCEND_CI_WORK_ROOT:-${TMPDIR:-/tmp}}/ascend-ci-$(basename -- "$staged")
child=
is_stopped=
is_signalled=

finish() {
    local status=$?
    trap - EXIT
    cd /
    rm -rf -- "$root" "$staged" || true
    if [[ -e "$staged" ]]; then
        printf 'ascend-ci: %s could not be removed; a later run does it after two days\n' "$staged" >&2
    fi
    exit "$status"
}

stop() {
    is_stopped=1 is_signalled=1
    [[ -z "$child" ]] || kill -TERM "$child" 2>/dev/null || true
}

# Runs a command so that a signal is passed on and waited for: the folder goes after its last user.
run() {
    local status
    [[ -z "$is_stopped" ]] || return 143
    "$@" &
    child=$!
    [[ -z "$is_stopped" ]] || kill -TERM "$child" 2>/dev/null || true # it came before child was set
    is_signalled=1
    while [[ -n "$is_signalled" ]]; do # a signal ends `wait`, not the command
        is_signalled=
        status=0
        wait "$child" || status=$?
    done
    child=
    return "$status"
}

trap finish EXIT
trap stop TERM INT

node=$(<"$staged/ascend_ci_node.py")
found=$(printf '%s\n' "$node" | sha256sum)
if [[ "${found%% *}" != "$sum" ]]; then
    printf 'ascend-ci: %s was changed after it was staged\n' "$staged/ascend_ci_node.py" >&2
    exit 1
fi
set_up=(python3 -I -c "$node" "$staged" "$tree" "$root" "$name" "$commit" "${ASCEND_CI_DATA:-}")
run "${set_up[@]}"
if [[ -n "${RAY_ADDRESS:-}" ]]; then # Ray sets it for every job, and KubeRay in every pod
    run python3 "$root/staged/ascend_ci_nodes.py" "${ASCEND_CI_WORKERS:-0}" "${set_up[@]}"
else
    printf 'ascend-ci: no Ray cluster here, so this is the only node\n'
fi

cd -- "$root/work/$name"
run bash -- "$script" "$@"
