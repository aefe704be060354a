"""The store is what the ports ask for; mypy checks the signatures here."""

from bot.ports.api import AnnouncementStore, ApiStore
from bot.ports.follower import FollowerStore
from bot.ports.hooks import HooksStore
from bot.ports.inbox import InboxStore
from bot.ports.operator import OperatorStore
from bot.ports.reporter import ReporterStore
from bot.ports.runner import RunnerStore
from bot.ports.schedules import ScheduleLister, ScheduleStore
from bot.ports.sweeper import SweeperStore
from bot.store import Store


def _ports(
    store: Store,
) -> tuple[HooksStore, InboxStore, RunnerStore, FollowerStore, ReporterStore, SweeperStore]:
    return store, store, store, store, store, store


def _api(store: Store) -> tuple[ApiStore, AnnouncementStore, OperatorStore]:
    return store, store, store


def _schedules(store: Store) -> tuple[ScheduleStore, ScheduleLister]:
    return store, store


async def test_one_store_serves_every_port(store: Store) -> None:
    assert {*_ports(store), *_api(store), *_schedules(store)} == {store}
