"""A check run that GitHub set back to queued is shown anew, with the reason nothing started."""

from dataclasses import replace

import pytest

from bot.core.model.views import GateDue
from bot.core.planning.plan import Plan, RepublishCheck
from bot.store import Store
from tests.store.building import REPO, SHA, after
from tests.store.test_checks import GATE, claim, claims, show, touch


async def republish(store: Store, remark: str) -> None:
    change = Plan(republish=(RepublishCheck(REPO.id, SHA, None, remark),))
    assert await store.commit(change, after(9), done=None)


@pytest.mark.both_databases
async def test_an_ended_check_is_shown_anew_with_the_remark(store: Store) -> None:
    await touch(store)
    first = await claim(store)
    await show(store, first, ended=True)
    await republish(store, "you may not")
    due = await claim(store, 10)
    assert due.remark == "you may not"
    assert due.github_id is None
    assert due.external_id != first.external_id


async def test_an_open_check_is_left_alone(store: Store) -> None:
    await touch(store)
    await show(store, await claim(store), ended=False)
    await republish(store, "you may not")
    assert await claims(store, 10) == ()


def named(name: str) -> GateDue:
    return replace(GATE, name=name)


async def test_a_gate_with_another_name_does_not_bring_an_older_one_of_its_name_back(
    store: Store,
) -> None:
    await touch(store, named("first"))
    await show(store, await claim(store), ended=True)
    await touch(store, named("second"), 2)  # no older check run has the name: it is the same one
    renamed = await claim(store, 2)
    assert (renamed.name, renamed.github_id) == ("second", 5)
    await show(store, renamed, ended=True)
    await republish(store, "anew")
    again = await claim(store, 10)
    await show(store, again, ended=False)
    await touch(store, named("third"), 12)
    due = await claim(store, 20)
    assert (due.name, due.github_id) == ("third", None)
    assert due.external_id != again.external_id
