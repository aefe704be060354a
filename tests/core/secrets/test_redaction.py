"""Secrets are taken out, innocent text is left alone, chunks do not matter."""

import base64
import html
import json
import re
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.core.secrets.forms import plain
from bot.core.secrets.looks import MARK
from bot.core.secrets.redaction import (
    BLOCK_LINES,
    MAX_LINE_BYTES,
    MOST_CUT_LINES,
    RedactingStream,
    Redactor,
    StreamState,
)

SHA = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjMifQ.c2lnbmF0dXJl-_x"
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY = f"{BEGIN}\nMIIEpAIBAAKCAQEA\nq\n{END}"
SHOWN_KEY = f"{BEGIN}\n{MARK}\n*\n{END}"

SECRETS = [
    ("ghp_" + "aB3" * 12, MARK),
    ("x=gho_" + "a1" * 18, f"x={MARK}"),
    ("ghs_" + "a1" * 18 + ".", f"{MARK}."),
    (f"ghs_1234567_{JWT}", MARK),
    ("\\nghu_" + "a1" * 18, f"\\n{MARK}"),
    ("github_pat_11ABCDEFG0" + "_x9" * 20, MARK),
    ("hf_" + "aB" * 17, MARK),
    ("AKIA" + "ABCD1234" * 2, MARK),
    (f"token is {JWT} here", f"token is {MARK} here"),
    ("Authorization: Bearer abc.def-ghi", f"Authorization: {MARK}"),
    ('curl -H "Authorization: token abc" x', f'curl -H "Authorization: {MARK}" x'),
    ("authorization=Basic dXNlcjpwYXNz", f"authorization={MARK}"),
    ("X-Auth-Token: MIIabc", f"X-Auth-Token: {MARK}"),
    ('"auths": {"x": {"auth": "dXNlcjpwYXNz"}}', f'"auths": {{"x": {{"auth": "{MARK}"}}}}'),
    ("sent Bearer abc123def", f"sent Bearer {MARK}"),
    ("Basic dXNlcjpwYXNz", f"Basic {MARK}"),
    ("bearer " + "a" * 24, f"bearer {MARK}"),
    ("https://user:p@ss@host/x", f"https://{MARK}@host/x"),
    ("git+ssh://token123@host", f"git+ssh://{MARK}@host"),
    ("redis://:secretpw@h:6379/0", f"redis://{MARK}@h:6379/0"),
    ("password=hunter2", f"password={MARK}"),
    ("DB_PASSWORD: 'a b'", f"DB_PASSWORD: '{MARK}'"),
    ('{"client_secret": "abc"}', f'{{"client_secret": "{MARK}"}}'),
    (r"{\"password\": \"a b\"}", rf"{{\"password\": \"{MARK}\"}}"),
    ("api-key => abcdef", f"api-key => {MARK}"),
    ("?token=abcdef&x=1", f"?token={MARK}&x=1"),
    ("HF_TOKEN=abcdef", f"HF_TOKEN={MARK}"),
    ("token: abc123", f"token: {MARK}"),
    ("run --password hunter --token x1y2", f"run --password {MARK} --token {MARK}"),
    ("AK=ABCDEFGHIJKLMNOPQRST", f"AK={MARK}"),
    ("sk: 'abcdEFGH1234/+abcdEFGH1234'", f"sk: '{MARK}'"),
    ("HUAWEICLOUD_SDK_SK=abcdefgh12", f"HUAWEICLOUD_SDK_SK={MARK}"),
    ("OBS_ACCESS_KEY=ABCDEFGH", f"OBS_ACCESS_KEY={MARK}"),
    ("OBS_SECRET_ACCESS_KEY=abc/def", f"OBS_SECRET_ACCESS_KEY={MARK}"),
    ('"SecretAccessKey": "a/b+c="', f'"SecretAccessKey": "{MARK}"'),
    ("AccessKeyId=ABC123", f"AccessKeyId={MARK}"),
    (r'{"password": "hun\"ter2", "a": 1}', f'{{"password": "{MARK}", "a": 1}}'),
    (r'{"secret": "ab\\", "b": "c"}', f'{{"secret": "{MARK}", "b": "c"}}'),
    (r"{\"password\": \"hun\\\"ter2\", \"a\": 1}", rf"{{\"password\": \"{MARK}\", \"a\": 1}}"),
    (r'"p\u0061ssword": "hunter2"', f'"password": "{MARK}"'),
    (r"\u0067hp_" + "aB3" * 12, MARK),
    ("gh\u200bp_" + "aB3\u00ad" * 12, MARK),
    ("gh\u034fp_" + "aB3\ufe0f" * 6 + "aB3\u3164" * 3 + "aB3\U000e0100" * 3, MARK),
    ("g\x9bhp_".replace("\x9b", "\x85") + "aB3" * 12, MARK),
    ("\x1b[31mghp_aB3\x1b[0m" + "aB3" * 11, MARK),
    ("ghp_\U000e0041" + "aB3" * 12 + "\x1bz", MARK),
    ("obsutil config -i=AKABC -k=SK/9+x -e=h", f"obsutil config -i={MARK} -k={MARK} -e=h"),
    ("GET /b?X-Amz-Signature=" + "ab12" * 8, f"GET /b?X-Amz-Signature={MARK}"),
    ("?AccessKeyId=x1y&Signature=ab%2Fcd%3D" + "e" * 9, f"?AccessKeyId={MARK}&Signature={MARK}"),
    ("wandb login --relogin " + "a1" * 20, f"wandb login --relogin {MARK}"),
    ("docker login -u me -p hunter2 quay.io", f"docker login -u me -p {MARK} quay.io"),
    ("docker login -u me --password hunter2 q", f"docker login -u me --password {MARK} q"),
    ("npm_" + "a1" * 18, MARK),
    ("key LTAI5t" + "aB1" * 6, f"key {MARK}"),
    ("hooks.slack.com/services/T0/B0/" + "x1" * 9, f"hooks.slack.com/services/{MARK}"),
    ("?sv=2020&sig=ab%2Fcd%3D" + "e" * 9, f"?sv=2020&sig={MARK}"),
    ("DB_PASS=hunter2 run", f"DB_PASS={MARK} run"),
    ("machine h login me password hunter2", f"machine h login me password {MARK}"),
    ("curl -s -u me:hunter2 https://h", f"curl -s -u {MARK} https://h"),
    ("mysql -h db -phunter2 x", f"mysql -h db -p{MARK} x"),
    ("sshpass -p 'hunter2' ssh h", f"sshpass -p '{MARK}' ssh h"),
    ("密码：hunter2", f"密码：{MARK}"),
    ("OpenAI('sk-proj-" + "aB3_" * 8 + "')", f"OpenAI('{MARK}')"),
    ("pypi-AgEI" + "aB3_" * 8, MARK),
    ("AIza" + "aB3" * 12, MARK),
    ("AccountName=a;AccountKey=abc+/1==;x=1", f"AccountName=a;AccountKey={MARK}"),
    (KEY, SHOWN_KEY),
    (f"a {KEY} b token=abcdef", f"a {SHOWN_KEY} b token={MARK}"),
    ("k='" + KEY.replace("\n", "\\n") + "' z", f"k='{MARK}' z"),
]

