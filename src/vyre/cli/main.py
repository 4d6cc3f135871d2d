"""The command `vyre`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from vyre import __version__
from vyre.cli.tune import tune_bundled
from vyre.errors import VyreError

app = typer.Typer(
    no_args_is_help=True, help="Run compute kernels at the right shape, and learn that shape."
)


@app.command()
def tune(
    size: Annotated[int, typer.Option(help="Elements per kernel, about.", min=1)] = 1 << 20,
    budget: Annotated[float, typer.Option(help="Seconds to spend, about.", min=1)] = 60.0,
    again: Annotated[bool, typer.Option(help="Measure what is remembered, too.")] = False,
) -> None:
    """Find the fastest way to run the bundled kernels on this machine, and remember it."""
    if not tune_bundled(size, budget, again, Console()):
        raise typer.Exit(130)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"vyre {__version__}")


def main() -> None:
    """Run the command; a user's mistake ends in its message and exit code 2, not a traceback."""
    try:
        app()
    except VyreError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
