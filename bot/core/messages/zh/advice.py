"""What to do next: after a run that did not pass, and while one waits."""

ADVICE = {
    "advice_limit": "如果日志显示已卡住，请排查它在等待什么，可能与本次改动有关；如果仍在推进，请"
    "联系维护者在{path}中调大该套件的 `timeout_minutes`（当前 {minutes}）。",
    "advice_limit_rayjob": "如果日志显示已卡住，请排查它在等待什么，可能与本次改动有关；如果仍在推"
    "进，请联系维护者在{workflow}中调大 RayJob 的时限。",
    "advice_limit_job": "如果日志显示已卡住，请排查它在等待什么，可能与本次改动有关；如果仍在推进"
    "，请联系维护者在{workflow}中调大该作业的 `timeout-minutes`。",
    "advice_stall": "在日志末尾查看它在等待什么。连续 {minutes} 分钟没有输出时，策略会停止运行（"
    "`stall_minutes`）。",
    "advice_submit": "如果本次改动涉及{workflow}：须在其中用 `ascend-ci submit` 提交 RayJob，否则 "
    "CI 看不到它。如果不涉及，请联系维护者检查{workflow}。",
    "advice_permission": "请联系维护者授予 GitHub App `actions:write` 权限。",
    "advice_workflow": "请联系维护者修正{workflow}，或{path}中的该套件。",
    "advice_enable": "请联系维护者在 Actions 页面启用{workflow}。",
    "advice_inputs": "请联系维护者在{workflow}中声明该输入，或从{path}中该套件的 `inputs` 里删去它"
    "。",
    "advice_install": "请联系维护者重新安装 GitHub App，然后推送一个新的提交。",
    "advice_submit_again": "请检查{workflow}是否用 `ascend-ci submit` 提交 RayJob，否则 CI 看不到"
    "它。",
    "advice_end": "请联系维护者在{workflow}中让 `ascend-ci submit` 等待 RayJob 结束：它的最后一行"
    "说明结果。",
    "advice_submitter": "这个结果不会再自动更新。请先向维护者确认 CI 的 RayJob 提交服务已恢复，再"
    "重跑。",
    "advice_skipped": "如果本次改动涉及{workflow}，请检查其中各作业的 `if:`；否则请联系维护者检查"
    "。",
    "advice_hidden": "测试很可能失败了，可能与本次改动有关。GitHub 显示作业成功，是因为{workflow}"
    "所运行的脚本丢失了退出状态，例如用管道接 `tee` 时。请维护者在该脚本中加上 `set -o pipefail`。",
    "advice_idle": "如果本次改动涉及{workflow}，请检查其中各作业的 `if:` 和 `runs-on:`；"
    "否则请联系维护者检查。",
    "advice_idle_ran": "打开{actions}，查看各作业在哪些 runner 上运行。如果本次改动涉及"
    "{workflow}，请修正其中的 `runs-on:` 并推送，推送后会重新运行；否则请联系维护者"
    "检查。",
    "advice_no_job": "检查策略中该套件的 `jobs`：应为{workflow}中的键，或 GitHub 显示的名称。",
    "advice_startup": "打开{actions}：GitHub 在那里指出{workflow}的错误。",
    "advice_too_early": "如果本次改动涉及{workflow}或会跳过测试，请打开{actions}查看被跳过的测试。"
    "否则请联系维护者：若该套件确实可以这么快结束，需要在{path}中调小它的 `min_minutes`。",
    "advice_unread": "打开{actions}，查看失败的步骤及其输出。",
    "advice_unread_rayjob": "先在{actions}中查找 RayJob 的输出。如果那里没有，日志只保留在集群上，"
    "请联系维护者获取。",
    "advice_silent": "打开{actions}，查看失败的是哪条命令。如果那里也没有输出，请在该步骤中加上 "
    "`set -x`，打印所执行的命令。",
    "advice_stops": "查看下方的日志末尾，并排查最后一行之后执行的代码。",
    "advice_below_step": "请查看下方的输出是否与本次改动有关；如果无关，可能是测试不稳定。",
    "advice_below_log": "请查看下方的输出是否与本次改动有关；如果无关，可能是测试不稳定。",
    "advice_cause": "查看下方的日志，修复原因后推送。",
    "advice_infra": "可以手动重跑一次。如果再次出现同样的错误，请联系维护者检查环境。",
    "advice_ended_with": "打开{actions}，那里可能有运行的最终状态。",
    "advice_deleted": "运行结果已丢失。除非有人有意删除，请重新运行。",
    "advice_no_runner": "请联系维护者让至少一台带该标签的 runner 上线。",
    "advice_github": "查看 GitHub 的状态页面。",
    "wait_offline": "原因不在本次改动。请联系维护者确认带该标签的 runner 是否在线。",
    "wait_end": "无需操作：机器人会继续查询，直到运行超时。",
    "advice_push": "推送一个新的提交，GitHub 会为它启动{workflow}。",
    # -- while a suite waits ----------------------------------------------------------------------
    "wait_of": "{suite}：{said}",
    "wait_submitter": "无需操作：测试可能仍在运行，提交服务恢复后，本页会自动更新。",
    "wait_github": "无需操作：会自动重试。",
    "wait_token": "请维护者转告机器人的运维人员，之后会自动继续。",
    "wait_pause": "无需操作：暂停结束后会自动启动。",
    "wait_hours": "无需操作：有余量后会自动启动。",
    "wait_no_hours": "请联系维护者在{path}中调大 `npu_hours_per_day`，之后会自动启动。",
    "wait_per_pull": "无需操作：其中一个结束后会自动启动。",
    "wait_pool": "请联系维护者在{path}中调大该资源池的 `npus`，之后会自动启动；在此之前不会启动。",
    "wait_force": "要现在启动，请有 maintain 权限的成员评论{command}。",
    "wait_approval": "请维护者查看该提交，然后在{gate}上点 **批准并运行**，或评论{command}。",
    "wait_conflict": "请解决冲突并推送，GitHub 随后会启动工作流。",
    "wait_skip": "请推送一个说明中没有这些字样的提交，GitHub 随后会启动工作流。",
    "wait_disabled": "请有 write 权限的成员在 Actions 页面启用它，然后重新推送，或者关闭再重新打开 "
    "PR。",
    "wait_refused": "请维护者检查仓库设置：Actions 须已启用，应用须有所需的权限。然后重新推送，或者"
    "关闭再重新打开 PR。",
    "wait_unstarted": "请重新推送，或者关闭再重新打开 PR。如果仍未启动，请维护者检查工作流的触发条"
    "件和 Actions 页面。",
    "wait_approval_github": "请有 write 权限的成员批准：{actions}。",
    "wait_submitter_start": "无需操作：提交服务恢复后会自动启动。",
    "advice_unread_job": "打开{actions}中的作业{job}，查看失败的步骤。整个运行显示成功，可能是因为"
    "设置了 `continue-on-error`。",
    "advice_hung": "每步{pace}，{steps}约需{span}，因此很可能已卡住。请重跑一次：如果仍卡在"
    "第 {step} 步之后，请在本次改动中查找原因；否则多半是机器问题。",
    "gate_hidden": "**下一步**：查看{suite}的检查项。GitHub 虽显示成功，但其测试很可能失败了，"
    "可能与本次改动有关。",
    "gate_ask": "如不清楚原因，请询问 {by}。",
    "gate_perhaps": "可能与本次改动有关。",
    "gate_whose": "尚不清楚是否与本次改动有关。",
    "rerun_later": "如果当时仍在运行，稍后可重跑：点上方按钮，或评论{command}。",
    "rerun_later_button": "如果当时仍在运行，稍后可重跑：点上方按钮。",
    "gate_look": "**下一步**：查看{suite}的检查项，其中有日志和处理建议。",
}
