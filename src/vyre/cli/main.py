"""The command `vyre`."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vyre import __version__
from vyre.cli import read, store
from vyre.cli.output import console, give_up_on_stdout, say, say_json
from vyre.cli.scan import patterns_in, patterns_of, scan_files
from vyre.cli.targets import bundled, one_target, targets_of
from vyre.cli.templates import described, is_description, tune_described
from vyre.cli.tune import print_outcome, tune_all
from vyre.cli.words import parse_size, parse_span
from vyre.errors import VyreError
from vyre.learn import rules
from vyre.plain import plain, plain_lines
from vyre.report.gather import gather
from vyre.report.page import page
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import open as open_device
from vyre.store.files import replace_text

SIZE = "2^20"


class Commands(TyperGroup):
    """Ends every command alike: a mistake in its message and 1, an interrupt 130, a pipe 141."""

    def invoke(self, ctx: Any) -> Any:
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
        except VyreError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
        except MemoryError:
            typer.echo("error: there is not enough memory\nFix: use a smaller --size", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever reads has enough
            give_up_on_stdout()
            raise typer.Exit(141) from None
        except OSError as error:  # of a file that was named; the store tells of its own
            named = f"{plain(str(error.filename))}: " if error.filename else ""
            fix = "name a file or a folder that can be used"
            typer.echo(f"error: {named}{error.strerror or error}\nFix: {fix}", err=True)
            raise typer.Exit(1) from None
        return done


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Run compute kernels at the right shape, and learn that shape.",
    epilog="Exit codes: 0 fine, 1 a mistake or a failure, 2 a wrong option, 130 interrupted.",
    pretty_exceptions_enable=False,
)
app.add_typer(store.app, name="store")


def _names(incomplete: str) -> list[str]:
    return [target.name for target in bundled() if target.name.startswith(incomplete)]


KernelName = Annotated[
    str,
    typer.Argument(
        metavar="KERNEL",
        help="A bundled kernel's name, or FILE.py:KERNEL.",
        autocompletion=_names,
        show_default=False,
    ),
]
OneSize = Annotated[str, typer.Option("--size", help="Elements, about: 1000000, 64Ki, 2^20.")]
DeviceName = Annotated[
    str | None, typer.Option("--device", help="Where, as vyre devices prints it.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]


@app.command()
def tune(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE.py[:KERNEL] ...]",
            help="Kernels of your own; without any, the bundled ones. Or a source with macros, "
            "FILE.cu or FILE.cl, with --params, or T1 descriptions, FILE.json.",
            autocompletion=_names,
            show_default=False,
        ),
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help=f"Elements, about; may be given again. [{SIZE}]")
    ] = None,
    budget: Annotated[str, typer.Option(help="Time to spend, about.")] = "60s",
    device: DeviceName = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure what is remembered, too.")
    ] = False,
    params: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Parameters and arguments of a source with macros."),
    ] = None,
    t1: Annotated[
        Path | None, typer.Option("--t1", metavar="FILE.json", help="The same as naming the file.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the fastest way to run kernels on this machine, and remember it.

    For a kernel of a file, arguments come from KERNEL_arguments(size) or vyre_arguments(size) in
    the file: a dictionary by parameter name. Without them they are made up from the declared types:
    arrays of about --size elements, square where they have two axes; whole numbers count up from 0,
    so that they can serve as indices; scalars are 1.
    """
    sizes = [parse_size(word) for word in size or [SIZE]]
    budget_s = parse_span(budget)
    words = files or []
    progress = console(stderr=True)
    with rules.mode("natural"):  # whoever tunes on purpose wants it kept, whatever the mode
        if params is not None or t1 is not None or any(map(is_description, words)):
            if size:
                raise typer.BadParameter("--size: the file says the size of the problem")
            found = described(words, params, t1)
            there = None if device is None else _device(device)
            _refuse_unkept()
            outcome = tune_described(found, there, budget_s=budget_s, again=again, console=progress)
        else:
            targets = [one for word in words for one in targets_of(word)] if words else bundled()
            where = _device(device)
            _refuse_unkept()
            outcome = tune_all(
                targets, sizes, where, budget_s=budget_s, again=again, console=progress
            )
    if json:
        say_json(outcome.value())
    else:
        print_outcome(outcome, console())
    if not outcome.saved:
        folder = rules.current().cache_dir
        typer.echo(
            f"error: not everything that was learned could be saved in {plain(str(folder))}\n"
            "Fix: make room there, or set VYRE_CACHE_DIR to another folder; then run it again",
            err=True,
        )
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


