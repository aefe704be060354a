"""What to do next: after a run that did not pass, and while one waits."""

ADVICE = {
    "advice_limit": "If the log shows that it hung, find out what it waited for: your change may "
    "be the cause. If it still moved, ask a maintainer to raise `timeout_minutes` of this suite "
    "(now {minutes}) in {path}.",
    "advice_limit_rayjob": "If the log shows that it hung, find out what it waited for: your "
    "change may be the cause. If it still moved, ask a maintainer to raise the time limit of the "
    "RayJob in {workflow}.",
    "advice_limit_job": "If the log shows that it hung, find out what it waited for: your change "
    "may be the cause. If it still moved, ask a maintainer to raise `timeout-minutes` of its job "
    "in {workflow}.",
    "advice_stall": "Look for what it waited for at the end of the log. The policy stops a run "
    "after {minutes} min without output (`stall_minutes`).",
    "advice_submit": "If your change touched {workflow}: it must submit its RayJob with "
    "`ascend-ci submit`, or CI does not see it. Else ask a maintainer to look at {workflow}.",
    "advice_permission": "Ask a maintainer to grant the app the permission `actions:write`.",
    "advice_workflow": "Ask a maintainer to correct {workflow}, or this suite in {path}.",
    "advice_enable": "Ask a maintainer to enable {workflow} in the Actions tab.",
    "advice_inputs": "Ask a maintainer to declare the input in {workflow}, or to remove it from "
    "this suite's `inputs` in {path}.",
    "advice_install": "Ask a maintainer to install the app again. Then push a new commit.",
    "advice_submit_again": "Does {workflow} submit its RayJob with `ascend-ci submit`? Else CI "
    "does not see it.",
    "advice_end": "Ask a maintainer to let `ascend-ci submit` in {workflow} wait for the RayJob: "
    "its last line tells the end.",
    "advice_submitter": "This result does not change by itself any more. Ask a maintainer whether "
    "CI's RayJob submitter answers again, then re-run.",
    "advice_skipped": "If your change touched {workflow}, look at `if:` of its jobs. Else ask a "
    "maintainer to look at it.",
    "advice_hidden": "The test most likely failed, perhaps because of your change. GitHub calls "
    "the job a success because a script that {workflow} runs loses an exit status, as a pipe into "
    "`tee` does. Ask a maintainer to add `set -o pipefail` to that script.",
    "advice_idle": "If your change touched {workflow}, look at `if:` and `runs-on:` of its jobs. "
    "Else ask a maintainer to look at them.",
    "advice_idle_ran": "Open the {actions} and see on which runners its jobs ran. If your change "
    "touched {workflow}, correct `runs-on:` there and push: that starts it anew. Else ask a "
    "maintainer to look at it.",
    "advice_no_job": "Look at `jobs` of the suite in the policy: each is a key in {workflow}, or "
    "the name that GitHub shows.",
    "advice_startup": "Open the {actions}: GitHub names the error in {workflow} there.",
    "advice_too_early": "If your change touched {workflow} or skips tests, look at the skipped "
    "ones in the {actions}. Else ask a maintainer: if this suite can end so early, its "
    "`min_minutes` in {path} has to be lower.",
    "advice_unread": "Open the {actions}: it shows the step that failed, and its output.",
    "advice_unread_rayjob": "Look for the RayJob's output in the {actions}. If it is not there, "
    "it is only on the cluster: ask a maintainer for it.",
    "advice_silent": "Open the {actions} and see which command failed. If it shows no more there, "
    "add `set -x` to the step, so that it prints its commands.",
    "advice_stops": "Look at the end of the log, below, and at the code that runs after its last "
    "line.",
    "advice_below_step": "See whether the lines below come from your change. If not, the test may "
    "be unstable.",
    "advice_below_log": "See whether the lines below come from your change. If not, the test may "
    "be unstable.",
    "advice_cause": "Look at the lines below, mend the cause, and push.",
    "advice_infra": "Re-run it once. If the same error comes again, ask a maintainer to look at "
    "the machines.",
    "advice_ended_with": "Open the {actions}: it may show how the run ended.",
    "advice_deleted": "Its result is lost. Run it again, unless somebody deleted it on purpose.",
    "advice_no_runner": "Ask a maintainer to bring a runner with this label online.",
    "advice_github": "Look at GitHub's status page.",
    "wait_offline": "It is not because of your change. Ask a maintainer whether a runner with this "
    "label is online.",
    "wait_end": "You need not do anything: the bot asks again, up to the time limit.",
    "advice_push": "Push a new commit: GitHub starts {workflow} for it.",
    # -- while a suite waits -------------------------------------------------------------------
    "wait_of": "{suite}: {said}",
    "wait_submitter": "You need not do anything: the test may still run, and this page is updated "
    "when the submitter answers again.",
    "wait_github": "You need not do anything: it is tried again by itself.",
    "wait_token": "Ask a maintainer to tell whoever runs the bot. Then it goes on by itself.",
    "wait_pause": "It starts by itself when the pause ends; you need not do anything.",
    "wait_hours": "It starts by itself when there is room again; you need not do anything.",
    "wait_no_hours": "Ask a maintainer to raise `npu_hours_per_day` in {path}. Then it starts by "
    "itself.",
    "wait_per_pull": "It starts by itself when one of them has ended; you need not do anything.",
    "wait_pool": "Ask a maintainer to raise `npus` of this pool in {path}. Then it starts by "
    "itself, but not before.",
    "wait_force": "To start it now, somebody with maintain permission comments {command}.",
    "wait_approval": "A maintainer looks at the commit, then presses **Approve & run** on {gate}, "
    "or comments {command}.",
    "wait_conflict": "Resolve the conflicts and push: GitHub starts the workflow then.",
    "wait_skip": "Push a commit without these words in its message: GitHub starts the workflow "
    "then.",
    "wait_disabled": "Somebody with write permission enables it in the Actions tab. Then push "
    "again, or close and reopen the pull request.",
    "wait_refused": "Ask a maintainer to look into the settings of the repository: Actions has to "
    "be enabled, and the app needs its permissions. Then push again, or close and reopen the "
    "pull request.",
    "wait_unstarted": "Push again, or close and reopen the pull request. If that does not help, "
    "ask a maintainer to look at the workflow's triggers and at the Actions tab.",
    "wait_approval_github": "Somebody with write permission approves it: {actions}.",
    "wait_submitter_start": "You need not do anything: it starts by itself when the submitter "
    "works again.",
    "advice_unread_job": "Open the job {job} in the {actions}: it shows the step that failed. The "
    "whole run is green, probably because of `continue-on-error`.",
    "advice_hung": "At {pace} a step, {steps} take about {span}: it probably hung. Re-run it: "
    "if it hangs after step {step} again, look for the cause in your change; else it was "
    "probably the machine.",
    "gate_hidden": "**Next**: Look at the check run of {suite}: its test most likely failed, "
    "perhaps because of your change.",
    "gate_ask": "If you do not know why, ask {by}.",
    "gate_perhaps": "Your change may be the cause.",
    "gate_whose": "It is not known whether your change is the cause.",
    "rerun_later": "If it was still running, re-run it later: button above or {command}.",
    "rerun_later_button": "If it was still running, re-run it later: button above.",
    "gate_look": "**Next**: Look at the check run of {suite}: it shows the log, and what to do.",
}
