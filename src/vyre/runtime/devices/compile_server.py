"""The compile helper's own process: `python -m vyre.runtime.devices.compile_server DEVICE`.

It reads one request a line, compiles so that the driver's cache holds the result, and answers with
one line. It ends when its parent does, because its input ends then.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from vyre.analysis import analyse
from vyre.backend.base import Compiled, CompilesAhead, Job, Memory, Unbuilt
from vyre.errors import VyreError
from vyre.ir.among import compiled_for
from vyre.ir.storage import STORAGE
from vyre.ir.validate import check
from vyre.model import Dim3
from vyre.runtime.compile.bundle import Bundle, Warm, from_request
from vyre.runtime.compile.serving import Answers, refusal, serve, why
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import words_of
from vyre.runtime.devices.opened import open as open_device

_NARROW, _WIDE = 1 << 15, 1 << 16  # well below and just above where PoCL draws the line


def main(device_name: str) -> None:
    """Answer requests until there are no more."""

    def begin() -> tuple[str, Answers]:
        try:
            device = open_device(device_name)
        except VyreError as error:
            sys.exit(error.problem)
        return device.info.toolchain, lambda asked: compile_bundle(device, from_request(asked))

    serve(begin)


def compile_bundle(device: Device, bundle: Bundle) -> dict[str, Any]:
    """Build as the caller will, and launch on nothing so that the driver compiles all it needs.

    Launches wider than a compiled kernel allows are left out; `max_threads` tells the caller. Where
    some codes are refused, the others are there all the same.
    """
    began = time.process_time()
    try:
        check(bundle.program)
        own = {code: compiled_for(bundle.program, code.group) for code in bundle.codes}
        facts = {id(program): analyse(program) for program in own.values()}
        jobs = [Job(own[code], code, facts[id(own[code])]) for code in bundle.codes]
        if isinstance(device.backend, CompilesAhead):
            compiled = device.backend.compile_only(jobs)
        else:
            compiled = _compile_by_launching(device, bundle, jobs)
    except VyreError as error:
        return refusal(error.problem)
    refused = [
        (code, made)
        for code, made in zip(bundle.codes, compiled, strict=True)
        if isinstance(made, Unbuilt)
    ]
    if len(refused) == len(bundle.codes):
        code, made = refused[0]
        return refusal(f"{code}: {made.reason}", made.log)
    return {
        "ok": True,
        "max_threads": [0 if isinstance(one, Unbuilt) else one.max_threads for one in compiled],
        "made": [
            why(one.reason, one.log) if isinstance(one, Unbuilt) else asdict(one)
            for one in compiled
        ],
        "cpu_s": time.process_time() - began,
    }


def _compile_by_launching(
    device: Device, bundle: Bundle, jobs: Sequence[Job]
) -> Sequence[Compiled | Unbuilt]:
    built = device.backend.build(jobs)
    for launch in bundle.warm:
        binary = built[launch.code]
        if isinstance(binary, Unbuilt):
            continue
        if not binary.max_threads or math.prod(launch.workgroup) <= binary.max_threads:
            _launch_on_nothing(device, bundle, binary, launch)
    return [one if isinstance(one, Unbuilt) else device.backend.keep(one) for one in built]


def _launch_on_nothing(device: Device, bundle: Bundle, binary: Any, launch: Warm) -> None:
    """Run over an extent of 0, on arrays as short as they may be: no lane has anything to do."""
    arguments: list[Memory | np.generic] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for name in binary.arguments:
        decl = bundle.program.buffer(name)
        dtype = STORAGE[decl.element]
        if decl.is_scalar_argument:
            arguments.append(dtype.type(0))
        else:
            shapes[name] = decl.shape if decl.rank > 1 else (decl.count,)
            # Zeros, because lanes beyond the extent may read where whole workgroups run.
            arguments.append(device.zeros(shapes[name], dtype).argument)
    words = words_of(binary.layout, (0, 0, 0), shapes)
    grid = _cut(launch.grid, launch.workgroup)
    device.backend.launch(binary, grid, launch.workgroup, arguments, words).wait()


def _cut(grid: Dim3, workgroup: Dim3) -> Dim3:
    """A small grid that is compiled like `grid`.

    PoCL has a form of its own for grids below 65,535 invocations along x and y (3.0, by the names
    in its cache), so a wide grid is as good as a huge one. It is laid along y: kernels that take
    several items rely on no workgroup lying wholly beyond the extent along x, and the first one
    does not.
    """
    x, y, z = (size * count for size, count in zip(workgroup, grid, strict=True))
    if max(x, y) >= _NARROW:
        return 1, _rows(max(x, y), workgroup[1]), 1
    return 1, 1, _rows(z, workgroup[2])


def _rows(width: int, size: int) -> int:
    return -(-min(width, _WIDE) // size) if width >= _NARROW else 1


if __name__ == "__main__":
    main(sys.argv[1])
