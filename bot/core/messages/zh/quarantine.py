"""Quarantines: errors of the policy, its changes, and what check runs say."""

QUARANTINE = {
    # -- errors and warnings of a policy ----------------------------------------------------------
    "wrong_day": "应为一个日期（UTC），例如 2026-12-31",
    "wrong_issue": "应为 issue 的编号（例如 123）或其 URL",
    "wrong_owner": "应为登录名，或形如 `organization/team` 的团队，不带 `@`",
    "wrong_words": "应为一行文字",
    "policy_quarantine_rayjob": "套件 `{suite}` 的结果由其 RayJob 决定，其中不列出单个"
    "测试；请去掉 `test`",
    "policy_quarantine_twice": "已有 `suite` 和 `test` 都相同的条目，只保留一个",
    "policy_quarantine_long": "隔离最长{days}天：最晚到{last}",
    "policy_quarantine_over": "该隔离已结束，不再起作用；请删除此条目",
    # -- a change of the policy ------------------------------------------------------------------
    "policy_late_why": "本 PR 修改了{path}。如果就这样合入，在隔离的最后 30 天之前，下列套件"
    "仍计入门禁：",
    "what_quarantine": "新增一项隔离：到这一天之前，其失败不计入门禁",
    "what_quarantine_longer": "延长一项隔离：到这一天之前，其失败不计入门禁",
    "what_quarantine_shorter": "提前结束一项隔离",
    "what_quarantine_removed": "结束一项隔离：其失败重新计入",
    # -- check runs and comments -----------------------------------------------------------------
    "row_excused": "{state}（隔离中）",
    "title_excused": "隔离中：{title}",
    "gate_none_excused_title": "隔离中，不计入门禁：{suites}",
    "gate_none_excused": "{files}。本应计入的套件处于隔离中，其结果不影响本检查。",
    "gate_passed_excused": "{passed}；隔离中，不计入门禁：{suites}",
    "quarantine_held": "{suite}处于隔离中，直到 {until}（UTC）：其失败不计入门禁。",
    "quarantine_held_tests": "{suite}的测试{tests}处于隔离中，直到 {until}（UTC）：若只有"
    "这些测试失败，则不计入门禁。",
    "quarantine_ended": "{suite}的隔离已结束（{ago}）：其失败重新计入门禁。",
    "quarantine_ended_tests": "{suite}的测试{tests}的隔离已结束（{ago}）：其失败重新计入门禁。",
    "quarantine_early": "{suite}的隔离尚未生效：它在 {until} 结束，而隔离最长 {days} 天。",
    "quarantine_early_tests": "{suite}的测试{tests}的隔离尚未生效：它在 {until} 结束，而隔离"
    "最长 {days} 天。",
    "quarantine_passes": "它已连续通过 {n} 次：可从策略中删除该条目，使其重新计入门禁。",
    "explain_held": "隔离中，直到 {until}",
    "explain_ended": "隔离已于 {until} 结束",
    "explain_early": "到 {until} 为止的隔离尚未生效",
    "explain_tests": "测试 `{tests}`：{said}",
    "quarantine_who": "负责人：{owner}，{issue}。",
    "link_issue": "issue",
    "days_ago": "{n} 天前 | {n} 天前",
    "ended_today": "今天",
}
