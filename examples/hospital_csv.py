"""Write the made-up hospital of the quickstart as files, for the command line.

``visits.csv`` (private rows), ``new_visits.csv`` (rows to predict) and ``dictionary.csv`` (what everybody may
know about the columns), in the folder where it is run.
"""

from __future__ import annotations

from pathlib import Path

from quickstart import hospital

DICTIONARY = """column,type,min,max,values
age,integer,18,100,
crp,numeric,0,500,
oxygen,numeric,60,100,
ward,categorical,,,surgery|medicine|intensive
outcome,categorical,,,home|died
"""


def main() -> None:
    """Write the three files."""
    visits, outcome = hospital(20_000, seed=1)
    visits.assign(outcome=outcome).to_csv("visits.csv", index=False)
    new, _ = hospital(2_000, seed=2)
    new.insert(0, "bed", range(1, 2_001))
    new.to_csv("new_visits.csv", index=False)
    Path("dictionary.csv").write_text(DICTIONARY)


if __name__ == "__main__":
    main()
