"""Runs machine code for aarch64 under an emulator: many launches linked into one program."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.backend.base import Unbuilt
from vyre.errors import DeviceFailed
from vyre.testing.launches import TARGETS, Made, Subject, Way, make, pieces

Arrays = Mapping[str, NDArray[np.generic]]

_COMPILERS = ("aarch64-linux-gnu-gcc",)
_EMULATORS = ("qemu-aarch64", "qemu-aarch64-static")
_DRIVER = Path(__file__).with_name("driver.c")


def tools() -> tuple[str, str] | None:
    """A compiler for aarch64 and an emulator of it; None where either is missing."""
    found = tuple(next(filter(None, map(shutil.which, names)), None) for names in _TOOLS)
    compiler, emulator = found
    return None if compiler is None or emulator is None else (compiler, emulator)


_TOOLS = (_COMPILERS, _EMULATORS)


def run(wanted: Sequence[tuple[Subject, Way]]) -> list[Arrays | Unbuilt]:
    """What each case's arrays hold after its launch; one that ends the program is unbuilt.

    Raises:
        UnsupportedFeature: a program holds something that there is no code for.
        DeviceFailed: there is no compiler or no emulator.
    """
    made = [make(subject, way, TARGETS["aarch64"]) for subject, way in wanted]
    with tempfile.TemporaryDirectory() as folder:
        found = _results(Path(folder), [one for one in made if isinstance(one, Made)])
        return [one if isinstance(one, Unbuilt) else next(found) for one in made]


def _results(folder: Path, launches: Sequence[Made]) -> Iterator[Arrays | Unbuilt]:
    """Run all; behind a launch that ends the program, run the rest anew."""
    if not launches:
        return
    entries = {made.entry: made.data for made in launches}
    binary, emulator = _linked(folder, entries)
    places = {name: place for place, name in enumerate(entries)}
    given, written, first = folder / "launches", folder / "written", 0
    while first < len(launches):
        given.write_bytes(_asked(launches[first:], places))
        done = subprocess.run(  # noqa: S603  # a program that was just linked
            [emulator, str(binary), str(given), str(written)], capture_output=True, check=False
        )
        data, place = written.read_bytes(), 0
        for made in launches[first:]:
            size = sum(-(-made.case.arrays[name].nbytes // 8) * 8 for _, name in made.arrays)
            if place + size > len(data) or (done.returncode and place + size == len(data) == 0):
                break
            yield _arrays(made, data[place : place + size])
            place, first = place + size, first + 1
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            yield Unbuilt(f"the launch ended its program with {done.returncode}", said)
            first += 1


def _arrays(made: Made, data: bytes) -> Arrays:
    found: dict[str, NDArray[np.generic]] = dict(made.case.arrays)
    place = 0
    for _, name in made.arrays:
        array = made.case.arrays[name]
        part = data[place : place + array.nbytes]
        found[name] = np.frombuffer(part, array.dtype).reshape(array.shape)
        place += -(-array.nbytes // 8) * 8
    return found


def _asked(launches: Sequence[Made], places: Mapping[str, int]) -> bytes:
    """The file that the driver reads."""
    parts = [struct.pack("<Q", len(launches))]
    for number, made in enumerate(launches):
        tasks = pieces(made.groups, Random(made.groups))
        frame = made.frame({})
        parts.append(
            struct.pack(
                "<5Q", places[made.entry], len(tasks), len(frame), len(made.arrays), number % 2
            )
        )
        parts += [struct.pack("<2q", *bounds) for bounds in tasks]
        parts.append(_padded(frame))
        for offset, name in made.arrays:
            data = made.case.arrays[name].tobytes()
            parts += [struct.pack("<2Q", offset, len(data)), _padded(data)]
    return b"".join(parts)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _linked(folder: Path, entries: Mapping[str, bytes]) -> tuple[Path, str]:
    """One program of objects by the names of their tasks, and what runs it."""
    found = tools()
    if found is None:
        raise DeviceFailed(
            f"one of {_COMPILERS[0]} and {_EMULATORS[0]} is not installed",
            "install gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user",
        )
    compiler, emulator = found
    names = list(entries)
    for name, data in entries.items():
        (folder / f"{name}.o").write_bytes(data)
    table = folder / "table.c"
    lines = [
        "#include <stdint.h>",
        *(f"void {name}(void *, int64_t, int64_t);" for name in names),
        "void (*const vyre_entries[])(void *, int64_t, int64_t) = {",
        *(f"{name}," for name in names),
        "};",
    ]
    table.write_text("\n".join([*lines, ""]))
    binary = folder / "launches.elf"
    objects = [str(folder / f"{name}.o") for name in names]
    said = subprocess.run(  # noqa: S603  # a compiler that `tools` found
        [compiler, "-O1", "-static", "-o", str(binary), str(_DRIVER), str(table), *objects, "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode:
        raise DeviceFailed(
            f"{compiler} could not link {len(names)} objects: {said.stderr.strip()[-400:]}",
            "install libc6-dev-arm64-cross",
        )
    return binary, emulator
