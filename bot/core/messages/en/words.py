"""The parts of sentences: spans, times, ordinals and lists."""

WORDS = {
    "list_joint": ", ",
    "joined": "{items}",
    "joined_last": "{items} and {last}",
    "joined_more": "{items} and {rest} more",
    "span_d": "{n} d",
    "span_h": "{n} h",
    "span_min": "{n} min",
    "span_s": "{n} s",
    "span_two": "{whole} {rest}",
    "time": "{at:%H:%M} UTC",
    "time_seconds": "{at:%H:%M:%S} UTC",
    "time_of_day": "{at:%-d} {at:%b} {time}",
    "time_of_date": "{at:%Y-%m-%d} {time}",
    "time_said": "{at} {said}",
    "ordinal_st": "{n}st",
    "ordinal_nd": "{n}nd",
    "ordinal_rd": "{n}rd",
    "ordinal_th": "{n}th",
    "in_brackets": " ({text})",
    "after_comma": ", {text}",
}
