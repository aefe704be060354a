"""The bench of many runs measures few: its GitHub answers all that the bot asks of it."""

from tests.bench.scale_bench import RATES, SLOTS, restart, row


async def test_runs_that_wait_give_a_row_with_all_figures() -> None:
    made = await row(SLOTS + 1, "sqlite", waiting=True, minutes=0.05)
    assert len(made.split("|")) == len(RATES) + 2
    assert "" not in [cell.strip() for cell in made.split("|")[1:-1]]


async def test_runs_that_ended_while_no_bot_was_there_are_all_counted() -> None:
    assert (await restart(3, "sqlite")).startswith("| 3 |")