INNOCENT = [
    SHA,
    f"commit {SHA[:12]} of {SHA}",
    f"quay.io/ascend/verl@sha256:{'ab' * 32}",
    f"docker://ubuntu@sha256:{'ab' * 32}",
    "max_tokens=512 pad_token=<|end|> eos_token: x1 num_token=9",
    "critic/per_token: 0.53 tokens=12 kl_token=0.01",
    "unexpected token: import",
    "basic training of a bearer instrument",
    "task=123456789 mask: abcdefghijk disk=/dev/sda1xyz",
    "tokenizer=Qwen2Tokenizer secretary=Miller",
    "https://github.com/a/b@v1.2",
    "password: no",
    "keyboard=qwerty monkey: banana",
    "scipy/optimize/_highs/_highs_options.so",
    "the PRIVATE KEY is missing",
    "step:7 - actor/loss:0.123 - timing_s/step:41.2",
    "\x1b[31mred\x1b[0mgreen and \u00adsoft \u200bzero https:\\/\\/host\\/path \\u0041bc",
    "wandb: Run data is saved locally; curl https://host; docker login succeeded; mysql 8.0 is up",
    "x | docker login -u me --password-stdin; ALL_PASS=false sig=short npm_config_cache",
    "passed: login with a password works",
    "the task-force asks sk-learn for a signature=short",
    "中" * 1_000 + "\nzero\u200bwidth",  # what is kept of the first line begins inside a character
    "EI0006: Getting socket times out. Reason: HCCL_CONNECT_TIMEOUT",
    "",
]

