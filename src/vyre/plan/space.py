"""The schedules that may run a program on a device at a launch, and why the others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from math import log2, prod

from vyre.analysis import Facts
from vyre.analysis.facts import MemoryAccess
from vyre.analysis.forms import Launch, Symbol
from vyre.analysis.reader import ATOMIC, LOAD
from vyre.emit.wanted import apart, in_vectors
from vyre.errors import InvalidInput
from vyre.ir.expr import Id
from vyre.ir.loops import loops_to_unroll, rounds_of
from vyre.ir.node import Loop, While
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions, size_of, statements
from vyre.model import Code, DeviceKind, Dim3, Limits, Order, Schedule, Simd
from vyre.plain import shown
from vyre.plan.geometry import tile_grid, tiles_of, why_not_fitted, wrapping_axis
from vyre.plan.launch_numbers import NumberNotKnown
from vyre.plan.tiles import Through, may_stream, tiles
from vyre.plan.vectors import LaunchTraits, rows_of, why_not_fixed, why_not_vector


@dataclass(frozen=True, slots=True, kw_only=True)
class _Menu:
    """What is worth trying on one kind of device, before anything is ruled out."""

    widths: tuple[int, ...]
    tiled: tuple[int, ...]  # threads of the workgroups that are more than one row
    items: tuple[int, ...]
    to_count: tuple[int, ...]  # and where a workgroup's sums are added to all others' in the end
    in_vectors: tuple[int, ...]  # and along a single row, in whole vectors that coalesce
    vectors: tuple[int, ...]
    unrolls: tuple[int, ...]


_MENUS = {
    DeviceKind.CPU: _Menu(
        widths=tuple(1 << power for power in range(4, 13)),
        tiled=(64, 256, 1024),
        items=(1, 2, 4, 8, 16),
        to_count=(),
        in_vectors=(),
        vectors=(1, 4, 8, 16),
        unrolls=(1, 4),
    ),
    # GPU compilers unroll counted loops on their own; items are what overlaps chains there.
    DeviceKind.GPU: _Menu(
        widths=(32, 64, 128, 192, 256, 384, 512, 768, 1024),
        tiled=(64, 128, 256, 512, 1024),
        items=(1, 2, 4, 8),
        to_count=(16, 32),
        in_vectors=(16,),
        vectors=(1, 2, 4, 8, 16),
        unrolls=(1,),
    ),
}
_COPIES = 16  # of a loop's body in one code; beyond that compiling takes longer than it can save
_NARROW = (1, 2, 4, 8, 16)  # not worth trying, but the most that some devices allow
_BRICKS: tuple[Dim3, ...] = ((32, 2, 2), (64, 2, 2), (32, 4, 2), (16, 4, 4), (8, 8, 4))


MOST_ITEMS, MOST_VECTOR, MOST_UNROLL, MOST_COPIES = 64, 16, 256, 1024
MOST_LANES, MOST_ROWS = 256, 16
MOST_DEPTH, MOST_LOADERS = 1024, 64
"""What a pinned code may ask for: each item and each unrolled round is source to compile."""

MOST_PARTS = 16_384
"""Statements and expressions that loops may become: a compiler takes a second for them."""


def refuse_unbounded(code: Code, simd: Simd | None = None, program: Program | None = None) -> None:
    """Refuse a code that an emitter would leave a part out of, or a compiler work on for hours.

    Args:
        code: what is asked for.
        simd: the lanes of the device, where it has some.
        program: whose loops are written out, where that is known.

    Raises:
        InvalidInput: it asks for what the device has not, or for more than a compiler gets through
            in seconds.
    """
    for size, most, what in (
        (prod(code.items_by_axis), MOST_ITEMS, "items"),
        (code.vector, MOST_LANES if simd else MOST_VECTOR, "elements in a vector"),
        (code.rows, MOST_ROWS if simd else 1, "rows side by side"),
        (code.vector * code.rows, 4 * MOST_LANES, "lanes, elements times rows"),
        (code.unroll, MOST_UNROLL, "rounds unrolled"),
        (
            prod(code.items_by_axis) * code.unroll,
            MOST_COPIES,
            "copies of a loop's body, items times unroll",
        ),
        (code.depth, MOST_DEPTH, "rounds brought to workgroup memory at once"),
        (code.loaders, MOST_LOADERS, "loaders for each invocation"),
    ):
        if size > most:
            raise InvalidInput(f"{shown(size)} {what}; {most} allowed", f"use at most {most}")
    loops: list[Loop | While] = []
    if program is not None and simd is None and code.unroll > 1:
        loops = list(loops_to_unroll(program))
    if loops and (why := why_not_unrolled(code, loops)) is not None:
        each = _written_out(1, loops) * prod(code.items_by_axis)
        fewer = max(MOST_PARTS // each, 1)
        raise InvalidInput(
            f"loops unrolled by {code.unroll}: {why}",
            f"use unroll={fewer}" if fewer > 1 else "use unroll=1, or fewer items",
        )
    if code.streamed and simd is not None:
        raise InvalidInput(
            "a streamed code for a processor, which has no such stores", "use streamed=False"
        )
    if code.staged and simd is None:
        raise InvalidInput(
            "a staged code for a device that has no rows side by side, which would share it",
            "use staged=False; a depth of at least 1 has workgroups bring what they share",
        )


@dataclass(frozen=True, slots=True)
class Resources:
    """What compiled kernels allow: threads of a workgroup by code; 0 means that it is not said."""

    max_threads_by_code: Mapping[Code, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """Schedules left out for one reason, and how many."""

    what: str
    why: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} left out, {self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class Space:
    """What may be chosen from; the default comes first among the legal."""

    default: Schedule
    legal: tuple[Schedule, ...]
    refused: tuple[Refused, ...]
    resources: Resources = field(default_factory=Resources)

    @property
    def codes(self) -> tuple[Code, ...]:
        """What has to be compiled to run all of it, each once."""
        return tuple(dict.fromkeys(schedule.code for schedule in self.legal))


def default_schedule(
    declared: Dim3 | None,
    kind: DeviceKind,
    extent: Dim3,
    limits: Limits,
    *,
    unchecked: bool,
    max_threads: int = 0,
    one_item: bool = False,
) -> Schedule:
    """What losses are counted against: the declared workgroup, else the device's usual row.

    It has one item and accesses elements one by one. Where nothing is declared and the usual row
    cannot be launched, it is the row most like it that can. This is the one place that says so.

    >>> gpu = Limits(max_threads=128, max_block=(128, 128, 64), max_grid=(65_535, 65_535, 65_535))
    >>> default_schedule(None, DeviceKind.GPU, (1000, 1, 1), gpu, unchecked=True).workgroup
    (128, 1, 1)

    Args:
        declared: the author's workgroup, if there is one.
        kind: what the device is.
        extent: what the launch covers.
        limits: what the device can launch.
        unchecked: leave out the bounds checks.
        max_threads: what the compiled kernel allows in a workgroup; 0 where that is not known.
        one_item: take one item whatever the grid's limit, because the program allows no more.
    """
    usual = Schedule(declared or (kind.default_width, 1, 1), Code(checked=not unchecked))
    if declared is not None:
        return usual
    x, y, z = (max(size, 1) for size in extent)
    fit = Fit((x, y, z), limits, Resources({usual.code: max_threads}))
    return fit.nearest(usual, _MENUS[kind], one_item=one_item)


def space(
    facts: Facts,
    program: Program,
    launch: Launch,
    limits: Limits,
    kind: DeviceKind,
    declared: Dim3 | None,
    traits: LaunchTraits,
    resources: Resources | None = None,
    *,
    checked_too: bool = False,
    among: Collection[Code] | None = None,
) -> Space:
    """Every schedule that gives the default's bits within the device's limits.

    Args:
        facts: what is proved of `program`.
        program: what is launched.
        launch: its numbers; a proof that asks for one it does not know does not hold.
        limits: what the device can launch.
        kind: what the candidates are drawn for.
        declared: the author's workgroup, if there is one.
        traits: how the actual arrays are aligned.
        resources: what is known from compiling.
        checked_too: also offer codes with the bounds checks that this launch does not need.
        among: codes to offer beside the default; any without it.

    Raises:
        InvalidInput: the default itself cannot be launched here.
    """
    known = resources or Resources()
    extent = _extent(launch)
    unchecked = facts.has_unchecked_form and _holds(facts.unchecked_for, launch)
    default = default_schedule(
        declared,
        kind,
        extent,
        limits,
        unchecked=unchecked,
        max_threads=known.max_threads_by_code.get(Code(checked=not unchecked), 0),
        one_item=program.runs_whole_workgroups,
    )
    wide = _wide_axes(program, declared, extent)
    checks = (True, False) if unchecked and checked_too else (not unchecked,)
    shapes = tuple(dict.fromkeys([default.workgroup, *_shapes(kind, wide, extent)]))
    offered = (
        *_codes(kind, checks, bool(facts.counters)),
        *(_in_vectors(kind) if unchecked and wide <= {0} and _streams(facts, program) else ()),
    )
    menu = [c for c in offered if among is None or c in among]
    codes = tuple(dict.fromkeys([default.code, *menu]))
    fits = Fit(extent, limits, known)
    why_not = tuple(why_not_free(facts, launch))
    if why_not or 0 in extent:
        fits.require(default)
        why_not = why_not or (f"the extent {extent} holds nothing",)
        others = len(shapes) * len(codes) - 1
        refused = tuple(Refused("every other schedule", why, others) for why in why_not)
        return Space(default, (default,), refused, known)
    fits.require(default)
    rules = _Rules(facts, program, launch, kind, traits, limits)
    barred = {code: rules.problem(code) for code in codes}
    legal: list[Schedule] = [default]
    left_out: Counter[tuple[str, str]] = Counter()
    # A first call waits for this: codes of as many items have the same tiles, and share the answer.
    sized: dict[tuple[Dim3, int], Problem | None] = {}
    for code in codes:
        if (why := barred[code]) is not None:
            left_out[why] += len(shapes) - (code == default.code)
            continue
        usual, made, items = code == default.code, _made(code), code.items
        told = bool(known.max_threads_by_code.get(code))
        for workgroup in shapes:
            if usual and workgroup == default.workgroup:
                continue
            schedule = made.get(workgroup) or made.setdefault(workgroup, Schedule(workgroup, code))
            tile = (workgroup, items)
            if tile not in sized:
                sized[tile] = fits.tile_problem(schedule) or fits.waste(schedule)
            problem = (fits.compiled_problem(schedule) if told else None) or sized[tile]
            if problem is None:
                legal.append(schedule)
            else:
                left_out[problem] += 1
    if kind is DeviceKind.GPU and unchecked:
        streams = may_stream(facts, program, launch, limits)
        for schedule in tiles(facts, program, rules.through, extent, streams=streams):
            if among is not None and schedule.code not in among:
                continue
            problem = rules.problem(schedule.code) or fits.problem(schedule) or fits.waste(schedule)
            if problem is None:
                legal.append(schedule)
            else:
                left_out[problem] += 1
        legal = list(dict.fromkeys(legal))
    refused = tuple(Refused(what, why, count) for (what, why), count in left_out.items())
    return Space(default, tuple(legal), refused, known)


Problem = tuple[str, str]
"""What is left out, and why."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a schedule covers an extent within the limits."""

    extent: Dim3
    limits: Limits
    resources: Resources

    def problem(self, schedule: Schedule) -> Problem | None:
        """What keeps the device from launching it."""
        return self.compiled_problem(schedule) or self.tile_problem(schedule)

    def compiled_problem(self, schedule: Schedule) -> Problem | None:
        """What keeps its compiled kernel from being launched, as far as compiling has told."""
        compiled = self.resources.max_threads_by_code.get(schedule.code, 0)
        if not compiled or _within(threads := prod(schedule.block), compiled):
            return None
        if not _within(threads, self.limits.max_threads):
            return None  # of any kernel, which is the better reason
        return (
            f"larger workgroups of {schedule.code}",
            f"its compiled kernel allows {compiled} threads in one",
        )

    def tile_problem(self, schedule: Schedule) -> Problem | None:
        """What keeps the device from launching tiles like it, of whatever kernel."""
        limits, workgroup = self.limits, schedule.block
        threads = prod(workgroup)
        if not _within(threads, limits.max_threads):
            return "larger workgroups", f"the device allows {limits.max_threads} threads in one"
        grid = tile_grid(self.extent, schedule)
        for axis, name in enumerate("xyz"):
            if not _within(workgroup[axis], limits.max_block[axis]):
                return (
                    f"workgroups wider along {name}",
                    f"the device allows {limits.max_block[axis]} along it",
                )
            groups = grid[axis]
            if not _within(groups, limits.max_grid[axis]):
                return (
                    f"smaller tiles along {name}",
                    f"{self.extent[axis]} elements would be more than the"
                    f" {limits.max_grid[axis]} workgroups that the device allows along it",
                )
        if (why_not := why_not_fitted(self.extent, schedule)) is not None:
            return "codes for whole tiles", why_not
        wrapping = wrapping_axis(schedule.tile, tiles_of(self.extent, schedule))
        if wrapping is not None:
            return f"tiles along {'xyz'[wrapping]}", "the last one would reach beyond 2**32"
        return None

    def waste(self, schedule: Schedule) -> Problem | None:
        """Why it is not worth a try: most of its lanes would have nothing to do."""
        tile = schedule.tile
        if tile[0] > 2 * self.extent[0]:
            return "larger tiles along x", f"one is more than twice the extent of {self.extent[0]}"
        for axis, name in ((1, "y"), (2, "z")):
            if tile[axis] >= 2 * self.extent[axis] and tile[axis] > 1:
                return (
                    f"taller tiles along {name}",
                    f"one is at least twice the extent of {self.extent[axis]}",
                )
        return None

    def require(self, default: Schedule) -> None:
        problem = self.problem(default)
        if problem is not None:
            raise InvalidInput(
                f"the default workgroup {default.workgroup} cannot cover {self.extent}:"
                f" {problem[1]}",
                "declare a workgroup that the device can launch, or split the dispatch",
            )

    def nearest(self, usual: Schedule, menu: _Menu, *, one_item: bool) -> Schedule:
        """The row most like the usual one that can be launched: fewest items, then nearest."""
        widths = sorted({*_NARROW, *menu.widths})
        near = sorted(widths, key=lambda width: abs(log2(width / usual.workgroup[0])))
        rows = (
            Schedule((width, 1, 1), replace(usual.code, items=items))
            for items, width in product((1,) if one_item else menu.items, near)
        )
        return next((row for row in rows if self.problem(row) is None), usual)


