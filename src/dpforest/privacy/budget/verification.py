"""The long check of budgets, and what an owner can do about one that is broken.

`verify_budgets` streams every record from its first to its last link, in constant memory. `repair_budget` is
for the owner alone: a record in which somebody changed, removed or added rows grants nothing any more, and if
no untouched copy exists, an entry that names the broken stretch, its hash, its cost and the reason is the
protocol under which it grants again. Nothing is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpforest.privacy.budget.chain import Checkpoint, Walk, accuse, digest_of, read_link, read_repairs
from dpforest.privacy.budget.database import Address, Execute, at_address, marks
from dpforest.privacy.budget.records import Dataset, Entry, add_up, check_amount, check_text, cost_text, now
from dpforest.privacy.budget.store import BudgetStore, check_format, read_datasets
from dpforest.privacy.composition import Cost
from dpforest.privacy.errors import BudgetStoreError, BudgetTamperedError

Progress = Callable[[str, int], None]


def verify_budgets(
    address: Address,
    checkpoints: Mapping[str, Checkpoint | str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Checkpoint]:
    """Check every record in a file or on a server, and return where each ends.

    Parameters
    ----------
    address : str or path
        As in `BudgetAccountant.open`.
    checkpoints : mapping of dataset to Checkpoint or its text, optional
        Ends that were noted down earlier. Without them, entries removed from the very end, a removed dataset
        of which nothing is left, and a record forged from some entry to its end are not found.
    progress : callable, optional
        Is told the dataset and the number of entries checked so far, now and then.

    Returns
    -------
    dict of dataset to Checkpoint
        To be noted down, elsewhere.

    Raises
    ------
    BudgetTamperedError
        If a record is not what was written.
    """
    noted, database = checkpoints or {}, at_address(address)
    with database.reading() as execute:
        datasets = read_datasets(execute)
        names = {name for (name,) in execute("SELECT DISTINCT dataset FROM dpforest_charges", ())}
    known = {dataset.name for dataset in datasets}
    for name in sorted(names.union(noted).difference(known)):
        raise BudgetTamperedError(f"the budget of {name!r} was removed, so nothing is granted.")
    return {
        dataset.name: verify_store(BudgetStore(database, dataset), noted.get(dataset.name), progress)
        for dataset in datasets
    }


def verify_store(
    store: BudgetStore, noted: Checkpoint | str | None = None, progress: Progress | None = None
) -> Checkpoint:
    """Check one record from its first to its last link, and return where it ends.

    Parameters
    ----------
    store : BudgetStore
        The record.
    noted : Checkpoint or str, optional
        A place that it must pass through.
    progress : callable, optional
        As in `verify_budgets`.
    """
    place = None if noted is None else Checkpoint.parse(str(noted))
    walk, name = store.walk(), store.dataset.name
    passed = place is None or place == walk.end
    for entry in store.entries(walk):
        passed = passed or place == walk.end
        if progress is not None and entry.number % 1000 == 0:
            progress(name, entry.number)
    if not passed and place is not None:
        if place.count > walk.end.count:
            accuse(name, f"it has {walk.end.count} entries and had {place.count} at the checkpoint")
        accuse(name, f"entry {place.count} is not the one of the checkpoint")
    store.standing()  # nor may it be older than what this handle has seen
    return walk.end


def repair_budget(
    address: Address, dataset: str, *, reason: str, charge: Cost, analyst: str = ""
) -> Checkpoint:
    """Let a broken record grant again, under protocol. For its owner alone.

    Everything up to the first broken entry stays as it is. Entries after it that still match their own hash
    count in full; `charge` is added for those that do not, which only the owner can judge.

    Parameters
    ----------
    address : str or path
        As in `BudgetAccountant.open`.
    dataset : str
        Whose record.
    reason : str
        What happened; kept for ever.
    charge : Cost
        What the unreadable or missing entries cost at most.
    analyst : str
        Who answers for it.

    Returns
    -------
    Checkpoint
        The place of the protocol in the record.
    """
    check_text(reason, "reason")
    check_text(analyst, "analyst")
    check_amount(charge)
    if not reason:
        raise ValueError("a repair needs a reason.")
    database = at_address(address)
    with database.writing(dataset) as execute:
        check_format(execute)
        rows = execute("SELECT * FROM dpforest_datasets WHERE name = ?", (dataset,))
        if not rows:
            raise BudgetStoreError(f"there is no budget for {dataset!r} here.")
        notes = {"purpose": reason, "analyst": analyst, "who": database.login(execute), "at": now()}
        entry = _protocol(read_link(Dataset, rows[0]), execute, charge, notes)
        values = (*entry.values(), entry.hash)
        execute(f"INSERT INTO dpforest_charges VALUES ({marks(values)})", values)  # noqa: S608 - marks only
    return Checkpoint(entry.number, entry.hash)


def _protocol(dataset: Dataset, execute: Execute, charge: Cost, notes: Mapping[str, str]) -> Entry:
    """Make the entry that vouches for what is broken."""
    rows = execute("SELECT * FROM dpforest_charges WHERE dataset = ? ORDER BY number", (dataset.name,))
    walk, broken = _whole_part(dataset, rows)
    if not broken:
        raise BudgetStoreError(f"the record of {dataset.name!r} links up: there is nothing to repair.")
    cost = charge
    for row in broken:
        try:
            entry = read_link(Entry, row)
            cost += entry.cost if entry.settles is None else Cost.pure(0)
        except (BudgetTamperedError, ValueError, TypeError):  # only the owner knows what this was
            continue
    check_amount(cost)
    total = add_up(walk.total, cost)
    if not dataset.rule.grants(total):
        raise BudgetStoreError(
            f"with what is broken counted in full, more than the ceiling of {dataset.name!r} is used up: "
            "there is nothing left to be granted."
        )
    numbers = [row[1] for row in broken if isinstance(row[1], int)]
    relation, rows_per_person = walk.promised
    return Entry(
        dataset=dataset.name,
        number=max([walk.end.count, *numbers]) + 1,
        state="repaired",
        settles=None,
        name=None,
        label="repair",
        relation=relation or "add_or_remove_one",
        max_rows_per_person=rows_per_person or 1,
        **(cost_text(cost) | cost_text(total, "total_")),
        plan=json.dumps({"first": walk.end.count + 1, "entries": len(broken), "sha256": digest_of(broken)}),
        queries=None,
        previous=walk.end.head,
        **notes,
    )


def _whole_part(dataset: Dataset, rows: Sequence[tuple[Any, ...]]) -> tuple[Walk, Sequence[tuple[Any, ...]]]:
    """Walk as far as the record links up; return the walk and the rows that follow."""
    walk = Walk(dataset, read_repairs(row for row in rows if row[2] == "repaired"))
    good = 0
    for at, row in enumerate(rows):
        try:
            if walk.step(row) is not None:
                good = at + 1
        except BudgetTamperedError:
            return walk, rows[good:]
    return walk, rows[good:]
