#!/usr/bin/env bash
# What a RayJob starts with: COMMIT SCRIPT [ARGUMENT…]. Sets every node up with the staged commit, runs
# the script there and removes the staged folder at the end. Its status is the script's.
set -euo pipefail

# Read whole into memory: this file goes with its folder, and on NFS an open file would keep that.
if [[ -n "${BASH_SOURCE[0]:-}" ]]; then
    exec bash -c "$(<"$0")" "$0" "$@"
fi

commit=$1 script=$2
shift 2
staged=$(cd -- "$(dirname -- "$0")" && pwd)
root=${ASCEND_CI_WORK_ROOT:-${TMPDIR:-/tmp}/ascend-ci}/$(basename -- "$staged")
work=$root/${ASCEND_CI_CHECKOUT:-repo}
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

set_up=(bash "$staged/ascend_ci_node.sh" "$staged" "$commit" "$work" "${ASCEND_CI_DATA:-}")
run "${set_up[@]}"
if [[ -n "${RAY_ADDRESS:-}" ]]; then # Ray sets it for every job, and KubeRay in every pod
    run python3 "$staged/ascend_ci_nodes.py" "${ASCEND_CI_WORKERS:-0}" "${set_up[@]}"
else
    printf 'ascend-ci: no Ray cluster here, so this is the only node\n'
fi

cd -- "$work"
run bash -- "$script" "$@"
