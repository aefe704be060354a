"""What changed in the environment of a suite since its last green run."""

ENVIRONMENT = {
    "env_item": "{name}：{old} → {new}",
    "env_changed": "与该套件上次通过（{sha}，{at}）相比的变化：{items}。",
    "env_same": "两次日志都提到的 {n} 个版本与该套件上次通过（{sha}，{at}）时相同。 | 两次日志"
    "都提到的 {n} 个版本与该套件上次通过（{sha}，{at}）时相同。",
    "env_commits": "其间的提交",
}
