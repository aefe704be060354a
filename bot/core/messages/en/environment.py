"""What changed in the environment of a suite since its last green run."""

ENVIRONMENT = {
    "env_item": "{name} {old} → {new}",
    "env_changed": "Changed since this suite's last green run ({sha}, {at}): {items}.",
    "env_same": "The one version that both logs tell is the same as in this suite's last green run "
    "({sha}, {at}). | The {n} versions that both logs tell are the same as in this suite's last "
    "green run ({sha}, {at}).",
    "env_commits": "Commits since then",
}
