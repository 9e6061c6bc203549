"""Where runs are recorded, how a record is found again, and where tasks are queued."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from dragoman import fleet
from dragoman.logs import stores

if TYPE_CHECKING:
    from dragoman.config import Configuration


def store_of(configuration: Configuration) -> stores.EventStore:
    """What keeps the records of runs, as the settings say."""
    chosen = configuration.settings.store
    address = None if chosen.url is None else chosen.url.reveal()
    folder = configuration.data_dir if address is not None else configuration.data_dir / "runs"
    return stores.store_for(address, folder=folder, fsync=chosen.fsync)


def copy_stored_runs(configuration: Configuration) -> None:
    """Make files of what is new in the database of records, for the commands over logs."""
    store = store_of(configuration)
    try:
        if isinstance(store, stores.DatabaseStore):
            stores.copy_records(store, configuration.data_dir)
    finally:
        store.close()


def queue_of(configuration: Configuration) -> fleet.Queue:
    """The queue of tasks: in the database of the records, or where those are files in one of its own."""
    return fleet.Queue(_queue_database(configuration))


def _queue_database(configuration: Configuration) -> stores.Database:
    chosen = configuration.settings.store
    address = "sqlite:queue.db" if chosen.url is None else chosen.url.reveal()
    return stores.database_of(address, folder=configuration.data_dir, fsync=chosen.fsync)


def ledger_of(configuration: Configuration) -> fleet.SharedLedger | None:
    """Where requests are counted for all runs that share the queue; `None` where no provider's are limited."""
    providers = configuration.settings.providers.values()
    if all(one.requests_per_minute is None and one.tokens_per_minute is None for one in providers):
        return None
    return fleet.SharedLedger(_queue_database(configuration))


def find_run(store: stores.EventStore, wanted: str, option: str = "--resume") -> str:
    """The run whose id starts with this, or the newest for "last"."""
    known = [run.id for run in newest_first(store)]
    if not known:
        raise click.BadParameter(f"there is no run to continue: {store.place} has none.", param_hint=option)
    if wanted == "last":
        return known[0]
    found = [run for run in known if run.startswith(wanted)] if wanted else []
    if len(found) == 1:
        return found[0]
    listed = ", ".join(run[:8] for run in (found or known)[:5])
    if found:
        raise click.BadParameter(f'several runs begin with "{wanted}": {listed}; say more of it.', param_hint=option)
    raise click.BadParameter(f'no run begins with "{wanted}"; the last ones are {listed}.', param_hint=option)


def newest_first(store: stores.EventStore) -> list[stores.StoredRun]:
    """The runs of a store."""
    # What is dated to the days to come was written while the clock was wrong: it is not the newest for ever.
    latest = time.time() + 86_400
    return sorted(store.runs(), key=lambda one: (one.changed <= latest, one.changed), reverse=True)
