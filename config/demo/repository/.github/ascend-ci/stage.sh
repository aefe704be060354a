#!/usr/bin/env bash
# Copies the checkout in pr/ to a folder that only this run and attempt uses, beside the trusted
# launcher. The code is bytes here: nothing of it is executed, no link in it is followed.
set -euo pipefail

: "${STAGING_DIR:?the variable STAGING_DIR of the repository names no folder}"
commit=$(cat pr/.git/HEAD)
folder="$STAGING_DIR/$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT"
mkdir "$folder"
cp -R --no-dereference --preserve=mode,timestamps pr "$folder/pr"
rm -rf "$folder/pr/.git"
printf '%s\n' "$commit" > "$folder/COMMIT"
cp trusted/.github/ascend-ci/launch.sh "$folder/launch.sh"
printf 'launch=%s\n' "$folder/launch.sh" >> "$GITHUB_OUTPUT"
printf 'staged %s in %s\n' "$commit" "$folder"
