#!/usr/bin/env bash
# Sets a checkout up, in the folder where it is started: DATA. Installs the checkout in the place of
# the image's copy and prepares the data set: gsm8k, geo3k or "" for none.
set -euo pipefail

case ${1:-} in
    '') raw='' ;;
    gsm8k) raw=openai/gsm8k ;;
    geo3k) raw=hiyouga/geometry3k ;;
    *)
        printf 'ascend-ci: no data set is called %q\n' "$1" >&2
        exit 1
        ;;
esac

if [[ -e pyproject.toml || -e setup.py ]]; then
    python3 -m pip install --no-deps --editable .
fi
if [[ -n "$raw" ]]; then
    datasets=${DATASETS_DIR:-$HOME/.cache/datasets}
    python3 "examples/data_preprocess/$1.py" --local_dataset_path "$datasets/$raw"
fi
