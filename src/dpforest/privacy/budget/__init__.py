"""Budgets that are shared by many fits: the accountant, the stores that keep its record, and their checks.

`dpforest.privacy` has the public names. `accountant` grants or refuses by a `filter`; `store` keeps the
record, a `chain` of entries, in a `database` (`sqlite`, `postgres`); `charge` is a granted request between
its reservation and its settlement; `entered` and `family` know who pays in threads and processes.
"""
