"""Secrets are taken out, innocent text is left alone, chunks do not matter."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.report.redaction import KEY_LINES, MARK, MAX_LINE_CHARS, RedactingStream, Redactor

SHA = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjMifQ.c2lnbmF0dXJl-_x"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nq\n-----END RSA PRIVATE KEY-----"

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
    (KEY, f"{MARK}\n{MARK}\n*\n{MARK}"),
    (f"a {KEY} b token=abcdef", f"a {MARK}\n{MARK}\n*\n{MARK} b token={MARK}"),
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
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(bounds)]
    made = "".join(map(stream.feed, pieces)) + stream.end()
    assert made == Redactor(EXTRA)(text)


def test_a_line_without_end_is_given_out_at_a_space() -> None:
    stream = RedactingStream(Redactor())
    secret = "ghp_" + "a1" * 18
    made = stream.feed("x " * (MAX_LINE_CHARS // 2 - 9) + secret)
    assert len(made) > MAX_LINE_CHARS // 2
    assert (made + stream.feed("\n")).endswith(f"x {MARK}\n")


def test_a_line_without_end_and_without_space_is_given_out_as_it_is() -> None:
    stream = RedactingStream(Redactor())
    assert len(stream.feed("x" * (MAX_LINE_CHARS + 1))) == MAX_LINE_CHARS + 1
    assert stream.end() == ""


def test_a_key_without_end_blanks_so_many_lines_and_no_more() -> None:
    made = Redactor()("-----BEGIN PRIVATE KEY-----\n" + "line\n" * (KEY_LINES + 5))
    lines = made.splitlines()
    assert lines[:KEY_LINES] == [MARK] * KEY_LINES
    assert lines[KEY_LINES:] == ["line"] * 6


def test_many_keys_on_a_line_are_one_pass() -> None:
    key = KEY.replace("\n", "\\n")
    assert Redactor()(key * 5_000) == MARK * 5_000


def test_a_key_that_comes_line_by_line_is_blanked() -> None:
    stream = RedactingStream(Redactor())
    made = [stream.feed(f"{line}\n") for line in (*KEY.splitlines(), "after")]
    assert "".join(made) == f"{MARK}\n{MARK}\n*\n{MARK}\nafter\n"


def test_a_secret_across_two_chunks_is_taken_out() -> None:
    stream = RedactingStream(Redactor())
    assert stream.feed("plain\nghp_" + "a1" * 9) == "plain\n"
    assert stream.feed("a1" * 9 + "\nplain\n") == f"{MARK}\nplain\n"


def test_a_replacement_that_completes_another_secret_is_seen() -> None:
    assert Redactor()("/AK=token=@hosts") == f"/AK={MARK}"
