#!/usr/bin/env bash
set -euo pipefail
exec python3 -m trainer.main_ppo