@lru_cache(maxsize=512)
def _made(code: Code) -> dict[Dim3, Schedule]:  # noqa: ARG001  # one for each
    """Schedules of a code by their workgroups, of which the menus ask for the same ever again."""
    return {}


def _codes(kind: DeviceKind, checks: tuple[bool, ...], counts: bool) -> Iterator[Code]:
    menu = _MENUS[kind]
    several = (*menu.items, *(menu.to_count if counts else ()))
    for checked, unroll, items, vector in product(checks, menu.unrolls, several, menu.vectors):
        if items % vector or (unroll > 1 and items * unroll > _COPIES):
            continue
        # One vector per invocation is the same code in either order.
        for order in Order if items > vector else (Order.STRIDED,):
            yield Code(items=items, vector=vector, unroll=unroll, order=order, checked=checked)


def _in_vectors(kind: DeviceKind) -> Iterator[Code]:
    """What lets each thread of a long row move more at once: one wave then covers it (measured)."""
    menu = _MENUS[kind]
    for items, vector in product(menu.in_vectors, menu.vectors):
        if vector > 1:
            yield Code(items=items, vector=vector, checked=False)


def _streams(facts: Facts, program: Program) -> bool:
    """Whether an invocation only passes elements on: each array is read and written once.

    What loops, counts, or reads neighbours runs slower by sixteen items a thread (1.02 to 10 times
    as long on an H200, at every size), and has other ways to share what it reads.
    """
    first: dict[tuple[str, str], MemoryAccess] = {}
    for access in facts.accesses:
        before = first.setdefault((access.kind, access.buffer), access)
        # The same element that is read twice is loaded once, however the kernel is written, and so
        # are vectors of what lies between neighbours, such as the colours of a pixel.
        again = access.kind == LOAD and access.in_bounds and access.in_bounds == before.in_bounds
        between = access.kind == LOAD and in_vectors(access, 1) and apart(access) > 1
        if access.kind == ATOMIC or (access is not before and not again and not between):
            return False
    return not any(isinstance(node, (Loop, While)) for node in statements(program.entry))


