"""The oracle: runs a program on NumPy arrays, exactly as the language is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vyre.backend.reference.bind import bind, workgroup_memory, written_buffers
from vyre.backend.reference.lanes import chunks
from vyre.backend.reference.machine import Machine
from vyre.backend.reference.refuse import refuse_unsupported
from vyre.backend.reference.said import Log
from vyre.backend.reference.watch import Stop, Watch, Watched, shadows_of
from vyre.backend.speak import speak
from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir.declare import Dim3
from vyre.ir.expr import Var
from vyre.ir.node import Barrier
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, statements

__all__ = ["run"]


def run(
    program: Program,
    arrays: Mapping[str, NDArray[Any]],
    extent: Dim3,
    workgroup: Dim3 | None = None,
    watch: Watch | None = None,
) -> None:
    """Runs a valid program over `extent` (x, y, z) elements; written arrays change in place.

    Args:
        program: one that passed validation.
        arrays: a C-contiguous array for each buffer but workgroup memory. f16 is float16, bf16 its
            patterns as uint16, bool words as uint32; a scalar is an array of one element.
        extent: how many elements there are along each axis; with a 0 among them nothing runs.
        workgroup: in place of the declared one.
        watch: hears of what is seldom meant.

    Raises:
        InvalidInput: an array or a size does not fit the program.
        UnsupportedFeature: the program holds something that the reference cannot run.
        Stop: the watch asked for it. What was stored by then is as it is.
        AssertionFailed: an assertion did not hold; what was stored by then is as it is.
        InvalidProgram: some lanes of a workgroup missed a barrier. Nothing has changed then either.

    >>> from vyre import ir
    >>> out = ir.BufferDecl.write("out", 0, ir.DataType.U32)
    >>> program = ir.Program.wrapped([out], (64, 1, 1), [ir.store("out", ir.gid(), ir.gid() * 2)])
    >>> array = np.zeros(4, np.uint32)
    >>> run(program, {"out": array}, (4, 1, 1))
    >>> array.tolist()
    [0, 2, 4, 6]
    """
    refuse_unsupported(program)
    shape = program.workgroup_size if workgroup is None else workgroup
    _check_sizes(extent, shape)
    memory = bind(program, arrays)
    if 0 in extent:
        return
    exprs = all_expressions(program.entry)
    read_names = frozenset(expr.name for expr in exprs if isinstance(expr, Var))
    written = written_buffers(program) if watch is not None else ()
    shadows = shadows_of({name: memory[name] for name in written if name in memory}, shape)
    saved, log = _saved(program, arrays), Log(program)
    try:
        with np.errstate(all="ignore"):  # NaN, infinity and wrapping are results like any other
            for lanes in chunks(program, extent, shape):
                own = workgroup_memory(program, lanes)
                if watch is None:
                    machine = Machine(lanes, memory | own, read_names, log)
                else:
                    seen = shadows | shadows_of(own, shape)
                    machine = Watched(lanes, memory | own, read_names, log, watch, seen)
                machine.run(program.entry)
                if log.failed and not lanes.grouped:  # who comes later is no lower
                    break
    except InvalidProgram:
        for name, before in saved.items():
            np.copyto(arrays[name], before)
        raise
    except Stop:
        speak(replace(log.said(), failed=None), program, extent)
        raise
    speak(log.said(), program, extent)


def _check_sizes(extent: Dim3, workgroup: Dim3) -> None:
    if min(extent) < 0:
        raise InvalidInput(
            f"extent {extent}", "give three sizes of at least 0, such as (1000, 1, 1)"
        )
    if min(workgroup) < 1:
        raise InvalidInput(
            f"workgroup {workgroup}", "give three sizes of at least 1, such as (64, 1, 1)"
        )


def _saved(program: Program, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Copies of what is written, where a barrier may yet show that the program is wrong."""
    if not any(isinstance(node, Barrier) for node in statements(program.entry)):
        return {}
    return {name: arrays[name].copy() for name in written_buffers(program) if name in arrays}
