"""What single keys of a policy may hold, and the words when they do not."""

import pytest
from pydantic import ValidationError

from bot.core.digest import signatures
from bot.core.policy.document import Document
from bot.core.policy.errors import problems_of, unknown
from bot.core.policy.models import Policy, Signature, Suite, policy_schema
from bot.core.policy.values import STORED
from tests.core.policies import BASE, errors, loaded, with_suite


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("title: 5", 'must be text: put it in quotes, "5"'),
        ("title: yes", 'must be text: put it in quotes, "yes"'),
        ("title: [a]", "must be text, not a list"),
        ("title:", "has no value: write text, or leave the key out"),
        ("paths: a", "must be a list: write [a]"),
        ("paths: {a: b}", "must be a list, not a mapping"),
        ("paths: 5", "must be a list, not the number 5"),
        ("inputs: [a]", "must be a mapping of keys, not a list"),
        ("baseline: 5", "must be a mapping of keys, not the number 5"),
        ("baseline: {a: 1}", "is reserved for later versions: leave it out"),
        ("nodes: yes", "must be a whole number, not true or false"),
        ("nodes: 1.0", "must be a whole number, not the number 1.0"),
        ("nodes: 0", "is 0, but the minimum is 1"),
        ("npus: -1", "is -1, but the minimum is 1"),
        ("timeout_minutes: 7201", "is 7201, but the maximum is 7200"),
        ("infra_retries: 6", "is 6, but the maximum is 5"),
        ("rayjob: 1", "must be true or false, not the number 1"),
        ("tier: 5", "`5` is not one of `standard`, `heavy`"),
        ("tier: [a]", "must be one of `standard`, `heavy`"),
        ("start: nativ", "`nativ` is not one of `dispatch`, `native`; did you mean `native`?"),
        ("paths: [a, '[z-a]']", "`z-a`: a range goes upwards within a-z, A-Z or 0-9"),
        ("inputs: {sha: x}", "`sha` is sent with every dispatch already; choose another name"),
        (
            "inputs: {a b: x}",
            "an input's name holds only letters, digits, `_` and `-`, a letter or `_` first",
        ),
        (
            "inputs: {a: 'x{sha}{branch}'}",
            "`{branch}` is not a placeholder; known: `{sha}`, `{pr}`, `{runner}`, `{run}`",
        ),
        (
            "settable: {a: '!x'}",
            "a single pattern that excludes allows nothing; write what is allowed",
        ),
        ("colour: red", "unknown key `colour`; known: `workflow`, `runners`, `title`, `start`,"),
    ],
)
def test_a_wrong_value_is_told_in_words(line: str, words: str) -> None:
    ((path, at, message),) = errors(with_suite(line))
    assert path.startswith("suites.unit.")
    assert at == 10
    assert message.startswith(words)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (
            "limits: {npu_hours_per_day: '5'}",
            "limits.npu_hours_per_day",
            "be a number, not the",
        ),
        ("limits: {npu_hours_per_day: -1}", "limits.npu_hours_per_day", "but the minimum is 0"),
        ("gate: {name: ''}", "gate.name", "is empty; at least one is needed"),
        (f"gate: {{name: {'x' * 101}}}", "gate.name", "is longer than 100 characters"),
        ("log: {redact: [abc]}", "log.redact[0]", "fewer than 4 characters"),
        ("log: {repo_roots: [src]}", "log.repo_roots[0]", "absolute folder"),
        ("log: {repo_roots: [/]}", "log.repo_roots[0]", "absolute folder"),
        ("dispatch_ref: v*", "dispatch_ref", "one branch"),
        ("dispatch_ref: refs/heads/main", "dispatch_ref", "one branch"),
        ("dispatch_ref: a..b", "dispatch_ref", "one branch"),
        ("dispatch_ref: main/", "dispatch_ref", "one branch"),
        ("branches: ['[']", "branches[0]", "never closed"),
        ("trust: {users: [a b]}", "trust.users[0]", "a login is written"),
        ("trust: {auto: owner}", "trust.auto", "did you mean `admin`?"),
        ("report: {language: de}", "report.language", "`de` is not one of `en`"),
        ("pools: {'a b': {}}", "pools.a b", "names hold only"),
        ("nightly: [{cron: '0 17 * *'}]", "nightly[0].cron", "five fields"),
        ("nightly: [{cron: '0 25 * * *'}]", "nightly[0].cron", "Bad hour"),
        ("nightly: [{cron: '0 0 30 2 *'}]", "nightly[0].cron", "Bad day"),
        ("nightly: [{cron: '0 0 * * 1#5,2#0'}]", "nightly[0].cron", "Bad day-of-week"),
        (f"nightly: [{{cron: '{'0,' * 60}0 0 * * *'}}]", "nightly[0].cron", "five fields"),
    ],
)
def test_a_wrong_value_elsewhere_is_told_in_words(text: str, path: str, words: str) -> None:
    base = BASE.replace("pools: {cluster: {npus: 32}}\n", "")
    ((at, line, message),) = errors(f"{base}{text}\n")
    assert (at, line) == (path, 9)
    assert words in message


