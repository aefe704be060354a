#!/usr/bin/env bash
# What `ascend-ci submit` replaces, rebuilt from its description: a helper in a workflow's heredoc
# that submits, follows the stream with `curl -N`, and asks `jq` for each field of each line.
# Usage: SUBMITTER_URL=http://… heredoc_helper.sh BODY.json
set -euo pipefail

field() { # the text of a field of a JSON object, "" when it is not there
  printf '%s\n' "$1" | jq -r "$2 // empty" 2>/dev/null || true
}

answer=$(curl -sS --fail-with-body -H 'Content-Type: application/json' \
  --data @"$1" "$SUBMITTER_URL/api/v1/rayjobs")
job=$(field "$answer" .job_id)
if [[ -z $job ]]; then
  echo "the submitter refused the job: $answer"
  exit 1
fi
echo "submitted $job"

final=""
while IFS= read -r event; do
  [[ -n $event ]] || continue
  case $(field "$event" .type) in
    log) field "$event" .line ;;
    status)
      echo "[rayjob status] $(field "$event" .status) $(field "$event" .rayjob_status)" \
        "$(field "$event" .job_deployment_status) $(field "$event" .message)"
      ;;
    final)
      final=$(field "$event" .status)
      echo "[rayjob final] $final $(field "$event" .message)"
      break
      ;;
    error) echo "[rayjob error] $(field "$event" .message)" ;;
    *) echo "$event" ;;
  esac
done < <(curl -sS -N "$SUBMITTER_URL/api/v1/rayjobs/$job/watch?format=ndjson")

[[ $final == SUCCEEDED ]]
