"""The cold start: in which order to try the legal schedules before anything was measured.

A guess is an ordering and nothing else. Its efforts are in no unit, they are never compared with a
measurement and never kept; once schedules were timed, the timings decide between them. The
constants say which of two effects is the larger on machines of a kind, not how long one takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp2, log, log2, prod

from vyre.analysis import Facts
from vyre.analysis.facts import Pattern
from vyre.analysis.forms import Launch, Symbol
from vyre.analysis.reader import ATOMIC, LOAD
from vyre.model import Code, DeviceInfo, DeviceKind, Dim3, Order, Schedule
from vyre.plan import simd
from vyre.plan.geometry import ceil_div, tile_grid
from vyre.plan.space import Space, tile_of

_ALIKE = 1.03  # efforts whose ratio is below this are no reason to prefer one
_SECTOR = 32  # bytes fetched for an element whose neighbours are not used
_UNIT_THREADS = 2048  # held by a GPU's unit that does not say how many it holds


@dataclass(frozen=True, slots=True)
class Guess:
    """All of a space, the best guess first, and what is expected of each."""

    ordered: tuple[Schedule, ...]
    expected: tuple[float, ...]  # log(time / time of the default)


def risk(info: DeviceInfo) -> float:
    return 0.02


def guess(space: Space, program, facts: Facts, info: DeviceInfo, launch: Launch) -> Guess:
    ordered = order(space, facts, info, launch)
    if info.simd is not None or info.kind is DeviceKind.CPU:
        return Guess(ordered, ())
    n = len(ordered)
    at = ordered.index(space.default)
    return Guess(ordered, tuple(0.003 * (i - at) for i in range(n)))


def order(space: Space, facts: Facts, info: DeviceInfo, launch: Launch) -> tuple[Schedule, ...]:
    """All of a space, the best guess first; among equal ones the default, then fewer items.

    Args:
        space: what to order, and what compiling has told of it.
        facts: what one position of the program costs.
        info: the device to run on.
        launch: how many positions there are.
    """
    x, y, z = (launch.value(Symbol("extent", axis=axis)) for axis in range(3))
    if 0 in (x, y, z):
        return space.legal
    if info.simd is not None:
        return simd.order(space)
    job = _Job(
        extent=(x, y, z),
        work=_work(facts),
        units=max(info.compute_units, 1),
        unit_threads=info.limits.max_threads_per_unit or _UNIT_THREADS,
        # A kernel that cannot fill the largest group is known to need many registers.
        heavy={
            code: threads
            for code, threads in space.resources.max_threads_by_code.items()
            if 0 < threads < info.limits.max_threads
        },
        unrollable=any(code.unroll > 1 for code in space.codes),
    )
    effort = _cpu_effort if info.kind is DeviceKind.CPU else _gpu_effort
    efforts = {schedule: effort(schedule, job) for schedule in space.legal}
    least = min(efforts.values())

    def key(schedule: Schedule) -> tuple[object, ...]:
        code = schedule.code
        return (
            int(log(efforts[schedule] / least) / log(_ALIKE)),
            schedule != space.default,
            (code.items, -code.vector, code.unroll, code.order is Order.BLOCKED, code.checked),
            prod(schedule.workgroup),
            schedule.workgroup,
        )

    return tuple(sorted(space.legal, key=key))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What one position costs."""

    loaded: float  # bytes from memory, each array once: what is read again comes from a cache
    stored: float
    element: float  # bytes of an element that has its neighbours beside it, else 0
    operations: int  # and accesses; all rounds of all loops
    functions: int  # such as exp and sin
    divergent: bool
    counters: int  # elements that a group of several items adds up on its own
    rereads: bool  # several loads of one array, so that neighbouring positions share elements

    @property
    def moved(self) -> float:
        return self.loaded + self.stored


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One launch on one device."""

    extent: Dim3
    work: _Work
    units: int
    unit_threads: int
    heavy: Mapping[Code, int]  # the threads that fit a unit, where registers are scarce
    unrollable: bool  # the program has a counted loop

    def groups(self, schedule: Schedule) -> int:
        return prod(tile_grid(self.extent, schedule))


def _work(facts: Facts) -> _Work:
    cost = facts.cost
    rounds = sum(access.rounds for access in facts.accesses)
    size = (cost.loaded_bytes + cost.stored_bytes) / max(rounds, 1)
    bytes_of: dict[tuple[str, str], float] = {}
    for access in facts.accesses:
        if access.pattern is not Pattern.UNIFORM:
            apart = access.pattern is not Pattern.CONTIGUOUS or access.kind == ATOMIC
            place = (access.kind, access.buffer)
            bytes_of[place] = max(bytes_of.get(place, 0), _SECTOR if apart else size)
    loaded = sum(count for (kind, _), count in bytes_of.items() if kind == LOAD)
    neighbours = [a for a in facts.accesses if a.pattern is Pattern.CONTIGUOUS]
    loads = {access.buffer for access in neighbours if access.kind == LOAD}
    return _Work(
        loaded=loaded,
        stored=sum(bytes_of.values()) - loaded,
        element=size if neighbours else 0,
        operations=cost.operations + rounds,
        functions=cost.transcendental,
        divergent=bool(cost.divergent),
        counters=sum(facts.counters.values()),
        rereads=sum(a.kind == LOAD for a in neighbours) > len(loads),
    )


def _gpu_effort(schedule: Schedule, job: _Job) -> float:
    """How long the busiest unit is busy, in the time it takes to move a byte at full speed."""
    work, code = job.work, schedule.code
    threads, items = prod(schedule.workgroup), code.items
    share = ceil_div(job.groups(schedule), job.units)
    # A unit holds as many groups at once as its threads, its 32 slots and its registers allow.
    fitting = job.heavy.get(code, job.unit_threads)
    resident = min(max(fitting // threads, 1), 32, share)
    # Memory is fast only with enough bytes under way (some 8 KiB per unit for half its speed):
    # threads times the bytes that each asks for before it waits.
    under_way = resident * threads * items * (work.loaded or work.stored)
    memory = work.moved * (1 + 8192 / under_way if under_way else 1)
    # Arithmetic waits for its own results unless there are other threads or items to turn to.
    chains = resident * threads * min(items, 4)
    arithmetic = (work.operations + 16 * work.functions) / 8 * (1 + 256 / chains)
    # Wide accesses take fewer instructions; items side by side tear a warp's accesses apart.
    if work.element:
        width = min(code.vector * work.element / 16, 1)
        memory *= 1.06 - 0.06 * width
        if code.order is Order.BLOCKED:
            memory *= 1 + 0.15 * (items / code.vector - 1) * (1.5 - width)
        row = schedule.workgroup[0] * code.vector * work.element
        memory *= 1 + 0.05 * max(0.0, 128 / row - 1)
    if work.rereads:  # the rows above and below are another group's
        memory *= 1 + 0.2 / schedule.workgroup[1]
    if work.counters and items > 1:  # then only a group's sums go to memory
        memory += _SECTOR * (work.counters / (threads * items) - 1)
    # The values of all items are held in registers, of which a thread has some hundred.
    position = memory + arithmetic
    position *= 1 + 0.05 * max(0.0, items * max(work.loaded, work.element) / 64 - 1)
    if work.divergent:
        # Lanes wait for the slowest of their warp in every item, and a group gives its place back
        # only after its last warp. It hurts as far as arithmetic decides.
        weight = arithmetic / position
        position *= 1 + weight * (0.5 * (items - 1) + 0.12 * log2(max(threads / 32, 1)))
    # A group takes its time to start (that of moving a kilobyte or two), and a thread to get
    # through its items. Where few groups share a unit, there is less to do while one waits.
    waves = ceil_div(share, resident)
    effort = share * (1536 + threads * items * position) + waves * 512 * items
    return effort * (1 + 0.25 / resident)


def _cpu_effort(schedule: Schedule, job: _Job) -> float:
    """How long the busiest core is busy, in the time it takes to move a byte."""
    work, code = job.work, schedule.code
    share = job.groups(schedule) / job.units
    # An unrolled chain of lanes is what keeps the units of a core busy inside a loop, because
    # compilers vectorise across invocations only where there is no loop in them.
    loops = job.unrollable and work.operations > 2 * work.moved
    if loops and not work.divergent:
        overlap = exp2(0.75 * log2(code.items)) * (1.25 if code.vector >= 8 else 1)
        if code.order is Order.BLOCKED:
            overlap *= 0.95
        plain = 2 * work.operations / overlap + work.moved
    elif work.divergent:
        # Invocations take turns whatever the code, and one that gathers several only grows.
        plain = 2 * work.operations * (1 + 0.05 * log2(code.items * code.vector)) + work.moved
    else:
        # There the plain loop over neighbouring invocations becomes the machine's own vectors, as
        # long as neighbours stay beside each other and few arrays are walked at once.
        plain = work.operations / 4 + work.moved
        plain *= 1 + 0.02 * (code.items - 1)
        plain *= 1.5 if code.vector > 1 else 1
        plain *= 1.15 if code.order is Order.BLOCKED else 1
    # A function is called for one element at a time, and takes far longer than moving it.
    position = plain + 512 * work.functions
    position *= 1 + 1 / schedule.workgroup[0]  # a row is a loop; rows cost their start
    # A group is a call with its own bookkeeping; cores that finish early wait for the last group,
    # the longer the fewer there are and the more they differ.
    effort = ceil_div(job.groups(schedule), job.units) * (384 + prod(tile_of(schedule)) * position)
    return effort * (1 + (2 if work.divergent else 0.5) / share)