def test_lists_and_mappings_have_at_most_two_hundred_items() -> None:
    many = ", ".join(f"p{number}" for number in range(201))
    labels = ", ".join(f"l{number}: {{}}" for number in range(201))
    assert errors(with_suite(f"paths: [{many}]")) == [
        ("suites.unit.paths", 10, "has 201 items; at most 200")
    ]
    assert errors(f"version: 1\nrunners: {{{labels}}}\n") == [
        ("runners", 2, "has 201 items; at most 200")
    ]
    loaded(with_suite(f"paths: [{many.removesuffix(', p200')}]"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".github/workflows/unit.yml", "the folder: `unit.yml`"),
        ("C:\\unit.yaml", "the folder: `unit.yaml`"),
        ("unit", "like `ascend.yml`"),
        ("../x.yml/", "like `ascend.yml`"),
    ],
)
def test_a_workflow_is_a_bare_file_name(name: str, words: str) -> None:
    text = BASE.replace("unit.yml", f"'{name}'")
    ((path, _, message),) = errors(text)
    assert path == "suites.unit.workflow"
    assert words in message


@pytest.mark.parametrize("key", ["rerun", "Status", "-a", "a" * 65, "a/b", "ünit"])
def test_a_suite_has_a_name_that_commands_can_say(key: str) -> None:
    ((path, line, _),) = errors(BASE.replace("unit:", f"'{key}':"))
    assert (path, line) == (f"suites.{key}", 7)


@pytest.mark.parametrize("label", ["a b", "a,b", "", "a" * 257])
def test_a_runner_label_is_one_word(label: str) -> None:
    found = errors(f"version: 1\nrunners: {{'{label}': {{}}}}\n")
    assert found[0][2] == "a runner label is one word without spaces or commas"


@pytest.mark.parametrize(
    ("trust", "path"),
    [
        ("users: [amy, '@amy']", "trust.users[1]"),
        ("users: ['https://github.com/amy']", "trust.users[0]"),
        ("teams: [npu, org/npu]", "trust.teams[1]"),
        ("teams: ['@org/npu']", "trust.teams[0]"),
    ],
)
def test_a_person_or_team_that_can_never_be_found_is_refused(trust: str, path: str) -> None:
    ((at, _, message),) = errors(f"{BASE}trust: {{{trust}}}\n")
    assert at == path
    assert "as in the address of its page, without `@`" in message
    loaded(f"{BASE}trust: {{users: [Amy-2, 'renovate[bot]', amy_corp], teams: [npu-owners]}}\n")


def test_a_label_of_the_longest_kind_is_taken() -> None:
    assert "a" * 256 in loaded(f"version: 1\nrunners: {{{'a' * 256}: {{}}}}\n").runners


def test_expressions_that_cost_too_much_together_are_named_once_and_not_compiled() -> None:
    dear = "(?i)" + r"\pL|" * 450 + "x"
    named = [f"{{name: a{n}, class: unknown, match: '{dear}', example: x}}" for n in range(20)]
    unread = ", {name: b, class: unknown, match: '(', example: x}"
    found = errors(f"{BASE}log: {{signatures: [{', '.join(named)}{unread}]}}\n")
    assert [at for at, _, _ in found] == ["log.signatures[10].match"]
    assert "cost more to compile together than a policy may" in found[0][2]


def test_too_many_path_filters_are_named_once_and_not_compiled() -> None:
    def suites(filters: str) -> str:
        lines = f"runners: [npu-8], paths: [{filters}]"
        return "".join(f"  s{n}: {{workflow: a.yml, {lines}}}\n" for n in range(12))

    many = suites(", ".join(f"p-{i}" for i in range(190)))
    loaded(f"{BASE}{many}")  # the same ones count once
    for n in range(12):
        many = many.replace("p-", f"p{n}-", 190)
    ((path, _, message),) = errors(
        f"{BASE}{many}  s12: {{workflow: a.yml, runners: [npu-8], paths: ['[']}}\n"
    )
    assert path == "suites.s10.paths[100]"
    assert "at most 2,000 different path filters" in message


