"""Schedules to try a program of tiles under: odd workgroups, several positions along each axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from random import Random

from vyre.analysis import Facts
from vyre.errors import InvalidInput
from vyre.ir.declare import Dim3
from vyre.ir.expr import Id
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions
from vyre.model import Code, DeviceKind, Order, Schedule
from vyre.plan.geometry import why_not_fitted
from vyre.plan.space import refuse_unbounded, why_not_free
from vyre.plan.tiles import Through
from vyre.plan.vectors import LaunchTraits, why_not_vectors
from vyre.runtime.arrays.in_place import WIDEST
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.launcher import Numbers
from vyre.testing.programs import Case

GROUPS: tuple[Dim3, ...] = (
    *((1, 1, 1), (2, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (64, 1, 1), (128, 1, 1)),
    *((3, 5, 1), (8, 8, 1), (16, 4, 1), (32, 2, 1), (16, 16, 1), (32, 8, 1), (1, 8, 1), (13, 2, 1)),
    *((4, 4, 4), (5, 3, 2), (8, 2, 2), (1, 1, 3), (16, 1, 4)),
)
_ITEMS = (1, 1, 2, 2, 3, 4, 4, 8)
_LINES = (1, 1, 2, 2, 3, 4, 5, 8)
_PLANES = (1, 1, 2, 3, 4)
_DEPTHS = (1, 2, 3, 4, 8, 8, 16, 32)
_LOADERS = (0, 0, 0, 1, 2, 3)
_TILES = ((64, 1, 1), (1024, 1, 1), (16, 4, 2), (97, 61, 1), (32, 32, 1), (3, 2, 5))
_LANES = (1, 2, 4, 8, 16, 32, 64)
_VECTORS = ((1, 1), (2, 2), (4, 4), (4, 4), (8, 4), (4, 2), (8, 8), (16, 16))
_MOST = 24  # positions of one invocation: each is source to compile
_MOST_LANES = 128
_MOST_THREADS = 512


@dataclass(frozen=True, slots=True)
class Ground:
    """What is proved of one case's launch: all that may be asked of a schedule for it."""

    program: Program
    extent: Dim3
    axes: frozenset[int]
    is_unchecked: bool
    facts: Facts
    numbers: Numbers

    @classmethod
    def of(cls, device: Device, case: Case) -> Ground:
        scalars = {
            decl.name: int(case.arrays[decl.name][0])
            for decl in case.program.buffers
            if decl.is_scalar_argument and decl.element.is_int
        }
        shapes = {name: array.shape for name, array in case.arrays.items()}
        facts, numbers = device.facts(case.program), Numbers(case.extent, shapes, scalars)
        used = {expr.axis for expr in all_expressions(case.program.entry) if isinstance(expr, Id)}
        used |= {axis for axis, size in enumerate(case.program.workgroup_size) if size > 1}
        unchecked = facts.has_unchecked_form and facts.unchecked_for(numbers)
        return cls(case.program, case.extent, frozenset(used | {0}), unchecked, facts, numbers)

    def covers(self, schedule: Schedule, device: Device) -> bool:
        """Whether whole tiles of a schedule cover the extent, along axes that the program uses."""
        used = all(axis in self.axes or schedule.tile[axis] == 1 for axis in range(3))
        few = prod(schedule.block) <= min(_MOST_THREADS, device.info.limits.max_threads)
        return used and few and why_not_fitted(self.extent, schedule) is None

    def why_not(self, schedule: Schedule, device: Device) -> str | None:
        """Why a launcher would refuse a schedule for this launch, whatever an emitter makes."""
        for why in why_not_free(self.facts, self.numbers):
            return why
        try:
            refuse_unbounded(schedule.code, device.info.simd, self.program)
        except InvalidInput as error:
            return error.problem
        if device.info.simd is not None:
            return None
        aligned = LaunchTraits(dict.fromkeys(self.numbers.shapes, WIDEST))
        code, info, numbers = schedule.code, device.info, self.numbers
        return (
            why_not_fitted(self.extent, schedule)
            or why_not_vectors(code, self.facts, self.program, numbers, info.kind, aligned)
            or self.through.why_not(code, numbers, info.kind, aligned, info.limits)
        )

    @property
    def through(self) -> Through:
        """What may go through workgroup memory."""
        return Through(self.facts, self.program)