def _shapes(kind: DeviceKind, wide: frozenset[int], extent: Dim3) -> Iterator[Dim3]:
    menu = _MENUS[kind]
    for width in menu.widths:
        yield width, 1, 1
    if 1 in wide:
        tallest = 8 if 2 in wide else 16
        for threads, y in product(menu.tiled, (2, 4, 8, 16)):
            if y <= tallest and threads // y >= max(y, 16):
                yield threads // y, y, 1
        narrow = 1 << max(extent[0] - 1, 0).bit_length()
        for threads in menu.tiled if narrow < 16 else ():  # a few long columns
            yield narrow, threads // narrow, 1
    if wide >= {1, 2}:
        yield from _BRICKS


def _wide_axes(program: Program, declared: Dim3 | None, extent: Dim3) -> frozenset[int]:
    """The axes along which a workgroup may hold more than one invocation, and has use for it."""
    used = {expr.axis for expr in all_expressions(program.entry) if isinstance(expr, Id)}
    used |= {axis for axis, size in enumerate(declared or ()) if size > 1}
    return frozenset(axis for axis in used | {0} if extent[axis] > 1)


class _Rules:
    """What of a launch rules a code out, for any workgroup."""

    def __init__(
        self,
        facts: Facts,
        program: Program,
        launch: Launch,
        kind: DeviceKind,
        traits: LaunchTraits,
        limits: Limits,
    ) -> None:
        self.given = (launch, kind, traits, limits)
        self.through = Through(facts, program)
        rows = rows_of(facts, program)
        self.loops = list(loops_to_unroll(program))
        self.vectors = {
            vector: why_not_vector(vector, rows, launch, kind, traits)
            or why_not_fixed(vector, facts, program, kind, traits)
            for vector in _MENUS[kind].vectors
        }

    def problem(self, code: Code) -> Problem | None:
        why = self.vectors[code.at_once] if code.at_once > 1 else None
        if code.vector > 1 and code.checked:
            why = "elements are checked and accessed one by one"
        if why is not None:
            return f"vectors of {code.vector}", why
        if code.unroll > 1 and (why := why_not_unrolled(code, self.loops)):
            return f"loops unrolled by {code.unroll}", why
        if code.depth and (why := self.through.why_not(code, *self.given)):
            return f"reads through workgroup memory, {code.depth} rounds deep", why
        return None


