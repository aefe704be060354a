"""Which advice each kind of end gets: the keys of its reason and of its sentence."""

# Ends that somebody has to mend before another attempt can fare better.
FIX_FIRST = frozenset(
    {
        "refused_no_workflow",
        "refused_no_branch",
        "refused_no_trigger",
        "refused_inputs",
        "refused_disabled",
        "refused_permission",
        "refused_other",
        "run_hidden",
        "run_no_job",
        "run_startup",
        "run_app_removed",
    }
)
ADVICE = {
    "rayjob_none": "advice_submit",
    "rayjob_not_confirmed": "advice_submit",
    "rayjob_end_unknown": "advice_end",
    "submitter_silent": "advice_submitter",
    "died": "advice_hidden",
    "died_at": "advice_hidden",
    "died_short": "advice_hidden",
    "died_unexplained": "advice_hidden",
    "run_skipped": "advice_skipped",
    "run_idle": "advice_idle",
    "run_no_job": "advice_no_job",
    "run_startup": "advice_startup",
    "run_too_early": "advice_too_early",
    "run_too_early_unknown": "advice_too_early",
    "run_ended_with": "advice_ended_with",
    "end_unheard": "advice_ended_with",
    "run_no_runner": "advice_no_runner",
    "run_not_taken": "advice_github",
    "run_deleted": "advice_deleted",
    "run_hidden_rerun": "advice_github",
    "run_app_removed": "advice_install",
    "run_hidden": "advice_workflow",
    "refused_again": "advice_push",
    "refused_other": "advice_workflow",
    "refused_no_workflow": "advice_workflow",
    "refused_no_branch": "advice_workflow",
    "refused_no_trigger": "advice_workflow",
    "refused_inputs": "advice_inputs",
    "refused_disabled": "advice_enable",
    "refused_permission": "advice_permission",
}

IF_RAN = {"advice_idle": "advice_idle_ran"}  # where a runner took a job
