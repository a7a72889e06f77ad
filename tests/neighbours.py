"""All small tables over a small domain of records, and their neighbours."""

from __future__ import annotations

from itertools import combinations_with_replacement


def tables(domain, max_rows):
    """All multisets of at most `max_rows` records."""
    for n_rows in range(max_rows + 1):
        yield from combinations_with_replacement(domain, n_rows)


def neighbours(domain, max_rows):
    """All pairs (D, D plus one record) with at most `max_rows` records in the larger table."""
    for rows in tables(domain, max_rows - 1):
        for record in domain:
            yield rows, (*rows, record)