def why_not_unrolled(code: Code, loops: Sequence[Loop | While]) -> str | None:
    """Why a code cannot write several rounds of a program's loops out."""
    if not loops:
        return "there is no counted one, and none that only computes"
    parts = _written_out(code.unroll, loops) * prod(code.items_by_axis)
    if parts > MOST_PARTS:
        return f"{parts} statements and expressions are more than {MOST_PARTS}"
    return None


def _written_out(unroll: int, loops: Sequence[Loop | While]) -> int:
    """Statements and expressions of all loops, so many rounds of each, or as many as there are."""
    known = ((loop, rounds_of(loop)) for loop in loops)
    return sum(
        _size_of_round(loop) * (unroll if rounds is None else min(unroll, max(rounds, 1)))
        for loop, rounds in known
    )


def _size_of_round(loop: Loop | While) -> int:
    """Statements and expressions of one round; a loop that only computes asks before each."""
    condition = (loop.cond,) if isinstance(loop, While) else ()
    return size_of((*condition, *loop.body)).parts


def why_not_free(facts: Facts, launch: Launch) -> Iterator[str]:
    """Why this launch has to run as declared; nothing where it has not."""
    yield from (str(reason) for reason in facts.reasons)
    for condition in facts.conditions:
        try:
            if not condition.holds(launch):
                yield f"it is not so for this launch that {condition}"
        except NumberNotKnown as number:
            yield f"it is not known that {condition}: {number} is not given"


def _holds(proof: Callable[[Launch], bool], launch: Launch) -> bool:
    try:
        return proof(launch)
    except NumberNotKnown:
        return False


def _extent(launch: Launch) -> Dim3:
    x, y, z = (launch.value(Symbol("extent", axis=axis)) for axis in range(3))
    return x, y, z


def _within(value: int, limit: int) -> bool:
    return limit == 0 or value <= limit
