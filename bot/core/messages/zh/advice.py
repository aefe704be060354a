"""What to do next: after a run that did not pass, and while one waits."""

ADVICE = {
    "advice_limit": "先看日志是否卡住；若确实在推进，请维护者在{path}中调大该套件的 "
    "`timeout_minutes`（当前 {minutes}）。",
    "advice_limit_rayjob": "先看日志是否卡住；若确实在推进，请维护者在{workflow}中调大 RayJob 的"
    "时限。",
    "advice_limit_job": "先看日志是否卡住；若确实在推进，请维护者在{workflow}中调大该作业的 "
    "`timeout-minutes`。",
    "advice_stall": "在日志末尾查看它在等待什么。连续 {minutes} 分钟没有输出时，策略会停止运行（"
    "`stall_minutes`）。",
    "advice_submit": "如果本次改动涉及{workflow}，请在其中用 `ascend-ci submit` 提交 RayJob，它会"
    "上报该 RayJob；否则请联系维护者检查。",
    "advice_permission": "请维护者授予 GitHub App Actions: write 权限。",
    "advice_workflow": "请维护者修正{workflow}，或{path}中的该套件。",
    "advice_enable": "请维护者在 Actions 页面启用{workflow}。",
    "advice_inputs": "请维护者在{workflow}中声明该输入，或从{path}中该套件的 `inputs` 里删去它。",
    "advice_install": "请维护者重新安装 GitHub App，然后推送一个新的提交。",
    "advice_submit_again": "如果第 {attempt} 次运行也失败：{workflow}是否调用了 `ascend-ci "
    "submit`？由它上报 RayJob。",
    "advice_end": "请维护者在{workflow}中让 `ascend-ci submit` 等待 RayJob 结束：它的最后一行说明"
    "结果。",
    "advice_submitter": "等待 CI 的 RayJob 提交服务恢复响应。",
    "advice_skipped": "如果本次改动涉及{workflow}，请检查其中各作业的 `if:`；否则请联系维护者"
    "检查。",
    "advice_hidden": "GitHub 显示作业成功，是因为{workflow}所运行的脚本没有传递退出状态，例如 "
    "`| tee` 之前的命令。请在脚本中加上 `set -o pipefail`。",
    "advice_idle": "如果本次改动涉及{workflow}，请检查其中各作业的 `if:` 和 `runs-on:`；"
    "否则请联系维护者检查。",
    "advice_idle_ran": "打开{actions}，查看各作业在哪些 runner 上运行、如何结束。",
    "advice_no_job": "检查策略中该套件的 `jobs`：应为{workflow}中的键，或 GitHub 显示的名称。",
    "advice_startup": "打开{actions}：GitHub 在那里指出{workflow}的错误。",
    "advice_too_early": "如果本次改动涉及{workflow}或会跳过测试，请打开{actions}查看被跳过的测试。"
    "否则请联系维护者：若该套件确实可以这么快结束，需要在{path}中调小它的 `min_minutes`。",
    "advice_unread": "打开{actions}，查看失败的步骤及其输出。",
    "advice_unread_rayjob": "如果工作流跟踪 RayJob，其输出在{actions}中；否则在集群上，请联系"
    "维护者。",
    "advice_silent": "打开{actions}，查看失败的是哪条命令。如果仍没有输出，可让该步骤打印执行过程（"
    "`set -x`）。",
    "advice_stops": "查看下方的日志末尾。如果再次停在这里，请检查这之后执行的内容。",
    "advice_below_step": "查看下方该步骤的末尾。",
    "advice_below_log": "查看下方的日志末尾。",
    "advice_cause": "查看下方的日志，修复原因后推送。",
    "advice_infra": "如果重跑后以同样的方式失败，请告知维护者。",
    "advice_ended_with": "打开{actions}，那里可能显示运行如何结束。",
    "advice_deleted": "其结果已丢失。如果不是有人有意删除，请联系维护者。",
    "advice_no_runner": "请维护者让至少一台带该标签的 runner 上线。",
    "advice_github": "查看 GitHub 的状态页面。",
    "advice_label": "请联系维护者确认带该标签的 runner 是否在线。",
    "advice_not_started": "如果 PR 存在冲突，请先解决；否则请联系维护者对比{workflow}的过滤条件与该"
    "套件的 `paths`。",
    "advice_push": "推送一个新的提交，GitHub 会为它启动{workflow}。",
    # -- while a suite waits ----------------------------------------------------------------------
    "wait_of": "{suite}：{said}",
    "wait_submitter": "无需操作：提交服务恢复响应后会自动继续。",
    "wait_github": "无需操作：会自动重试。",
    "wait_token": "请机器人的运维人员设置，之后会自动继续。",
    "wait_pause": "暂停结束后会自动启动。",
    "wait_hours": "有余量后会自动启动。",
    "wait_no_hours": "请维护者在{path}中调大 `npu_hours_per_day`。",
    "wait_per_pull": "其中一个结束后会自动启动。",
    "wait_pool": "请维护者在{path}中调大该资源池的 `npus`，之后会自动启动。",
    "wait_force": "要现在启动，请有 maintain 权限的成员评论{command}。",
    "wait_approval": "请维护者查看该提交，然后在{gate}上点 **批准并运行**，或评论{command}。",
    "wait_approval_github": "请有 write 权限的成员批准：{actions}。",
}
