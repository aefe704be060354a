"""Replies to comments: refusals, mistakes, help."""

REPLIES = {
    "reply_for": "{command} on {sha}",
    "refuse_level": "{suite} is a {tier} suite: starting it needs {needed} permission here, and "
    "you have {level}. {todo}",
    "refuse_start": "{sha} is not approved: starting {suite} on it needs {needed} permission here, "
    "and you have {level}. {todo}",
    "ask_comment": "Ask somebody with {needed} permission to comment {command}.",
    "ask_click": "Ask somebody with {needed} permission to press *Re-run*.",
    "refuse_moved": "The head moved from {old} to {new} {span} before your comment. "
    "If you mean the new one, comment {command}.",
    "refuse_moved_after": "The head moved from {old} to {new} after your comment was written. "
    "If you mean the new one, comment {command}.",
    "refuse_cancel_moved": "The head moved from {old} to {new} after your comment was written. The "
    "runs of the new one go on. To stop them, write {command} again.",
    "refuse_suite": "No suite {suite}. {guess}Nothing was started.",
    "mistake_shown": "{mistake} Nothing was started.",
    "mistake_help": "{mistake} Nothing was started. {command} lists the commands.",
    "mistake_many": "A comment can hold at most {limit} commands. Those after the first {limit} "
    "were ignored: write them in another comment.",
    "mistake_long": "A command can have at most {limit:,} characters. This one has more, so "
    "nothing was started.",
    "refuse_dry_run": "The policy says `mode: dry_run`, so nothing was started. To start suites, "
    "remove that line from the policy.",
    "refuse_gone": "The policy no longer has a suite {suite}, so it was not started.",
    "mistake_words": "A command can have at most {limit} words.",
    "mistake_word": "{word} is not a suite's name.",
    "mistake_verb": "There is no command {word}. Did you mean {near}?",
    "mistake_option": "There is no option {option} here. {guess}Usage: {usage}.",
    "mistake_value_missing": "{option} needs a value. Usage: {usage}.",
    "mistake_value_extra": "{option} takes no value. Usage: {usage}.",
    "mistake_twice": "{option} is given twice.",
    "mistake_setting": "`--set` needs KEY=VALUE, and {value} is not that.",
    "mistake_sha": "{sha} is not a commit: at least {least} hex digits are needed.",
    "mistake_extra": "{word} is one word too many. Usage: {usage}.",
    "usage_line": "- {usage}: {what}",
    "help_run": "start suites; without a name, the standard suites that the changed files select",
    "help_rerun": "run suites again; without a name, all that are not green",
    "help_cancel": "stop suites; without a name, all of this pull request",
    "help_approve": "let the suites run on this commit, and on no other",
    "help_explain": "show which suites are selected and why, who may start them, and their cost",
    "help_status": "show the state of the latest attempts",
    "help_help": "show the commands",
    "unknown_topic": "There is no command {word}. {guess}The commands are:",
    "refuse_native": "GitHub starts {suite} itself, so no command does. Once it has run, {command} "
    "runs it again. Nothing was started.",
    "refuse_unstarted": "GitHub has not started {suite} on {sha}, so there is nothing to run "
    "again. The filters of its workflow decide when it starts.",
    "refuse_no_command": "No command starts {suite}, because its `triggers` in the policy lack "
    "`command`. Nothing was started. {command} lists the suites that commands start.",
    "refuse_sha": "{sha} is not known as a head of this pull request. For the head now, "
    "comment {command}.",
    "refuse_unseen": "The pull request changed shortly before your comment, so you may not have "
    "seen its head {new}. If you mean it, comment {command}.",
    "refuse_approve": "Approving {sha} needs {needed} permission here, and you have {level}. "
    "{todo}",
    "refuse_own": "{sha} is your own commit, and nobody approves their own. "
    "Ask somebody else with {needed} permission to comment {command}.",
    "refuse_pusher": "GitHub does not show who pushed {sha}, so it may be your own commit. "
    "Ask somebody with maintain permission to comment {command}.",
    "refuse_head": "{old} is no longer the head of {pull}: that is {new} now. Nothing was "
    "started. {todo}",
    "refuse_closed": "{old} was the head of {pull}, which is not open. Nothing was started. To run "
    "its suites, reopen it.",
    "refuse_no_head": "{old} is not the head of an open pull request. Nothing was started.",
    "refuse_pin": "To run {old} again nevertheless, comment {command} there.",
    "refuse_head_now": "For the head now, comment {command}.",
    "refuse_cancel": "Cancelling {suite} needs {needed} permission here, and you have {level}. "
    "Ask the author of the pull request, or somebody with {needed} permission, to comment "
    "{command}.",
    "refuse_rate": "A person can give {limit} commands a minute here. The rest of yours were "
    "ignored: write them again in a minute.",
    "refuse_often": "People without triage permission gave many commands here lately, so this "
    "comment was ignored. Comment again in some minutes.",
    "refuse_policy": "Nothing was started, because {path} on {ref} has an error: {error} | "
    "Nothing was started, because {path} on {ref} has {n} errors, the first: {error}",
    "refuse_no_policy": "Nothing was started, because {ref} has no {path}.",
    "refuse_misnamed": "Nothing was started: {why}.",
    "refuse_set": "{key} may not be set to {value}, so {suite} was not started. Allowed: {may}.",
    "refuse_set_none": "No input of {suite} may be set, so it was not started. To allow it, add "
    "{key} to its `settable` in the policy.",
    "refuse_set_open": "{suite} is already queued or running on this commit, with other inputs. "
    "{todo}",
    "refuse_runner_open": "{suite} is already queued or running on this commit, and not for "
    "{label} alone. {todo}",
    "cancel_first": "To start it anew, cancel it first: comment {command}.",
    "wait_first": "It does not run for this pull request alone, so wait until it has ended.",
    "refuse_force": "`--force` needs maintain permission here, and you have {level}, so {suite} "
    "was not started. Leave `--force` out, or ask somebody with maintain permission to comment "
    "{command}.",
    "refuse_hours": "{spent} of {limit} NPU-hours of the last 24 h are used, so {suite} was not "
    "started.{when}{todo}",
    "refuse_no_hours": "The policy allows no NPU-hours (`npu_hours_per_day: 0`), so {suite} was "
    "not started.{todo}",
    "refuse_hours_force": " To override the limit, somebody with maintain permission comments "
    "{command}.",
    "refuse_hours_when": " There is room again at {at} UTC.",
    "refuse_runner": "{suite} does not run on {label}, only on {known}. It was not started.",
    "nothing_runs": "Nothing has run on {sha}. {command} shows which suites start, and how.",
    "refuse_trust": "{sha} waits for an approval ({why}). Somebody with {needed} permission: press "
    "**Approve & run** on the gate, or comment {command}.",
    "nothing_selected": "The files of {sha} select no standard suite that a command starts. "
    "Nothing was started. {todo}",
    "files_unknown": "The files of the former head {sha} are no longer known. Nothing was "
    "started. {todo}",
    "name_one": "To start one, name it: {names}.",
    "nothing_to_rerun": "There is nothing to run again on {sha}: every suite that ran has passed.",
    "nothing_ended": "There is nothing to run again on {sha} yet. Not ended: {suites}.",
    "nothing_ran": "There is nothing to run again on {sha}: no suite has run.",
    "nothing_yet": "Nothing has started: {sha} waits for an approval ({why}). Somebody with "
    "{needed} permission: comment {command}.",
    "cancel_shared": "{suite} no longer runs for this pull request. It goes on for {others}.",
    "for_group": "a merge group",
    "for_operator": "an operator",
    "for_push": "pushes to {name}",
    "for_nightly": "the schedule {name}",
    "nothing_to_cancel": "No suite of this pull request is queued or running.",
    "not_to_cancel": "Neither queued nor running for this pull request: {suites}. {command} shows "
    "what is.",
    "approved": "{sha} is approved by you; the approval holds for this commit only.",
    "approved_draft": "Its suites start when the pull request is marked as ready for review.",
    "merged_click": "The same button was pressed less than 60 s ago, so this click starts nothing "
    "more.",
    "guess": "Did you mean {guess}? ",
    "guess_none": "{command} lists the suites, {help} the commands. ",
}