@app.command()
def devices(json: Json = False) -> None:
    """List what can run kernels here, and what is missing with the line that installs it."""
    read.show_devices(console(), json=json)


@app.command()
def explain(
    kernel: KernelName, size: OneSize = SIZE, device: DeviceName = None, json: Json = False
) -> None:
    """Say what is proved of a kernel, what may run it, what was chosen, and from what."""
    target = one_target(kernel)
    with rules.mode("off"):
        look = target.look(_device(device), target.call(parse_size(size)))
        read.explain(target, look, console(), json=json)


@app.command()
def source(
    kernel: KernelName,
    schedule: Annotated[
        str,
        typer.Option(help="default, tuned, or one as tables print it: '64, 4 items strided'."),
    ] = "default",
    size: OneSize = SIZE,
    device: DeviceName = None,
    json: Json = False,
) -> None:
    """Print the code that a device compiles for a schedule of a kernel."""
    target = one_target(kernel)
    with rules.mode("off"):
        look = target.look(_device(device), target.call(parse_size(size)))
        read.show_source(target, look, schedule, json=json)


@app.command()
def bench(
    kernel: KernelName,
    schedule: Annotated[
        list[str] | None,
        typer.Option(help="tuned, or one as tables print it; may be given again."),
    ] = None,
    size: OneSize = SIZE,
    device: DeviceName = None,
    json: Json = False,
) -> None:
    """Time a kernel's schedules beside its default, in turns; nothing is remembered."""
    target = one_target(kernel)
    with rules.mode("off"):
        look = target.look(_device(device), target.call(parse_size(size)))
        read.bench(target, look, schedule or [], console(), json=json)


@app.command()
def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the page; - prints it.")
    ] = Path("report.html"),
    json: Json = False,
) -> None:
    """Write one page about everything that was learned; it opens in any browser, offline."""
    with store.opened(read_only=True) as opened:
        found = gather(opened)
    if json:
        say_json(found.value())
        return
    text = page(found)
    if str(output) == "-":
        sys.stdout.write(text)
        return
    replace_text(output, text)
    say(f"wrote {output}: {len(found.cases)} workloads, {found.timings:,} timings")


@app.command()
def scan(
    patterns: Annotated[
        str | None, typer.Argument(help="What to look for, one a line; with -f, a file.")
    ] = None,
    files: Annotated[
        list[str] | None, typer.Argument(help="Where to look; - is the standard input.")
    ] = None,
    patterns_from: Annotated[
        Path | None, typer.Option("--file", "-f", help="Take the patterns from this file.")
    ] = None,
) -> None:
    """Print where literal patterns stand in files, as `grep -Fob` does, exit codes included."""
    where = list(files or ())
    try:
        if patterns_from is not None:
            wanted = patterns_in(patterns_from)
            where = [] if patterns is None else [patterns, *where]
        elif patterns is None:
            raise typer.BadParameter("no patterns: give them before the files, or use -f")
        else:
            wanted = patterns_of(patterns)
        status = scan_files(wanted, where, sys.stdout.buffer)
    except VyreError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if status:
        raise typer.Exit(status)


@app.command()
def version(json: Json = False) -> None:
    """Print the version."""
    if json:
        say_json({"version": __version__})
    else:
        say(f"vyre {__version__}")


def _device(name: str | None) -> Device:
    with warnings.catch_warnings():  # said in our own words
        warnings.simplefilter("ignore")
        return open_device(name)


def _refuse_unkept() -> None:
    """Hear now, not in a minute, that nothing could be kept."""
    with store.opened(read_only=False):
        pass


class _Notes(logging.Handler):
    """What the library says beside its results, as lines on the error stream."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(f"note: {plain_lines(record.getMessage())}", err=True)


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # no terminal is too plain for a table
    log = logging.getLogger("vyre")
    log.addHandler(_Notes(logging.WARNING))
    log.propagate = False
    app(prog_name="vyre")
