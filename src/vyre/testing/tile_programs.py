"""Programs of the shapes that tiles act on: stencils, windows, products, pairs, rows, transposes.

Each invocation writes only elements that no other one touches, and reads besides them what nobody
writes. So every schedule must give the same bits: however many positions a thread takes along each
axis, whichever loads it shares, and whatever goes through workgroup memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from vyre.emit import CUDA
from vyre.ir.declare import Access, Dim3, Options
from vyre.ir.expr import Binary, Expr, FlatIndex, Load, Unary
from vyre.ir.node import If, Node, Return, Store
from vyre.ir.program import Program
from vyre.ir.types import SCALARS, DataType
from vyre.ir.walk import all_expressions
from vyre.testing.drafts import Draft
from vyre.testing.names import hostile_names, renamed, variables_of
from vyre.testing.programs import ANYTHING, Case
from vyre.testing.tile_families import FAMILIES, in_rows

_LINES = (1, 2, 31, 33, 64, 97, 127, 128, 200, 257)
_SIDES = (1, 2, 3, 5, 16, 17, 31, 32, 33, 61, 64, 97)
_EDGES = (1, 2, 3, 4, 5, 8, 9, 13, 17)
_WHOLE = {1: ((32, 64, 128, 256, 512, 1024),), 2: ((32, 64, 128, 128, 256), (1, 2, 3, 4, 8))}
_WHOLE[3] = ((32, 64, 128), (1, 2, 4), (1, 2, 4))  # what warps of several items fill
_MOST = 6000  # positions of a launch


def generate_tiled(rng: Random, *, whole: bool = False) -> Case:
    """One race-free case, under names that others use too; the same state gives the same case.

    Where it is `whole`, warps of several items cover its extent without a rest.
    """
    case = grow_tiled(rng, whole=whole)
    program, names = case.program, Random(rng.getrandbits(32))
    variables = hostile_names(names, variables_of(program))
    buffers = hostile_names(names, (decl.name for decl in program.buffers))
    return replace(
        case,
        program=renamed(program, variables, buffers),
        arrays={buffers[name]: values for name, values in case.arrays.items()},
        ulp={buffers[name]: bound for name, bound in case.ulp.items()},
    )


def grow_tiled(rng: Random, *, whole: bool = False) -> Case:
    """One race-free case under plain names."""
    rank = rng.choices((1, 2, 3), (2, 9, 3) if whole else (4, 6, 2))[0]
    draft = Draft(rng, _whole(rng, rank) if whole else _extent(rng, rank), rank, neat=whole)
    values: list[Expr] = []
    body: list[Node] = []
    if rng.random() < 0.06:
        body.append(If(draft.here(), (Return(),)))
    in_a_row = whole and rank > 1 and rng.random() < 0.5
    for _ in range(rng.choices((1, 2), (4, 1))[0]):
        family = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
        nodes, value = (in_rows if in_a_row else family)(draft)
        body += nodes
        values.append(value)
    stores = list(_stores(draft, values))
    if rng.random() < 0.1:
        stores = [If(draft.here(), tuple(stores))]
    program = Program.wrapped(
        draft.buffers,
        _declared(rng, rank),
        [*draft.heads, *body, *stores],
        Options(fast_math=rng.random() < 0.12),
    )
    loose = draft.is_functional or _is_approximated(program)
    written = (decl.name for decl in program.buffers if decl.is_written)
    ulp = dict.fromkeys(written, ANYTHING) if loose else {}
    return Case(program=program, arrays=draft.arrays, extent=draft.extent, ulp=ulp)


def _extent(rng: Random, rank: int) -> Dim3:
    if rank == 1:
        return rng.choice(_LINES), 1, 1
    while True:
        x, y = rng.choice(_SIDES), rng.choice(_SIDES)
        if rank == 2 and x * y <= _MOST:
            return x, y, 1
        x, y, z = (rng.choice(_EDGES) for _ in range(3))
        if rank == 3:
            return x, y, z


def _whole(rng: Random, rank: int) -> Dim3:
    sizes = [rng.choice(choice) for choice in _WHOLE[rank]]
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def _declared(rng: Random, rank: int) -> Dim3:
    groups: dict[int, tuple[Dim3, ...]] = {
        1: ((64, 1, 1), (32, 1, 1), (7, 1, 1)),
        2: ((16, 4, 1), (32, 8, 1), (64, 1, 1), (5, 3, 1)),
        3: ((8, 4, 2), (16, 2, 2), (64, 1, 1)),
    }
    return rng.choice(groups[rank])


def _is_approximated(program: Program) -> bool:
    """Whether some device computes a part of it by instructions that are not exact."""
    ops = {expr.op for expr in all_expressions(program.entry) if isinstance(expr, (Unary, Binary))}
    return program.options.fast_math and bool(ops & CUDA.approximate.keys())


# -- what is written


def _stores(draft: Draft, values: list[Expr]) -> Iterator[Node]:
    """Each value to an array of its own, and at times all of them to another."""
    rng = draft.rng
    wanted = list(values)
    if rng.random() < 0.25:
        total = values[0]
        for value in values[1:]:
            total = draft.mixed(total, value)
        wanted.append(draft.mixed(total, draft.literal()))
    for value in wanted:
        element = draft.element if rng.random() < 0.75 else rng.choice(SCALARS)
        access = rng.choice((Access.WRITE_ONLY, Access.READ_WRITE))
        index, name = _own(draft, access, element)
        if access is Access.READ_WRITE and rng.random() < 0.6:
            before = draft.converted(element.computed, Load(name, index))
            value = draft.mixed(value, before)
        given = draft.converted(draft.dtype, value, element.computed)
        store = Store(name, index, given)
        yield If(draft.test(value), (store,)) if rng.random() < 0.12 else store


def _own(draft: Draft, access: Access, element: DataType) -> tuple[Expr, str]:
    """An array that is written, and the index of the element that is this invocation's alone."""
    rng = draft.rng
    axes = list(range(draft.rank))[::-1]
    if draft.rank > 1 and rng.random() < 0.15:
        rng.shuffle(axes)
    if draft.rank == 1 or rng.random() < 0.2:
        x, y, z = draft.extent
        length = max(1, x * y * z + rng.choice((0, 0, 0, -3, 4)))
        return draft.own_number(), draft.declare(access, element, [length])
    name = draft.declare(access, element, draft.lengths(axes))
    places = [draft.signed[axis] if rng.random() < 0.3 else draft.at[axis] for axis in axes]
    return FlatIndex(name, tuple(places)), name
