"""Quarantines: errors of the policy, its changes, and what check runs say."""

QUARANTINE = {
    # -- errors and warnings of a policy ----------------------------------------------------------
    "wrong_day": "must be a day in UTC, like 2026-12-31",
    "wrong_issue": "must be the number of an issue, like 123, or its URL",
    "wrong_owner": "must be a login, or a team like `organization/team`, without `@`",
    "wrong_words": "must be one line of text",
    "policy_quarantine_rayjob": "the result of suite `{suite}` is its RayJob's, which names no "
    "tests; leave `test` out",
    "policy_quarantine_twice": "another entry has the same `suite` and `test`; keep one",
    "policy_quarantine_long": "a quarantine lasts at most {days} days: until {last} or earlier",
    "policy_quarantine_over": "this quarantine is over and has no effect; remove the entry",
    # -- a change of the policy ------------------------------------------------------------------
    "policy_late_why": "This pull request changes {path}. If it is merged like this, the suites "
    "below still count for the gate until the last 30 days of their quarantine:",
    "what_quarantine": "adds a quarantine: until this day its failures do not count for the gate",
    "what_quarantine_longer": "extends a quarantine: until this day its failures do not count for "
    "the gate",
    "what_quarantine_shorter": "ends a quarantine sooner",
    "what_quarantine_removed": "ends a quarantine: its failures count again",
    # -- check runs and comments -----------------------------------------------------------------
    "row_excused": "{state}, in quarantine",
    "title_excused": "In quarantine: {title}",
    "gate_none_excused_title": "Not counted, in quarantine: {suites}",
    "gate_none_excused": "{files}. The suites that would count are in quarantine, so their results "
    "do not block this check.",
    "gate_passed_excused": "{passed}; not counted, in quarantine: {suites}",
    "quarantine_held": "{suite} is in quarantine until {until} (UTC): its failures do not count "
    "for the gate.",
    "quarantine_held_tests": "The tests {tests} of {suite} are in quarantine until {until} (UTC): "
    "a failure of these tests alone does not count for the gate.",
    "quarantine_ended": "The quarantine of {suite} ended {ago}: its failures count again.",
    "quarantine_ended_tests": "The quarantine of the tests {tests} of {suite} ended {ago}: their "
    "failures count again.",
    "quarantine_early": "The quarantine of {suite} does not hold yet: it ends on {until}, and "
    "lasts at most {days} days.",
    "quarantine_early_tests": "The quarantine of the tests {tests} of {suite} does not hold yet: "
    "it ends on {until}, and lasts at most {days} days.",
    "quarantine_passes": "It passed {n} times in a row: remove the entry from the policy to let it "
    "count again.",
    "explain_held": "in quarantine until {until}",
    "explain_ended": "its quarantine ended on {until}",
    "explain_early": "its quarantine until {until} does not hold yet",
    "explain_tests": "tests `{tests}`: {said}",
    "quarantine_who": "Owner: {owner}, {issue}.",
    "link_issue": "issue",
    "days_ago": "{n} day ago | {n} days ago",
    "ended_today": "today",
}
