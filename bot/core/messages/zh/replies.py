"""Replies to comments: refusals, mistakes, help."""

REPLIES = {
    "reply_for": "{command}，提交{sha}",
    "refuse_level": "没有启动{suite}：它是 {tier} 套件，启动它需要{needed}权限，而你的权限是"
    "{level}。{todo}",
    "refuse_start": "没有启动{suite}：{sha}尚未批准，在其上启动需要{needed}权限，而你的权限是"
    "{level}。{todo}",
    "ask_comment": "请有{needed}权限的成员评论{command}。",
    "ask_click": "请有{needed}权限的成员点“重跑”按钮。",
    "refuse_moved": "没有执行任何操作：在你评论前{span}，最新提交从{old}变为{new}。如果要用新的提"
    "交，请评论{command}。",
    "refuse_moved_after": "没有执行任何操作：在你评论之后，最新提交从{old}变为{new}。如果要用新的"
    "提交，请评论{command}。",
    "refuse_cancel_moved": "在你评论之后，最新提交从{old}变为{new}。新提交的运行不受影响。"
    "如果要取消它们，请再次评论{command}。",
    "refuse_suite": "没有启动任何套件：没有名为{suite}的套件。{guess}",
    "mistake_many": "一条评论最多包含 {limit} 条命令，其余命令未处理：请写在另一条评论中。",
    "mistake_long": "没有启动任何套件：一条命令最多 {limit:,} 个字符，这条命令超过上限。",
    "refuse_dry_run": "没有启动任何套件：策略设为 `mode: dry_run`（演练模式）。要启动套件，请从策"
    "略中删去这一行。",
    "refuse_gone": "没有启动{suite}：策略中已没有这个套件。",
    "mistake_words": "一条命令最多 {limit} 个词。",
    "mistake_word": "{word}不是套件名。",
    "mistake_verb": "没有{word}这个命令。是否想输入{near}？",
    "mistake_option": "这里没有{option}这个选项。{guess}用法：{usage}。",
    "mistake_twice": "{option}出现了两次。",
    "mistake_setting": "`--set` 需要 KEY=VALUE 的形式，{value}不符合。",
    "mistake_sha": "{sha}不是提交号：至少需要 {least} 位十六进制数字。",
    "mistake_extra": "{word}是多余的。用法：{usage}。",
    "usage_line": "- {usage}：{what}",
    "help_run": "启动套件；不写名字时，启动改动的文件所选中的 standard 套件",
    "help_rerun": "重跑套件；不写名字时，重跑所有未通过的套件",
    "help_cancel": "取消套件；不写名字时，取消该 PR 的所有套件",
    "help_approve": "允许套件在这个提交上运行；批准只对这个提交有效",
    "help_explain": "显示选中了哪些套件及其原因、谁可以启动，以及所需资源",
    "help_status": "显示各套件最近一次运行的状态",
    "help_help": "显示可用的命令",
    "unknown_topic": "没有{word}这个命令。{guess}可用的命令：",
    "refuse_native": "没有启动任何套件：{suite}由 GitHub 自行启动，不能用命令启动。它运行过之后，"
    "可用{command}重跑。",
    "refuse_unstarted": "没有启动任何套件：GitHub 没有在{sha}上启动{suite}，因此没有可重跑的内容。"
    "何时启动由其工作流的过滤条件决定。",
    "refuse_no_command": "没有启动任何套件：{suite}不能用命令启动，策略中它的 `triggers` 没有 "
    "`command`。{command}列出可用命令启动的套件。",
    "refuse_sha": "没有执行任何操作：没有记录表明{sha}曾是该 PR 的最新提交。要用当前的最新提交，请"
    "评论{command}。",
    "refuse_unseen": "没有执行任何操作：PR 在你评论前不久有变化，你可能还没有看到最新提交{new}。如"
    "果就是要用它，请评论{command}。",
    "refuse_approve": "没有批准{sha}：批准需要{needed}权限，而你的权限是{level}。{todo}",
    "refuse_own": "没有批准{sha}：这是你自己的提交，任何人都不能批准自己的提交。{todo}",
    "refuse_pusher": "没有批准{sha}：GitHub 没有显示它的推送者，它可能是你自己的提交。{todo}",
    "refuse_start_own": "没有启动{suite}：{sha}是你自己的提交，需要由他人批准。{todo}",
    "refuse_start_pusher": "没有启动{suite}：{sha}需要批准，而 GitHub 没有显示它的推送者，它可能是"
    "你自己的提交。{todo}",
    "ask_own": "请另一位有{needed}权限的成员评论{command}。",
    "ask_pusher": "请有 maintain 权限的成员评论{command}。",
    "refuse_head": "没有执行任何操作：{old}已不是 {pull} 的最新提交，现在是{new}。{todo}",
    "refuse_no_head": "没有启动任何套件：{old}不是任何打开的 PR 的最新提交。",
    "refuse_pin": "如果仍要重跑{old}，请在该 PR 中评论{command}。",
    "refuse_head_now": "要用当前的最新提交，请评论{command}。",
    "refuse_cancel": "没有取消{suite}：取消它需要{needed}权限，而你的权限是{level}。请 PR 的作者或"
    "有{needed}权限的成员评论{command}。",
    "refuse_rate": "这里每人每分钟最多 {limit} 条命令，你的其余命令未处理：请一分钟后再写。",
    "refuse_often": "没有 triage 权限的用户最近在这里发出的命令过多，因此这条评论未处理。"
    "请几分钟后再评论。",
    "refuse_policy": "没有启动任何套件：{ref}上的{path}有 1 处错误：{error} | 没有启动任何套件："
    "{ref}上的{path}有{n}处错误，第一处：{error}",
    "refuse_set": "没有启动{suite}：{key}不能设为{value}。允许：{may}。",
    "refuse_set_none": "没有启动{suite}：它没有可以设置的输入。要允许设置，请在策略中把{key}加入它"
    "的 `settable`。",
    "refuse_set_open": "没有再次启动{suite}：它已在这个提交上排队或运行，但输入不同。{todo}",
    "refuse_runner_open": "没有再次启动{suite}：它已在这个提交上排队或运行，但不只限于{label}。"
    "{todo}",
    "cancel_first": "要重新启动，请先取消：评论{command}。",
    "wait_first": "它不只为这个 PR 运行，请等它结束。",
    "refuse_force": "没有启动{suite}：`--force` 需要 maintain 权限，而你的权限是{level}。请去掉 "
    "`--force`，或请有 maintain 权限的成员评论{command}。",
    "refuse_hours": "没有启动{suite}：本仓库最近 24 小时已用 {spent} NPU 卡时，限额为 {limit}。之"
    "后不会自动启动。{when}{todo}",
    "refuse_hours_force": "如需不受限额立即启动，请有 maintain 权限的成员评论{command}。",
    "refuse_hours_when": "{at} 起有余量，届时请重新评论这条命令。",
    "refuse_runner": "没有启动{suite}：它不能在{label}上运行，只能在{known}上运行。",
    "nothing_runs": "{sha}上没有任何运行。{command}显示哪些套件会启动、如何启动。",
    "refuse_trust": "没有启动任何套件：{sha}等待批准（{why}）。请有{needed}权限的成员在门禁上点 "
    "**批准并运行**，或评论{command}。",
    "nothing_selected": "没有启动任何套件：{sha}的文件没有选中可用命令启动的 standard 套件。{todo}",
    "files_unknown": "没有启动任何套件：已查不到旧提交{sha}改动的文件。{todo}",
    "name_one": "请写明套件：{names}。",
    "nothing_to_rerun": "{sha}上没有可重跑的内容：运行过的套件都已通过。",
    "nothing_yet": "尚未启动：{sha}等待批准（{why}）。请有{needed}权限的成员评论{command}。",
    "cancel_shared": "{suite}已不再为这个 PR 运行，但仍为{others}继续运行。",
    "nothing_to_cancel": "该 PR 没有排队中或运行中的套件。",
    "approved": "你已批准{sha}；批准只对这个提交有效。",
    "merged_click": "同一按钮在 60 秒内已点过，这次点击不再启动任何套件。",
    "guess": "是否想输入{guess}？",
    "guess_none": "{command}列出所有套件，{help}列出所有命令。",
    "mistake_shown": "没有启动任何套件。{mistake}",
    "mistake_help": "没有启动任何套件。{mistake}{command}列出所有命令。",
    "mistake_value_missing": "{option}需要参数值。用法：{usage}。",
    "mistake_value_extra": "{option}不带参数值。用法：{usage}。",
    "refuse_closed": "没有启动任何套件：{old}曾是 {pull} 的最新提交，而该 PR 未打开。要运行其套件"
    "，请重新打开它。",
    "refuse_no_policy": "没有启动任何套件：{ref}上没有{path}。",
    "refuse_misnamed": "没有启动任何套件：{why}。",
    "refuse_no_hours": "没有启动{suite}：策略没有分配 NPU 卡时（`npu_hours_per_day: 0`）。{todo}",
    "nothing_ended": "{sha}上还没有可重跑的内容。尚未结束：{suites}。",
    "nothing_ran": "{sha}上没有可重跑的内容：没有套件运行过。",
    "for_group": "合并组",
    "for_operator": "运维人员",
    "for_push": "向{name}的推送",
    "for_nightly": "计划{name}",
    "not_to_cancel": "这些套件在该 PR 中没有排队或运行：{suites}。"
    "{command}显示排队中和运行中的套件。",
    "approved_draft": "PR 标记为可评审后，其套件才会启动。",
}