def draw(
    rng: Random, ground: Ground, device: Device, *, wide: bool = True, staged: float = 0.5
) -> Schedule:
    """A schedule of a launch, through workgroup memory with probability `staged`.

    Where it is not `wide`, a thread's items lie along x alone and nothing is staged.
    """
    if device.info.simd is not None:
        return _for_lanes(rng, ground)
    most = min(_MOST_THREADS, device.info.limits.max_threads or _MOST_THREADS)
    depth = rng.choice(_DEPTHS) if wide and rng.random() < staged else 0
    loaders = rng.choice(_LOADERS) if depth else 0
    workgroup = _group(rng, ground.axes, most // (1 + loaders))
    items = rng.choice(_ITEMS)
    lines = rng.choice(_LINES) if wide and 1 in ground.axes else 1
    planes = rng.choice(_PLANES) if wide and 2 in ground.axes else 1
    while items * lines * planes > _MOST:
        items, lines = max(1, items // 2), max(1, lines // 2)
    checked = not (ground.is_unchecked and rng.random() < 0.6)
    code = Code(
        items=items,
        vector=_vector(rng, items, device.info.kind, brings=depth > 0),
        unroll=rng.choice((1, 1, 1, 2, 4, 9)),
        order=rng.choice(tuple(Order)),
        checked=checked,
        lines=lines,
        planes=planes,
        depth=depth,
        loaders=loaders,
        streamed=device.info.limits.cache_bytes > 0 and rng.random() < 0.2,
    )
    return Schedule(workgroup, code)


def draw_fitted(rng: Random, ground: Ground, device: Device, *, staged: float = 0.3) -> Schedule:
    """A schedule whose code is compiled for its workgroup and whole tiles of it, often of warps."""
    plain = draw(rng, ground, device, staged=staged).code
    plain = replace(plain, group=None, checked=not ground.is_unchecked)
    fitting = [
        Schedule(group, Code(**{**plain.parts(), **code, "fitted": True}))
        for group in (*GROUPS, (64, 2, 1), (256, 1, 1))
        for code in _rows(plain)
    ]
    rng.shuffle(fitting)
    if rng.random() < 0.85:  # lanes of whole warps can pass on what they load in vectors
        fitting.sort(key=lambda s: s.workgroup[0] % 32 > 0 or s.code.vector == 1)
    taken = (
        one for one in fitting if ground.covers(one, device) and not ground.why_not(one, device)
    )
    return next(taken, Schedule((1, 1, 1), plain))


def _rows(plain: Code) -> Iterator[dict[str, int]]:
    wider = ((1, 4), (1, 4), (2, 4)) if plain.depth else ()
    for (items, vector), lines in product((*_VECTORS, *wider), {1, plain.lines}):
        yield {"items": items, "vector": vector, "lines": lines}


def _group(rng: Random, axes: frozenset[int], most: int) -> Dim3:
    """A workgroup that is wider than 1 only along axes that the program uses."""
    fitting = [
        group
        for group in GROUPS
        if prod(group) <= most and all(axis in axes or group[axis] == 1 for axis in range(3))
    ]
    tall = [group for group in fitting if group[1] * group[2] > 1]
    return rng.choice(tall if tall and rng.random() < 0.7 else fitting)


def _vector(rng: Random, items: int, kind: DeviceKind, *, brings: bool) -> int:
    """A width that fills the items, or is filled by them; on processors, wide ones too."""
    widths = (1, 2, 4, 8) if kind is DeviceKind.CPU else (1, 2, 4)
    fitting = (w for w in widths if items % w == 0 or (brings and w % items == 0))
    return rng.choice(list(fitting))


def _for_lanes(rng: Random, ground: Ground) -> Schedule:
    """A tile whose invocations are lanes of a processor's vectors, and rows of them."""
    width = rng.choice(_LANES)
    rows = min(rng.choice((1, 1, 2, 4, 8)), _MOST_LANES // width)
    code = Code(
        vector=width,
        rows=rows if ground.extent[1] > 1 else 1,
        unroll=rng.choice((1, 1, 2, 4)),
        order=rng.choice(tuple(Order)),
        checked=not (ground.is_unchecked and rng.random() < 0.6),
        staged=rng.random() < 0.5,
    )
    tiles: Sequence[Dim3] = (*_TILES, ground.extent, *GROUPS)
    fitting = [
        tile for tile in tiles if all(axis in ground.axes or tile[axis] == 1 for axis in range(3))
    ]
    return Schedule(rng.choice(fitting), code)
