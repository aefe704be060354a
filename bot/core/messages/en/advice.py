"""What to do next: after a run that did not pass, and while one waits."""

ADVICE = {
    "advice_limit": "Look in the log whether it hung. If it still moved, a maintainer raises "
    "`timeout_minutes` of this suite (now {minutes}) in {path}.",
    "advice_limit_rayjob": "Look in the log whether it hung. If it still moved, a maintainer "
    "raises the time limit of the RayJob in {workflow}.",
    "advice_limit_job": "Look in the log whether it hung. If it still moved, a maintainer raises "
    "`timeout-minutes` of its job in {workflow}.",
    "advice_stall": "Look for what it waited for at the end of the log. The policy stops a run "
    "after {minutes} min without output (`stall_minutes`).",
    "advice_submit": "If your change touched {workflow}, let it submit its RayJob with `ascend-ci "
    "submit`, which announces it. Else ask a maintainer to look.",
    "advice_permission": "A maintainer grants the app the permission Actions: write.",
    "advice_workflow": "A maintainer corrects {workflow}, or this suite in {path}.",
    "advice_enable": "A maintainer enables {workflow} in the Actions tab.",
    "advice_inputs": "A maintainer declares the input in {workflow}, or removes it from this "
    "suite's `inputs` in {path}.",
    "advice_install": "A maintainer installs the app again. Then push a new commit.",
    "advice_submit_again": "If attempt {attempt} fails too: does {workflow} call `ascend-ci "
    "submit`, which announces the RayJob?",
    "advice_end": "A maintainer lets `ascend-ci submit` in {workflow} wait for the RayJob: its "
    "last line tells the end.",
    "advice_submitter": "Wait until CI's RayJob submitter answers again.",
    "advice_skipped": "If your change touched {workflow}, look at `if:` of its jobs. Else ask a "
    "maintainer to look.",
    "advice_hidden": "GitHub calls the job a success, because a script that {workflow} runs does "
    "not pass on an exit status, for example of what stands before `| tee`. Add "
    "`set -o pipefail` to it.",
    "advice_idle": "If your change touched {workflow}, look at `if:` and `runs-on:` of its jobs. "
    "Else ask a maintainer to look.",
    "advice_idle_ran": "Open the {actions}: it shows on which runners its jobs ran, and how they "
    "ended.",
    "advice_no_job": "Look at `jobs` of the suite in the policy: each is a key in {workflow}, or "
    "the name that GitHub shows.",
    "advice_startup": "Open the {actions}: GitHub names the error in {workflow} there.",
    "advice_too_early": "If your change touched {workflow} or skips tests, look at the skipped "
    "ones in the {actions}. Else ask a maintainer: if this suite can end so early, its "
    "`min_minutes` in {path} has to be lower.",
    "advice_unread": "Open the {actions}: it shows the step that failed, and its output.",
    "advice_unread_rayjob": "Its output is in the {actions} if the workflow follows the RayJob. "
    "Else it is on the cluster: ask a maintainer.",
    "advice_silent": "Open the {actions} and see which command failed. If it shows no more there, "
    "let the step print what it does (`set -x`).",
    "advice_stops": "Look at the end of the log, below. If it stops there again, look at what "
    "comes after it.",
    "advice_below_step": "Look at the end of the step, below.",
    "advice_below_log": "Look at the end of the log, below.",
    "advice_cause": "Look at the lines below, mend the cause, and push.",
    "advice_infra": "If a re-run fails in the same way, tell a maintainer.",
    "advice_ended_with": "Open the {actions}: it may show how the run ended.",
    "advice_deleted": "Its result is lost. If nobody deleted it on purpose, ask a maintainer.",
    "advice_no_runner": "A maintainer has to bring a runner with this label online.",
    "advice_github": "Look at GitHub's status page.",
    "advice_label": "Ask a maintainer whether a runner with this label is online.",
    "advice_not_started": "If the pull request has conflicts, resolve them. Else ask a maintainer "
    "to compare the filters of {workflow} with the suite's `paths`.",
    "advice_push": "Push a new commit: GitHub starts {workflow} for it.",
    # -- while a suite waits -------------------------------------------------------------------
    "wait_of": "{suite}: {said}",
    "wait_submitter": "You need not do anything: it goes on by itself when the submitter answers "
    "again.",
    "wait_github": "You need not do anything: it is tried again by itself.",
    "wait_token": "Whoever runs the bot has to set it. Then it goes on by itself.",
    "wait_pause": "It starts by itself when the pause ends.",
    "wait_hours": "It starts by itself when there is room again.",
    "wait_no_hours": "A maintainer raises `npu_hours_per_day` in {path}.",
    "wait_per_pull": "It starts by itself when one of them has ended.",
    "wait_pool": "A maintainer raises `npus` of this pool in {path}. Then it starts by itself.",
    "wait_force": "To start it now, somebody with maintain permission comments {command}.",
    "wait_approval": "A maintainer looks at the commit, then presses **Approve & run** on {gate}, "
    "or comments {command}.",
    "wait_approval_github": "Somebody with write permission approves it: {actions}.",
}
