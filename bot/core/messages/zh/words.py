"""The parts of sentences: spans, times, ordinals and lists."""

WORDS = {
    "list_joint": "、",
    "joined": "{items}",
    "joined_last": "{items}和{last}",
    "joined_more": "{items}，另有 {rest} 项",
    "span_d": "{n} 天",
    "span_h": "{n} 小时",
    "span_min": "{n} 分钟",
    "span_s": "{n} 秒",
    "span_two": "{whole} {rest}",
    "time": "{at:%H:%M} UTC",
    "time_seconds": "{at:%H:%M:%S} UTC",
    "time_of_day": "{at:%-m} 月 {at:%-d} 日 {time}",
    "time_of_date": "{at:%Y-%m-%d} {time}",
    "time_said": "{at} {said}",
    "ordinal_st": "第 {n}",
    "ordinal_nd": "第 {n}",
    "ordinal_rd": "第 {n}",
    "ordinal_th": "第 {n}",
    "in_brackets": "（{text}）",
    "after_comma": "，{text}",
}