_WORDS = [
    "ghp_" + "a1" * 18, f"ghs_12_{JWT}", JWT, "Authorization: ", "Bearer ", "Basic ", "token=",
    "password=", "secret: ", '"', "'", "\\", "https://", "user:pw", "@host", "&", "AK=", "sk=",
    "ABCDEFGH12345678", "***", " ", "\n", "=", ":", "x", "é", "12345", "hunter2secret", "--token ",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN ", "@sha256:", "\ud800",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=3)), max_size=14).map("".join)
EXTRA = ("hunter2secret", "hunter2", "345")


@pytest.mark.parametrize(("text", "claimant"), SECRETS)
def test_a_secret_is_taken_out(text: str, claimant: str) -> None:
    assert Redactor()(text) == claimant


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert Redactor()(text) == text


def test_configured_values_go_longest_first() -> None:
    redact = Redactor(("abcd", "abcdefgh", "two\nlines", "x"))
    assert redact("abcdefgh abcd x two") == "*** *** x ***"


def test_configured_values_are_no_patterns_and_keep_their_case() -> None:
    redact = Redactor(("a.c(d",))
    assert redact("abc(d a.c(d A.C(D") == "abc(d *** A.C(D"


VALUE = "p@ss/w0rd+é\"'\\ x&y=z"
LINE = "x" * 50 + " "  # as wide as a terminal

FORMS = [
    json.dumps(VALUE)[1:-1],
    json.dumps(VALUE, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    json.dumps(json.dumps(VALUE)[1:-1])[1:-1],
    quote(VALUE, safe=""),
    re.sub("%..", lambda found: found[0].lower(), quote_plus(VALUE)),
    html.escape(VALUE),
    VALUE.encode().hex(),
    "\u200b".join(VALUE),
    "\ufe0f".join(VALUE),
    "\u034f".join(VALUE),
    "".join(f"{char}\x1b[1m" for char in VALUE).removesuffix("\x1b[1m"),
]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_configured_value_is_shown(form: str) -> None:
    assert Redactor((VALUE,))(f"before\nx={form} y\nafter") == f"before\nx={MARK} y\nafter"


@pytest.mark.parametrize("before", range(4))
def test_base64_of_a_configured_value_is_blanked_whatever_stands_before_it(before: int) -> None:
    whole = f"{'u' * before}{VALUE}:tail"
    for text in (base64.b64encode(whole.encode()), base64.urlsafe_b64encode(whole.encode())):
        made = Redactor((VALUE,))(text.decode())
        start, mark, end = made.partition(MARK)
        assert mark
        assert len(start) <= (8 * before + 5) // 6
        assert len(end.rstrip("=")) <= (8 * len(":tail") + 5) // 6


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_configured_value_over_two_lines_is_blanked_on_both(end: str) -> None:
    for at in range(1, len(VALUE)):
        made = Redactor((VALUE,))(f"{LINE}{VALUE[:at]}{end}{VALUE[at:]} y\nlast")
        assert made.replace("*", "") == f"{LINE}{end} y\nlast", at


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=6, max_size=40))
@settings(max_examples=100)
def test_no_configured_value_survives_in_any_form(value: str) -> None:
    value = value.strip()
    assume(len(value) >= 6 and plain(value) == value)
    redact = Redactor((value,))
    raw = value.encode()
    once = json.dumps(value)[1:-1]
    forms = [value, once, json.dumps(once)[1:-1], quote(value, safe="")]
    forms += [quote_plus(value), html.escape(value), raw.hex(), f"{LINE}{value[:3]}\n{value[3:]}"]
    forms += [base64.b64encode(b"u" * n + raw + b":").decode() for n in range(3)]
    for form in forms:
        shown = redact(f"a {form} z")
        assert form not in shown, form
        assert redact(shown) == shown


def test_a_token_that_a_terminal_has_broken_is_blanked_on_both_lines() -> None:
    token = "ghp_" + "aB3" * 12
    for at in range(1, len(token)):
        made = Redactor()(f"{LINE}{token[:at]}\n{token[at:]} and more\nlast")
        assert made.replace("*", "") == f"{LINE}\n and more\nlast", at
    jwt = f"{LINE}{JWT[:30]}\n{JWT[30:]}\nend of it"
    assert Redactor()(jwt) == f"{LINE}{MARK}\n{MARK}\nend of it"
    short = f"a {token}\nNext line"  # no terminal is so narrow
    assert Redactor()(short) == f"a {MARK}\nNext line"


