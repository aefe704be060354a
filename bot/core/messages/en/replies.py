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
    "If you mean the new one: {command}.",
    "refuse_moved_after": "The head moved from {old} to {new} after your comment was written. "
    "If you mean the new one: {command}.",
    "refuse_cancel_moved": "The head moved from {old} to {new} after your comment was written. The "
    "runs of the new one go on. To stop them, write {command} again.",
    "refuse_suite": "No suite {suite}. {guess}Nothing was started.",
    "nothing_started": "Nothing was started.",
    "mistake_many": "More than {limit} commands in one comment: the rest was not looked at.",
    "mistake_long": "A command of more than {limit} characters: nothing was started.",
    "refuse_dry_run": "The policy says `mode: dry_run`: nothing is started here.",
    "refuse_gone": "{suite} is not in the policy any more. Nothing was started.",
    "mistake_words": "More than {limit} words in one command.",
    "mistake_word": "{word} is no name of a suite.",
    "mistake_verb": "{word} is no command. Did you mean {near}?",
    "mistake_option": "{option} is not known here. {guess}It is {usage}.",
    "mistake_value": "{option} has a value too few or too many: {usage}.",
    "mistake_twice": "{option} is given twice.",
    "mistake_setting": "{value} is no KEY=VALUE.",
    "mistake_sha": "{sha} is no commit: at least {least} hex digits are needed.",
    "mistake_extra": "{word} is one word too many: {usage}.",
    "help_run": "start suites; none named: those that the files of the head select",
    "help_rerun": "run suites again; none named: all that are not green",
    "help_cancel": "stop suites; none named: all of this pull request",
    "help_approve": "let this commit run here; the approval holds for it alone",
    "help_explain": "say why suites are selected or not, who may start them, and their cost",
    "help_status": "say how the latest attempts stand",
    "help_help": "say what can be typed",
    "unknown_topic": "No command {word}. {guess}What can be typed:",
    "refuse_native": "{suite} is started by GitHub itself. To run it again: {command}. "
    "Nothing was started.",
    "refuse_unstarted": "GitHub has not started {suite} on {sha}, so there is nothing to run "
    "again. Its workflow's own filters say when it starts.",
    "refuse_no_command": "{suite} is not started by commands: its policy lacks the trigger "
    "`command`. Nothing was started.",
    "refuse_sha": "{sha} is no commit of this pull request that was its head. "
    "For the head: {command}.",
    "refuse_unseen": "The head {new} may be newer than what you saw. If you mean it: {command}.",
    "refuse_approve": "Approving {sha} needs {needed} permission here, and you have {level}. "
    "{todo}",
    "refuse_own": "{sha} is your own commit: somebody else with {needed} permission has to "
    "approve it: {command}.",
    "refuse_pusher": "GitHub does not show who pushed {sha}, so it may be your own commit. "
    "Somebody with maintain permission has to approve it: {command}.",
    "refuse_head": "{old} is not the head of {pull} any more, that is {new} now. Nothing was "
    "started. {todo}",
    "refuse_no_head": "{old} is not the head of an open pull request. Nothing was started.",
    "refuse_pin": "To run {old} again all the same, comment {command} there.",
    "refuse_head_now": "For the head: {command}.",
    "refuse_cancel": "Cancelling {suite} needs {needed} permission here, and you have {level}.",
    "refuse_rate": "More than {limit} commands in a minute: {n} more is not looked at. | "
    "More than {limit} commands in a minute: {n:,} more are not looked at.",
    "refuse_often": "People without triage permission asked for much here lately, so this comment "
    "is not looked at. Comment again in some minutes.",
    "refuse_policy": "The policy has errors, listed in the gate: nothing was started.",
    "refuse_set": "{key} of {suite} may not be set to {value}: it was not started. "
    "Settable: {may}.",
    "refuse_set_none": "Nothing of {suite} may be set, so not {key} either: it was not started.",
    "refuse_set_open": "An attempt of {suite} is open on this commit, with other inputs. {todo}",
    "refuse_runner_open": "An attempt of {suite} is open on this commit, not for {label} alone. "
    "{todo}",
    "cancel_first": "Cancel it first: {command}.",
    "wait_first": "It does not run for this pull request alone, so wait for its end.",
    "refuse_force": "`--force` needs maintain permission here, and you have {level}: "
    "{suite} was not started.",
    "refuse_hours": "{spent} of {limit} NPU-hours of the last 24 h are used: {suite} was not "
    "started.{when}{todo}",
    "refuse_hours_force": " Somebody with maintain permission can override it: {command}.",
    "refuse_hours_when": " There is room again at {at}.",
    "refuse_runner": "{suite} does not run on {label}, only on {known}. It was not started.",
    "nothing_runs": "Nothing has run on {sha}.",
    "refuse_trust": "{sha} waits for an approval ({why}). Press **Approve & run** on the gate, "
    "or comment {command}.",
    "nothing_selected": "The files of {sha} select no standard suite that a command starts. "
    "Nothing was started. {todo}",
    "files_unknown": "The files of the former head {sha} are not known any more. Nothing was "
    "started. {todo}",
    "name_one": "Name a suite: {names}.",
    "nothing_to_rerun": "Every suite of {sha} that has run is green or still runs; "
    "nothing was started.",
    "nothing_yet": "Nothing has started: {sha} waits for an approval ({why}).",
    "cancel_shared": "{suite} is given up for this pull request. It goes on for {others}.",
    "nothing_to_cancel": "Nothing of this pull request runs or waits.",
    "approved": "{sha} is approved by you; the approval holds for this commit only.",
    "merged_click": "The same click came less than 60 s ago; it counts once.",
    "guess": "Did you mean {guess}? ",
    "guess_none": "{command} lists the suites. ",
}
