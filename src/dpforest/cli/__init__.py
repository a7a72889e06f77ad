"""The command line: one file per subcommand, each of which imports what it needs when it runs.

`dpforest --help` stays fast that way: nothing here loads scikit-learn, numba or pandas.
"""

from __future__ import annotations

import click

import dpforest
from dpforest.cli.answers import Program
from dpforest.cli.audit_gallery import gallery
from dpforest.cli.audit_replay import replay
from dpforest.cli.audit_run import run
from dpforest.cli.bench import bench
from dpforest.cli.budget import budget as budget_command
from dpforest.cli.export import export as export_command
from dpforest.cli.fit import fit as fit_command
from dpforest.cli.inspect import inspect as inspect_command
from dpforest.cli.keys import keys as keys_command
from dpforest.cli.plan import plan as plan_command
from dpforest.cli.predict import predict as predict_command
from dpforest.cli.report import report as report_command
from dpforest.cli.schema import schema as schema_command
from dpforest.cli.schema_estimate import estimate
from dpforest.cli.verify import verify as verify_command

__all__ = ["main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dpforest.__version__, prog_name="dpforest")
def main() -> None:
    """Differentially private tree ensembles."""


@main.group()
def audit() -> None:
    """Measure what models really leak."""


audit.add_command(run)
audit.add_command(gallery)
audit.add_command(replay)

schema_command.add_command(estimate)
main.add_command(schema_command)
main.add_command(plan_command)
main.add_command(budget_command)
main.add_command(fit_command)
main.add_command(predict_command)
main.add_command(inspect_command)
main.add_command(report_command)
main.add_command(export_command)
main.add_command(keys_command)
main.add_command(verify_command)
main.add_command(bench)