@pytest.mark.parametrize("token", ["hunter2-and-more", "ghp_" + "aB3" * 12, JWT])
@pytest.mark.parametrize(
    "prefix", ["", "2026-01-02T03:04:05.1Z ", "\x1b[36m(Worker pid=7)\x1b[0m "]
)
def test_a_secret_that_two_writes_break_is_blanked_on_both(token: str, prefix: str) -> None:
    """Its first line waits for the next one; where it can not wait, its end is blanked."""
    first, rest = f"{prefix}{LINE}{token[:9]}", f"{prefix}{token[9:]} x\n"
    stream = RedactingStream(Redactor(("hunter2-and-more",)))
    assert stream.feed(f"{first}\n".encode()) == b""
    assert stream.feed(rest.encode()).decode() == f"{prefix}{LINE}***\n{prefix}*** x\n"
    stream = RedactingStream(Redactor(("hunter2-and-more",)))
    stream.feed(f"{first}\n".encode())
    assert stream.settle().decode() == f"{prefix}{LINE}***\n"
    assert stream.feed(rest.encode()).decode() == f"{prefix}*** x\n"


def test_a_secret_over_three_lines_is_blanked_on_all() -> None:
    token = "github_pat_" + "aB3dE" * 16 + "aB"
    value = "-".join(map(str, range(1000, 1020)))
    for secret in (token, value):
        text = f"{LINE}{secret[:20]}\n{secret[20:70]}\n{secret[70:]} x"
        assert Redactor((value,))(text) == f"{LINE}***\n***\n*** x"


def test_what_only_begins_like_a_secret_stays_over_lines() -> None:
    for first, rest in (
        ("use hf_transfer", "and more"),
        ("sk-", "learn"),
        ("hunter2-an", "d then"),
    ):
        text = f"{LINE}{first}\n{rest}\nlast\n"
        stream = RedactingStream(Redactor(("hunter2-and-more",)))
        assert (stream.feed(text.encode()) + stream.end()).decode() == text
    stream = RedactingStream(Redactor())
    assert stream.feed(b"short sk-abc1\n") == b"short sk-abc1\n"
    assert stream.settle() == b""


def test_a_text_goes_on_in_the_state_that_the_text_before_it_left() -> None:
    """A process died within a key, or within a token; only what it had written is known."""
    for shown, rest, made in (
        (f"cut\nx\n{BEGIN}\n***\n", "MIIEpAIBAAKCAQEA\n" + END, f"***\n{END}"),
        (f"cut\n{BEGIN}\n***\n{END}\n", "MIIEpAIBAAKCAQEA", "MIIEpAIBAAKCAQEA"),
        (f"cut\n{LINE}***\n", "aB3aB3aB3aB3aB3 x", "*** x"),
        (f"cut\n{LINE}***\n", "AssertionError: no", "AssertionError: no"),
        (f"cut\n{LINE}***\n", ": no", ": no"),
        (f"cut\n{LINE}***\n", "/usr/lib/A1b2C3d4.py:9 x", "/usr/lib/A1b2C3d4.py:9 x"),
        (f"cut\n{LINE}****\n", "aB3aB3aB3aB3aB3 x", "aB3aB3aB3aB3aB3 x"),
        ("", "MIIEpAIBAAKCAQEA", "MIIEpAIBAAKCAQEA"),
    ):
        stream = RedactingStream(Redactor())
        stream.resume(shown.encode())
        assert (stream.feed(rest.encode()) + stream.end()).decode() == made


def test_a_text_that_begins_within_a_key_shows_nothing_of_it() -> None:
    body = "MIIEpAIBAAKCAQEAx1b2C3d4" * 3
    assert Redactor()(f"{body}\n{body}\nqQ==\n{END}\nafter") == f"***\n***\n***\n{END}\nafter"
    assert Redactor()(f"2026-01-02T03:04Z {body}\nafter it") == "2026-01-02T03:04Z ***\nafter it"
    assert Redactor()(f"after\n{body}") == f"after\n{body}"
    for checksum in ("0123456789abcdef" * 4, "0123456789ABCDEF" * 2):
        assert Redactor()(checksum) == checksum


