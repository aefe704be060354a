from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.policy.globs import PatternError, compile_pattern, encode


def matches(pattern: str, path: str) -> bool:
    return compile_pattern(pattern).matches(encode(path))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*", ["README.md", ".gitignore"], ["docs/a.md"]),
        ("**", ["README.md", "a/b/c", ".github/x.yml"], []),
        ("*.js", ["app.js"], ["src/app.js", "app.jsx", "app.JS"]),
        ("**.js", ["app.js", "src/js/app.js"], ["app.jsx"]),
        ("*.jsx?", ["page.js", "page.jsx"], ["page.jsxx", "page.j"]),
        ("docs/*", ["docs/a.md"], ["docs/a/b.md", "docs"]),
        ("docs/**", ["docs/a.md", "docs/a/b.md"], ["docs", "x/docs/a.md"]),
        ("docs/**/*.md", ["docs/a.md", "docs/x/y/a.md"], ["a.md", "docs/a.rst"]),
        ("**/docs/**", ["docs/a", "x/docs/a", "x/y/docs/z/a"], ["xdocs/a"]),
        ("**/README.md", ["README.md", "js/README.md"], ["xREADME.md"]),
        ("**/*src/**", ["a/src/app.js", "my-src/code/js/app.js"], ["srcs/a"]),
        ("**/migrate-*.sql", ["migrate-1.sql", "db/sept/migrate-v1.sql"], ["db/migrate.sql"]),
        ("a+b", ["ab", "aaab"], ["b", "a+b"]),
        ("[CB]at", ["Cat", "Bat"], ["cat", "at"]),
        ("[1-2]00", ["100", "200"], ["300"]),
        ("v[0-9a-c]+", ["v1", "v12c"], ["v", "vd"]),
        ("x[._-]y", ["x.y", "x_y", "x-y"], ["xay", "x]y"]),
        ("x[a-]y", ["xay", "x-y"], ["xby"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"\!a", ["!a"], ["a"]),
        (r"\[a]", ["[a]"], ["a"]),
        ("a!b", ["a!b"], ["ab"]),
        ("foo**/bar", ["foo/bar", "foox/y/bar"], ["foobar"]),
        ("**/?x", ["x", "a/x", "ax"], ["xy"]),
        ("a/***/b", ["a/b", "a/x/b"], ["ab"]),
        ("a**?b*+", ["ab", "a/b", "axbx"], ["b"]),
        ("ab??c", ["ac", "abc"], ["abbc"]),
        ("ab++c", ["abc", "abbc"], ["ac"]),
        ("ab?+c", ["ac", "abbbc"], ["axc"]),
        ("ab+?c", ["ac", "abbbc"], ["axc"]),
        ("ab+?+c", ["ac", "abbbc"], ["axc"]),
        ("a.b", ["a.b"], ["axb"]),
        ("中*.md", ["中文.md"], ["文.md"]),
        ("中?文", ["文", "中文"], ["x文"]),
        ("a(b|c)$", ["a(b|c)$"], ["ab"]),
        ("*x", ["a\nx", "x"], ["a/x"]),
        ("a\tb", ["a\tb"], ["a b"]),
    ],
)
def test_patterns_follow_the_filter_cheat_sheet(
    pattern: str, yes: list[str], no: list[str]
) -> None:
    assert [path for path in yes if not matches(pattern, path)] == []
    assert [path for path in no if matches(pattern, path)] == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "empty"),
        ("!", "empty"),
        ("?a", "none"),
        ("!+a", "none"),
        ("[a", "never closed"),
        ("[]", "no character"),
        ("[!a]", "negated"),
        ("[^a]", "negated"),
        ("[z-a]", "upwards"),
        ("[a-Z]", "upwards"),
        ("[+-9]", "upwards"),
        ("a\\", "at the end"),
        ("a" * 501, "at most"),
    ],
)
def test_meaningless_patterns_are_refused_in_words(pattern: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        compile_pattern(pattern)


def test_a_leading_exclamation_mark_is_the_sign_and_not_matched() -> None:
    glob = compile_pattern("!docs/**")
    assert glob.negative
    assert glob.matches(b"docs/a")
    assert not compile_pattern("docs/**").negative


def test_a_path_that_is_no_unicode_text_is_still_looked_at() -> None:
    assert matches("*", "a\udcff")


names = st.text(st.sampled_from("ab*/.?+-中 "), max_size=8)


def reference(pattern: str, path: str) -> bool:
    """Match the slow way: try everything, one character at a time."""
    if pattern.startswith("**/") and pattern[3:4] not in ("?", "+"):
        rest = pattern[3:]
        folders = [i + 1 for i, char in enumerate(path) if char == "/"]
        return any(reference(rest, path[at:]) for at in [0, *folders])
    return _from(pattern, path)


def _from(pattern: str, path: str) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "*":
        many = pattern.startswith("**")
        rest = pattern.lstrip("*") if many else pattern[1:]
        reach = len(path) if many or "/" not in path else path.index("/")
        return any(_from(rest.lstrip("?+"), path[at:]) for at in range(reach + 1))
    char, rest = pattern[0], pattern[1:]
    least, most = 1, 1
    while rest[:1] in ("?", "+"):
        least = 0 if rest[0] == "?" else least
        most = len(path) if rest[0] == "+" else most
        rest = rest[1:]
    longest = len(path) - len(path.lstrip(char))
    counts = range(least, min(most, longest) + 1)
    if char == "/" and (least, most) == (1, 1):
        return longest >= 1 and reference(rest, path[1:])
    return any(_from(rest, path[count:]) for count in counts)


@settings(max_examples=300)
@given(names, names)
def test_patterns_agree_with_a_slow_matcher(pattern: str, path: str) -> None:
    try:
        glob = compile_pattern(f"x{pattern}")
    except PatternError:
        return
    assert glob.matches(encode(f"x{path}")) == reference(f"x{pattern}", f"x{path}")


@settings(max_examples=100)
@given(st.text(min_size=1, max_size=30))
def test_an_escaped_path_matches_itself_and_nothing_longer(path: str) -> None:
    pattern = "".join(f"\\{char}" for char in path)
    assert matches(pattern, path)
    assert not matches(pattern, path + "x")


@settings(max_examples=200)
@given(st.text(max_size=30))
def test_compiling_never_fails_in_another_way(pattern: str) -> None:
    with suppress(PatternError):
        compile_pattern(pattern)
