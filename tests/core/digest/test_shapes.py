import pytest

from bot.core.digest.shapes import MAX_PIECE, Line, clean, parse

ESC = "\x1b"


def one(text: str) -> Line:
    return list(parse(1, text.encode()))[-1]


@pytest.mark.parametrize(
    ("raw", "text", "stream", "level"),
    [
        ("plain", "plain", "", None),
        ("\ufeff2026-07-15T02:25:01.1234567Z text", "text", "", None),
        (f"{ESC}[36m(TaskRunner pid=3271){ESC}[0m text", "text", "TaskRunner pid=3271", None),
        ("(WorkerDict pid=5120, ip=10.0.3.21)   File", "  File", "WorkerDict pid=5120", None),
        ("(raylet, ip=10.0.6.4) text", "text", "raylet", None),
        ("(autoscaler +1m12s) Tip", "Tip", "autoscaler +1m12s", None),
        ("(VllmWorker TP0 pid=9) text", "text", "VllmWorker TP0 pid=9", None),
        ("(A pid=1) (EngineCore_DP0 pid=5) text", "text", "EngineCore_DP0 pid=5", None),
        ("[pod/verl-head-abc/ray-head] text", "text", "pod/verl-head-abc/ray-head", None),
        ("server-1  | text", "text", "server-1", None),
        ("gsm8k | exact_match: 1", "gsm8k | exact_match: 1", "", None),
        ("[rank3]: text", "text", "rank3", None),
        ("(Worker_TP0 pid=2) [rank0]:[W1218 14:07:25.740118233 x.ts:5] w", "w",
         "Worker_TP0 pid=2", "WARNING"),
        ("ERROR 09-17 04:55:13 [core.py:718]   File", "  File", "", "ERROR"),
        ("E0630 09:12:51.902000 40190 torch/api.py:869] failed", "failed", "", "ERROR"),
        ("[2025-04-02 15:02:00,117 E 4821 4821] (raylet) file.cc:3069: x", "x", "", "ERROR"),
        ("[2026-06-01 12:00:00,123] [ERROR] [launch.py:325:sigkill] x", "x", "", "ERROR"),
        ("2026-07-14 17:22:41,310\tINFO cli.py:41 -- text", "text", "", "INFO"),
        ("2026-05-20 03:11:02,104 - modelscope - WARNING - text", "text", "", "WARNING"),
        ("WARNING:2026-07-14 17:24:30,118:text", "text", "", "WARNING"),
        ("[INFO|2026-06-30 09:08:55] llamatune.parser:401 >> text", "text", "", "INFO"),
        ("2025-10-29:18:25:48 WARNING  [task:849] text", "text", "", "WARNING"),
        ("[ERROR] HCCL(106335,python3):2026-05-21-21:39:58.706.521 [file.cc:625] [128657] x", "x",
         "", "ERROR"),
        ("NOTLEVEL 09-17 04:55:13 [core.py:718] x", "NOTLEVEL 09-17 04:55:13 [core.py:718] x", "",
         None),
        ("[rayjob status] status=S rayjob_status=R deployment_status=D message", "message",
         "rayjob", None),
        ("(not closed", "(not closed", "", None),
    ],
)  # fmt: skip
def test_prefixes_are_cut_off(raw: str, text: str, stream: str, level: str | None) -> None:
    line = one(raw)
    assert (line.text, line.stream, line.level) == (text, stream, level)


@pytest.mark.parametrize(
    ("raw", "tag", "text"),
    [
        ("2026-07-15T02:25:01.1234567Z ##[error]Process failed", "error", "Process failed"),
        ("##[warning]careful", "warning", "careful"),
        ("##[group]Run x", "group", "Run x"),
        ("##[endgroup]", "", "##[endgroup]"),
        ("::error file=a.py,line=3::boom", "error", "boom"),
        ("::error without an end", "", "::error without an end"),
        ("::set-output name=a", "", "::set-output name=a"),
    ],
)
def test_the_runners_own_marks_become_tags(raw: str, tag: str, text: str) -> None:
    line = one(raw)
    assert (line.tag, line.text) == (tag, text)


def test_a_repeated_line_says_so() -> None:
    line = one("(W pid=3) boom [repeated 15x across cluster] (Ray deduplicates logs by default.)")
    assert (line.text, line.repeated) == ("boom", True)
    assert not one("[repeated words]").repeated


def test_every_piece_between_carriage_returns_is_read_with_the_lines_prefix() -> None:
    lines = list(parse(7, b"(W pid=3) 10%\r 20%\r\nValueError: x"))
    assert [(x.no, x.stream) for x in lines] == [(7, "W pid=3")] * 3
    assert lines[0].text == "10%"


def test_of_very_many_pieces_the_first_and_the_last_are_read() -> None:
    pieces = [line.text for line in parse(1, b"\r".join(b"%d" % i for i in range(1000)))]
    assert (len(pieces), pieces[0], pieces[-1]) == (21, "0", "999")


def test_a_long_piece_keeps_head_and_tail() -> None:
    text = one("a" * 10_000 + "the end").text
    assert len(text) < MAX_PIECE
    assert text.endswith("the end")


def test_anything_decodes() -> None:
    assert clean(b"\x00a\xff\xe6\x1b]0;title\x07b\x1b[1;31mc\x1b") == "a\ufffd\ufffdbc"
    assert [line.text for line in parse(1, b"")] == [""]
