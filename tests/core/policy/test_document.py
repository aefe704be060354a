import pytest

from bot.core.policy.document import MAX_BYTES, MAX_VALUES, Document, read


def told(source: str | bytes) -> list[tuple[int | None, str]]:
    return [(problem.line, problem.message) for problem in read(source).problems]


def only(source: str | bytes) -> tuple[int | None, str]:
    (problem,) = told(source)
    return problem


def test_values_and_lines_come_from_the_text() -> None:
    document = read("a: 1\n\nb:\n  - x\n  - {c: yes, d: 1.5}\ne: ~\nf: 2026-01-01\n12: z\n")
    assert document.data == {
        "a": 1,
        "b": ["x", {"c": True, "d": 1.5}],
        "e": None,
        "f": "2026-01-01",
        "12": "z",
    }
    assert document.problems == []
    assert document.line_of(("b", 1, "d")) == 5
    assert document.line_of(("b", 0)) == 4
    assert document.line_of(("b", "nothing", "here")) == 3
    assert document.line_of(()) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_no_error() -> None:
    document = read(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert document.data == {"a": 1, "b": 2}
    assert document.line_of(("b",)) == 2


def test_lines_are_counted_as_editors_do_whatever_yaml_calls_a_break() -> None:
    document = read('a: "x\u2028y\u0085z"\nb: 2\n')
    assert document.line_of(("b",)) == 2


def test_characters_beyond_ascii_do_not_move_the_lines() -> None:
    document = read("# 中文中文中文\na: 中\nb: 2\n")
    assert document.line_of(("b",)) == 3


@pytest.mark.parametrize("source", ["", "\n\n", "# only a comment\n", b"", "---\n..."])
def test_an_empty_file_is_told_so(source: str | bytes) -> None:
    line, message = only(source)
    assert "empty" in message
    assert line is not None
    assert line <= 2


@pytest.mark.parametrize("source", ["- a\n", "text\n", "5\n"])
def test_a_file_that_is_no_mapping_is_told_so(source: str) -> None:
    assert "not a mapping" in only(source)[1]


def test_too_many_bytes_are_refused_and_the_last_allowed_one_is_not() -> None:
    text = "a: " + "中" * ((MAX_BYTES - 3) // 3)
    text += "x" * (MAX_BYTES - len(text.encode()))
    assert read(text).problems == []
    assert "at most 65,536" in only(text + "x")[1]


def test_what_is_not_utf8_is_refused_with_its_line() -> None:
    assert only(b"a: 1\nb: \xff\n") == (2, "is not UTF-8: byte 9 starts no character")
    assert "surrogate" in only("a: \ud800")[1]


def test_a_control_character_is_named_with_its_line() -> None:
    assert only("a: 1\nb: \x00\n") == (
        2,
        "holds the character U+0000, which YAML does not allow",
    )


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("a: 1\n\tb: 2\n", 2, "a tab cannot indent"),
        ("a: 1\nb: [1, 2\n", 2, "not valid YAML"),
        ("a: 1\nb: *x\n", 2, "not valid YAML"),
        ("a: 1\nb: @x\n", 2, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("paths: *.md\n", 1, "not valid YAML"),
        ("paths:\n  - **/x\n", 2, "not valid YAML"),
    ],
)
def test_syntax_errors_have_their_line(source: str, line: int, words: str) -> None:
    at, message = only(source)
    assert at == line
    assert words in message


def test_a_key_written_twice_is_an_error_at_the_second() -> None:
    document = read("a: 1\nb: 2\na: 3\n")
    assert [(item.path, item.line, item.message) for item in document.problems] == [
        (("a",), 3, "is written twice, first on line 1")
    ]
    assert document.data == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("on: 1\n", "`triggers`"),
        ("No: 1\n", "in quotes"),
        ("[a]: 1\n", "one word"),
        ("~: 1\n", "missing"),
        ("a: &a {b: 1}\nc:\n  <<: *a\n", "does not merge"),
    ],
)
def test_odd_keys_are_explained(source: str, words: str) -> None:
    assert words in only(source)[1]


@pytest.mark.parametrize(
    "value",
    ["1:30", "0x10", "010", "1_000", ".inf", ".nan", "1.0e+5", "9" * 30, "!!int x", "!!bool maybe"],
)
def test_numbers_that_yaml_reads_otherwise_are_refused(value: str) -> None:
    document = read(f"a: {value}\n")
    assert "as it looks: write a plain number" in document.problems[0].message
    assert document.unreadable == {("a",)}


@pytest.mark.parametrize(
    "source",
    [
        "a: !!python/object/apply:os.system [x]\n",
        "a: !!binary aGk=\n",
        "a: !own x\n",
        "a: !!set {x, y}\n",
        "a: !!omap [x: 1]\n",
    ],
)
def test_tags_build_nothing(source: str) -> None:
    document = read(source)
    assert "is not allowed here" in document.problems[0].message
    assert document.data == {"a": None}


def test_a_list_may_be_used_twice() -> None:
    document = read("a: &l [x, y]\nb: *l\n")
    assert (document.data, document.problems) == ({"a": ["x", "y"], "b": ["x", "y"]}, [])


def test_aliases_of_aliases_cannot_multiply() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        lines += [f"a{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]"]
    assert MAX_VALUES < 10**9
    assert "grows too large" in only("\n".join(lines))[1]


def test_a_hundred_aliases_are_the_limit() -> None:
    head = "a: &a x\nb:\n"
    assert read(head + "  - *a\n" * 100).problems == []
    assert only(head + "  - *a\n" * 101) == (103, "has more than 100 aliases (`*name`)")


def test_an_alias_of_itself_is_refused() -> None:
    assert "without end" in only("a: &a [*a]\n")[1]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_and_not_followed(opening: str) -> None:
    line, message = only("a: " * (opening == "[") + opening * 10_000)
    assert (line, "deep" in message or "YAML" in message) == (1, True)


def test_a_document_without_lines_has_one() -> None:
    assert Document().line_of(("x",)) == 1
