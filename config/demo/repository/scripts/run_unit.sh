#!/usr/bin/env bash
set -euo pipefail
exec python3 -m unittest discover --start-directory tests --top-level-directory . --pattern "test_optimizer.py" --verbose