def test_what_was_checked_before_it_was_stored_is_not_compiled_again() -> None:
    stored = {"name": "a", "class": "unknown", "match": "(", "example": "x"}
    assert Signature.model_validate(stored, context=STORED).match == "("
    suite = {"workflow": "a.yml", "runners": ["npu"], "paths": ["["]}
    assert Suite.model_validate(suite, context=STORED).paths == ("[",)


SIGNATURE = "log: {signatures: [{name: a, class: unknown, match: x, example: x, %s}]}\n"


@pytest.mark.parametrize(
    ("extra", "path", "words"),
    [
        ("unless: '('", ".unless", "is not a valid RE2 expression: missing )"),
        ("unless: '(?=a)'", ".unless", "is not a valid RE2 expression"),
        ("unless: 'a*'", ".unless", "matches the empty line"),
        (r"unless: '(?i)[\pL\pN]{1,1000}|abc'", ".unless", "becomes too large"),
        (f"unless: '{'a' * 2001}'", ".unless", "at most 2,000 characters"),
        ("infra: maybe", ".infra", "`stalled`"),
        ("role: none", ".role", "is not one of `primary`"),
        ("kind: c", ".kind", "unknown key `kind`"),
        ("given: A_b", ".given", "only small letters"),
        (f"hint: {'x' * 401}", ".hint", "longer than 400"),
    ],
)
def test_a_signature_is_checked(extra: str, path: str, words: str) -> None:
    ((at, _, message),) = errors(BASE + SIGNATURE % extra)
    assert at == f"log.signatures[0]{path}"
    assert words in message


def test_a_signatures_class_is_one_of_the_known() -> None:
    text = "log: {signatures: [{name: a, class: hcl_comm, match: x, example: x}]}\n"
    ((path, _, message),) = errors(BASE + text)
    assert path == "log.signatures[0].class"
    assert message.endswith("did you mean `hccl_comm`?")


def test_a_signature_needs_something_to_look_for() -> None:
    text = "log: {signatures: [{name: a, class: unknown, example: x}]}\n"
    assert errors(BASE + text) == [("log.signatures[0]", 10, "needs `match` or `codes`")]


def test_a_signature_is_handed_to_the_digest_as_it_was_written() -> None:
    (found,) = loaded(BASE + SIGNATURE % "infra: stalled, codes: ['507010']").log.signatures
    assert found.as_json() == {
        "name": "a",
        "class": "unknown",
        "match": "x",
        "example": "x",
        "infra": "stalled",
        "codes": ["507010"],
    }
    assert signatures.LogSign.model_validate(found.as_json()).infra == "stalled"


def test_a_signature_has_the_keys_and_defaults_that_the_digest_knows() -> None:
    ours, theirs = (
        {info.alias or name: info.get_default() for name, info in model.model_fields.items()}
        for model in (Signature, signatures.LogSign)
    )
    assert ours == theirs


def test_what_looks_odd_but_is_allowed_is_taken() -> None:
    policy = loaded(
        with_suite(
            "title: 'a: b'",
            "stall_minutes: 300",
            "min_minutes: 0",
            "inputs: {json: '{\"a\": {}}', shell: 'x-{sha}-{run}', empty: ''}",
        )
        + "limits: {npu_hours_per_day: 0, debounce_seconds: 0}\n"
        + "dispatch_ref: release/v1.0\nnightly: [{name: x, cron: '*/5 0 * * 1-5', ref: main}]\n"
        + "log: {repo_roots: [/src], redact: [secret]}\n"
    )
    assert policy.suites["unit"].stall_minutes > policy.suites["unit"].timeout_minutes
    assert policy.limits.npu_hours_per_day == 0


def test_a_complaint_without_words_of_ours_is_still_told() -> None:
    with pytest.raises(ValidationError) as raised:
        Policy.model_validate_json("{")
    (problem,) = problems_of(raised.value, Document())
    assert problem.message.startswith("invalid JSON")


def test_every_key_of_the_schema_is_described() -> None:
    schema = policy_schema()
    assert schema["additionalProperties"] is False
    models = [schema, *(part for part in schema["$defs"].values() if "properties" in part)]
    bare = [
        name
        for model in models
        for name, field in model["properties"].items()
        if "description" not in field
    ]
    assert bare == []
    assert "class" in schema["$defs"]["Signature"]["properties"]


def test_an_unknown_name_is_told_beside_the_names_that_there_are() -> None:
    said = [str(unknown("pool", "a", known)) for known in ([], ["cluster"], ["ab"])]
    assert said == [
        "unknown pool `a`; none is known",
        "unknown pool `a`; known: `cluster`",
        "unknown pool `a`; did you mean `ab`?",
    ]