def test_half_a_line_is_shown_as_its_place_in_the_text_allows() -> None:
    stream = RedactingStream(Redactor())
    assert stream.half(b"step ghp_aB3") == b"step ***"
    assert stream.half(b"step 1") == b"step 1"
    stream.feed(f"{BEGIN}\n".encode())
    assert stream.half(b"MIIEpAIBA") == b"***"
    assert stream.feed(b"MIIEpAIBA\nMII") == b"***\n"
    assert stream.rest == b"***"
    assert stream.feed(b"E\n") == b"***\n"
    assert stream.rest == b""


def test_more_values_than_can_be_looked_for_in_all_forms_are_still_taken_out() -> None:
    values = tuple(f"{n:04}/" + "é" * 600 for n in range(60))
    made = Redactor(values)("\n".join(values))
    assert made == "\n".join([MARK] * 60)


@given(TEXTS)
@settings(max_examples=400)
def test_doing_it_twice_changes_nothing_and_text_never_grows(text: str) -> None:
    redact = Redactor(EXTRA)
    once = redact(text)
    assert redact(once) == once
    assert len(once) <= len(text)
    assert once.count("\n") == text.count("\n")


@given(TEXTS)
@settings(max_examples=200)
def test_no_known_secret_survives(text: str) -> None:
    made = Redactor(EXTRA)(f"{text}\n{KEY}")
    assert not [secret for secret in ("a1" * 18, JWT, "hunter2") if secret in made]


@given(TEXTS, st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=200)
def test_where_chunks_are_cut_does_not_matter(text: str, cuts: list[int]) -> None:
    stream = RedactingStream(Redactor(EXTRA))
    raw = text.encode("utf-8", "replace")
    bounds = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(bounds)]
    made = b"".join(map(stream.feed, pieces)) + stream.end()
    assert made.decode() == Redactor(EXTRA)(text)


def test_of_a_text_full_of_secrets_later_lines_are_blanked_whole() -> None:
    """Cutting secrets out of a line takes ten times as long as finding that it holds one."""
    state = StreamState(cut_lines=MOST_CUT_LINES - 1)
    stream = RedactingStream(Redactor(), state)
    made = stream.feed(b"a token=abcdef1 b\na token=abcdef1 b\ninnocent\n")
    assert made == b"a token=*** b\n***\ninnocent\n"


def test_a_secret_beside_bytes_that_are_no_text_is_taken_out() -> None:
    stream = RedactingStream(Redactor())
    assert (
        stream.feed(b"\xff password=\xfe\xffhunter2 \xe4\n").decode()
        == "\ufffd password=*** \ufffd\n"
    )


def test_a_line_without_end_is_given_out_at_a_space() -> None:
    stream = RedactingStream(Redactor())
    secret = b"ghp_" + b"a1" * 18
    made = stream.feed(b"x " * (MAX_LINE_BYTES // 2 - 9) + secret)
    assert len(made) > MAX_LINE_BYTES // 2
    assert (made + stream.feed(b"\n")).endswith(b"x ***\n")


def test_a_line_without_end_and_without_space_is_given_out_as_it_is() -> None:
    stream = RedactingStream(Redactor())
    assert len(stream.feed(b"x" * (MAX_LINE_BYTES + 1))) == MAX_LINE_BYTES + 1
    assert stream.end() == b""


def test_a_key_without_end_blanks_so_many_lines_and_no_more() -> None:
    made = Redactor()("-----BEGIN PRIVATE KEY-----\n" + "line\n" * (BLOCK_LINES + 5))
    lines = made.splitlines()
    assert lines[1 : BLOCK_LINES + 1] == [MARK] * BLOCK_LINES
    assert lines[BLOCK_LINES + 1 :] == ["line"] * 5


def test_many_keys_on_a_line_are_one_pass() -> None:
    key = KEY.replace("\n", "\\n")
    assert Redactor()(key * 5_000) == MARK * 5_000


def test_a_key_that_comes_line_by_line_is_blanked() -> None:
    stream = RedactingStream(Redactor())
    made = [stream.feed(f"{line}\n".encode()) for line in (*KEY.splitlines(), "after")]
    assert b"".join(made).decode() == f"{SHOWN_KEY}\nafter\n"


def test_a_secret_across_two_chunks_is_taken_out() -> None:
    stream = RedactingStream(Redactor())
    assert stream.feed(b"plain\nghp_" + b"a1" * 9) == b"plain\n"
    assert stream.feed(b"a1" * 9 + b"\nplain\n") == b"***\nplain\n"


def test_a_replacement_that_completes_another_secret_is_seen() -> None:
    assert Redactor()("/AK=token=@hosts") == f"/AK={MARK}"
