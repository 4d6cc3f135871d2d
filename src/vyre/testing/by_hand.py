"""Cases that an author writes, to be run as generated ones are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.node import Node
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.ir.validate import check
from vyre.testing.programs import Case

R, W, RW, K = Access.READ_ONLY, Access.WRITE_ONLY, Access.READ_WRITE, Access.UNIFORM


def kernel(
    body: Iterable[Node],
    extent: Dim3,
    workgroup: Dim3 = (64, 1, 1),
    *,
    shared: Sequence[BufferDecl] = (),
    fixed: Sequence[str] = (),
    **buffers: tuple[Access, DataType, ArrayLike],
) -> Case:
    """A valid case of buffers by name: an access, a type, and what the array holds.

    The lengths of `fixed` ones are declared.
    """
    decls, arrays = [], {}
    for number, (name, (access, dtype, values)) in enumerate(buffers.items()):
        array = np.asarray(values, STORAGE[dtype])
        decl = BufferDecl.storage(name, number, access, dtype)
        if access is Access.UNIFORM or name in fixed:
            decl = decl.with_count(array.size)
        elif array.ndim > 1:
            decl = decl.with_shape(*(0 for _ in array.shape))
        decls.append(decl)
        arrays[name] = array
    program = Program.wrapped([*decls, *shared], workgroup, tuple(body))
    check(program)
    return Case(program=program, arrays=arrays, extent=extent)
