"""Replies to comments: refusals, mistakes, help."""

REPLIES = {
    "reply_for": "{command} on {sha}",
    "refuse_level": "{suite} was not started: it is a {tier} suite, which needs {needed} "
    "permission here, and you have {level}. {todo}",
    "refuse_start": "{suite} was not started: {sha} is not approved, so it needs {needed} "
    "permission here, and you have {level}. {todo}",
    "ask_comment": "Ask somebody with {needed} permission to comment {command}.",
    "ask_click": "Ask somebody with {needed} permission to press *Re-run*.",
    "refuse_moved": "Nothing was done: the head moved from {old} to {new} {span} before your "
    "comment. If you mean the new one, comment {command}.",
    "refuse_moved_after": "Nothing was done: the head moved from {old} to {new} after your "
    "comment was written. If you mean the new one, comment {command}.",
    "refuse_cancel_moved": "The head moved from {old} to {new} after your comment was written. The "
    "runs of the new one go on. To stop them, write {command} again.",
    "refuse_suite": "Nothing was started: no suite is called {suite}. {guess}",
    "mistake_shown": "Nothing was started. {mistake}",
    "mistake_help": "Nothing was started. {mistake} {command} lists the commands.",
    "mistake_many": "A comment can hold at most {limit} commands. Those after the first {limit} "
    "were ignored: write them in another comment.",
    "mistake_long": "Nothing was started: a command can have at most {limit:,} characters, and "
    "this one has more.",
    "refuse_dry_run": "Nothing was started: the policy says `mode: dry_run`. To start suites, "
    "remove that line from the policy.",
    "refuse_gone": "{suite} was not started: the policy no longer has it.",
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
    "refuse_native": "Nothing was started: GitHub starts {suite} itself, so no command does. Once "
    "it has run, {command} runs it again.",
    "refuse_unstarted": "Nothing was started: GitHub has not started {suite} on {sha}, so there "
    "is nothing to run again. The filters of its workflow decide when it starts.",
    "refuse_no_command": "Nothing was started: no command starts {suite}, because its `triggers` "
    "in the policy lack `command`. {command} lists the suites that commands start.",
    "refuse_sha": "Nothing was done: {sha} is not known as a head of this pull request. For the "
    "head now, comment {command}.",
    "refuse_unseen": "Nothing was done: the pull request changed shortly before your comment, so "
    "you may not have seen its head {new}. If you mean it, comment {command}.",
    "refuse_approve": "{sha} was not approved: that needs {needed} permission here, and you have "
    "{level}. {todo}",
    "refuse_own": "{sha} was not approved: it is your own commit, and nobody approves their own. "
    "{todo}",
    "refuse_pusher": "{sha} was not approved: GitHub does not show who pushed it, so it may be "
    "your own commit. {todo}",
    "refuse_start_own": "{suite} was not started: {sha} is your own commit, so somebody else has "
    "to approve it. {todo}",
    "refuse_start_pusher": "{suite} was not started: {sha} needs an approval, and GitHub does not "
    "show who pushed it, so it may be your own commit. {todo}",
    "ask_own": "Ask somebody else with {needed} permission to comment {command}.",
    "ask_pusher": "Ask somebody with maintain permission to comment {command}.",
    "refuse_head": "Nothing was done: {old} is no longer the head of {pull}, which is {new} "
    "now. {todo}",
    "refuse_closed": "Nothing was started: {old} was the head of {pull}, which is not open. To "
    "run its suites, reopen it.",
    "refuse_no_head": "Nothing was started: {old} is not the head of an open pull request.",
    "refuse_pin": "To run {old} again nevertheless, comment {command} there.",
    "refuse_head_now": "For the head now, comment {command}.",
    "refuse_cancel": "{suite} was not cancelled: that needs {needed} permission here, and you "
    "have {level}. Ask the author of the pull request, or somebody with {needed} permission, to "
    "comment {command}.",
    "refuse_rate": "A person can give {limit} commands a minute here. The rest of yours were "
    "ignored: write them again in a minute.",
    "refuse_often": "People without triage permission gave many commands here lately, so this "
    "comment was ignored. Comment again in some minutes.",
    "refuse_policy": "Nothing was started, because {path} on {ref} has an error: {error} | "
    "Nothing was started, because {path} on {ref} has {n} errors, the first: {error}",
    "refuse_no_policy": "Nothing was started, because {ref} has no {path}.",
    "refuse_misnamed": "Nothing was started: {why}.",
    "refuse_set": "{suite} was not started: {key} may not be set to {value}. Allowed: {may}.",
    "refuse_set_none": "{suite} was not started: none of its inputs may be set. To allow it, add "
    "{key} to its `settable` in the policy.",
    "refuse_set_open": "{suite} was not started again: it is already queued or running on this "
    "commit, with other inputs. {todo}",
    "refuse_runner_open": "{suite} was not started again: it is already queued or running on this "
    "commit, and not for {label} alone. {todo}",
    "cancel_first": "To start it anew, cancel it first: comment {command}.",
    "wait_first": "It does not run for this pull request alone, so wait until it has ended.",
    "refuse_force": "{suite} was not started: `--force` needs maintain permission here, and you "
    "have {level}. Leave `--force` out, or ask somebody with maintain permission to comment "
    "{command}.",
    "refuse_hours": "{suite} was not started: this repository used {spent} NPU-hours in the last "
    "24 h, and its limit is {limit}. It does not start by itself later.{when}{todo}",
    "refuse_no_hours": "{suite} was not started: the policy allows no NPU-hours "
    "(`npu_hours_per_day: 0`).{todo}",
    "refuse_hours_force": " To start it now nevertheless, somebody with maintain permission "
    "comments {command}.",
    "refuse_hours_when": " There is room again at {at}: give the command again then.",
    "refuse_runner": "{suite} was not started: it does not run on {label}, only on {known}.",
    "nothing_runs": "Nothing has run on {sha}. {command} shows which suites start, and how.",
    "refuse_trust": "Nothing was started: {sha} waits for an approval ({why}). Somebody with "
    "{needed} permission: press **Approve & run** on the gate, or comment {command}.",
    "nothing_selected": "Nothing was started: the files of {sha} select no standard suite that a "
    "command starts. {todo}",
    "files_unknown": "Nothing was started: the files of the former head {sha} are no longer "
    "known. {todo}",
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
