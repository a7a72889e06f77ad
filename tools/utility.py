"""How well the default forest predicts: all of its experiments, resumable, with plots.

    make bench TARGET=utility                      # hours on 2 cores; stop and start it at will
    python -m tools.utility --repeats 2       # a first look
    python -m tools.utility --plot folder     # only draw what is there

Datasets come from the folder that DPFOREST_DATA names, from packages, or from OpenML; those that are not here
are named and left out. Results, one line of CSV per fit with versions and seeds, go to bench-results/. Keep
them with `python docs/results/write_results.py bench-results`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dpforest.papers.experiments import (
    experiment_names,
    find_experiment,
    plot,
    read_results,
    result_path,
    run,
    summarise,
)

FOLDER = Path("bench-results")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=None, help="instead of those of each experiment")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are")
    parser.add_argument(
        "--plot", type=Path, default=None, help="draw accuracy against epsilon there, and stop"
    )
    options = parser.parse_args()
    if options.plot is not None:
        options.plot.mkdir(parents=True, exist_ok=True)
        for name in ("default-peers", "default-regression"):
            found = read_results(result_path(options.folder, name, False))
            plot(find_experiment(name), summarise(found), options.plot / f"{name}.png")
        return
    for name in experiment_names():
        if name.startswith("default-"):
            print(run(find_experiment(name), options.folder, n_jobs=options.jobs, repeats=options.repeats))


if __name__ == "__main__":
    main()
