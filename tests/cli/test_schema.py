import json

from click.testing import CliRunner

from bot.cli.schema import command


def test_the_schema_is_printed_as_json() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["version", "runners"]
    assert schema["$defs"]["Suite"]["required"] == ["workflow", "runners"]
