"""The three ways on one device: their programs, built, and the memory they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vyre.backend.base import Ticket
from vyre.errors import DeviceFailed, UnsupportedFeature
from vyre.lang import Role, Translation
from vyre.model import U32_MAX, Dim3, Schedule
from vyre.plan.counter_tail import TAIL_WORDS, SpeculationReport, parse_counter_tail
from vyre.plan.default import default_for
from vyre.plan.fusion import (
    COUNT,
    FIRST,
    HITS,
    ITEMS,
    NUMBER,
    SLOT,
    STRIPE,
    STRIPES,
    TAIL,
    Fused,
)
from vyre.plan.geometry import LaunchLimits, ceil_div, tile_grid, validate_launch_geometry
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.keep import keep
from vyre.runtime.devices.launcher import words_of

Scalars = Mapping[str, np.generic]
Arrays = Mapping[str, DeviceArray]
Key = tuple[object, ...]

MOST_PLANNED = 1024
"""Launches whose plans are kept; a stream of ever-new sizes starts anew there."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some items of a call, run one way: all from `first` on, or one stripe in `stripes`."""

    way: Way
    first: int
    items: int
    stripe: int = 0
    stripes: int = 1


@dataclass(slots=True)
class Tail:
    """Counters of calls, one after the other; they go on from launch to launch."""

    array: DeviceArray
    read: SpeculationReport = field(default_factory=SpeculationReport)


class Programs:
    """What runs pieces of calls on one device, each with the tail that it counts in."""

    def __init__(self, fused: Fused, device: Device) -> None:
        self.device, self.fused = device, fused
        ways: dict[Way, tuple[Translation, ...]] = {
            Way.SERIAL: (fused.compact, fused.gathered),
            Way.GATED: (fused.gated,),
            Way.EAGER: (fused.eager,),
        }
        self.refused: dict[Way, str] = {}
        self._launches: dict[Way, tuple[_Launch, ...]] = {}
        for way, kernels in ways.items():
            try:
                self._launches[way] = tuple(_Launch(kernel, device) for kernel in kernels)
            except (UnsupportedFeature, DeviceFailed) as error:
                self.refused[way] = error.problem
        self._unread = Tail(device.zeros(TAIL_WORDS, np.uint32))  # of calls that nobody asks about
        self._free = [Tail(device.zeros(TAIL_WORDS, np.uint32)) for _ in range(2)]
        self._count = device.zeros(2, np.uint32)
        self._hits = device.empty(1, np.uint32)
        self._slot = 0
        self._whole = True  # whether the last serial piece was launched to its end
        self._warm: set[tuple[Way, bool]] = set()

    @property
    def loop_scalars(self) -> tuple[str, ...]:
        """The scalars that say how long an item takes."""
        return self.device.facts(self.fused.eager.program).loop_scalars

    @property
    def able(self) -> tuple[Way, ...]:
        return tuple(self._launches)

    def warm(self, way: Way, arrays: Arrays, scalars: Scalars, items: int, piece: int) -> None:
        """Let a driver that compiles at the first launch do so now, with no items to run.

        PoCL compiles once for small grids and once for others.
        """
        width = ceil_div(piece, self.fused.per_invocation)
        key = (way, width < _SMALL_GRID)
        if key not in self._warm:
            self._warm.add(key)
            self._launch(Piece(way, 0, 0), arrays, scalars, items, width)

    def run(
        self,
        piece: Piece,
        arrays: Arrays,
        scalars: Scalars,
        items: int,
        *,
        tail: Tail | None = None,
        timed: bool = False,
    ) -> list[Ticket]:
        """Launch one piece; nothing is waited for. It counts in `tail`, if anybody will ask."""
        width = ceil_div(piece.items, self.fused.per_invocation)
        return self._launch(piece, arrays, scalars, items, width, tail=tail, timed=timed)

    def tail(self) -> Tail:
        """A tail for one call, whose counts `report` gives."""
        if self._free:
            return self._free.pop()
        return Tail(self.device.zeros(TAIL_WORDS, np.uint32))

    def report(self, tail: Tail) -> SpeculationReport:
        """What the call with this tail committed and rolled back; waits for what was launched.

        Raises:
            DeviceFailed: the programs did not write their counters.
        """
        host = np.empty(TAIL_WORDS, np.uint32)
        self.device.download(tail.array, host)
        total = parse_counter_tail(host.tobytes())
        if total is None:
            raise DeviceFailed(
                f"{self.fused.call.name} left no counter tail on {self.device.name}: {host}",
                "look for a kernel that writes outside its arrays",
            )
        before, tail.read = tail.read, total
        self._free.append(tail)
        return SpeculationReport(
            (total.committed_tiles - before.committed_tiles) & U32_MAX,
            (total.rolled_back_tiles - before.rolled_back_tiles) & U32_MAX,
        )

    def _launch(
        self,
        piece: Piece,
        arrays: Arrays,
        scalars: Scalars,
        items: int,
        width: int,
        *,
        tail: Tail | None = None,
        timed: bool = False,
    ) -> list[Ticket]:
        ours: dict[str, DeviceArray] = {TAIL: (tail or self._unread).array}
        serial = piece.way is Way.SERIAL
        if serial:
            if not self._whole:  # the count that this one starts from was not cleared
                self.device.backend.clear(self._count.memory, self._count.nbytes)
            self._whole = False
            self._slot = 1 - self._slot
            ours |= {HITS: self._room(items), COUNT: self._count}
        numbers = {
            FIRST: piece.first,
            NUMBER: piece.items,
            ITEMS: items,
            SLOT: self._slot,
            STRIPE: piece.stripe,
            STRIPES: piece.stripes,
        }
        given = {**scalars, **{name: np.uint32(value) for name, value in numbers.items()}}
        used = {**arrays, **ours}
        tickets = [launch(used, given, width, timed=timed) for launch in self._launches[piece.way]]
        self._whole = self._whole or serial
        return tickets

    def _room(self, items: int) -> DeviceArray:
        """Memory for as many hits as there can be; it grows with the largest call."""
        if self._hits.size < items:
            self._hits = self.device.empty(1 << (items - 1).bit_length(), np.uint32)
        return self._hits


_SMALL_GRID = 65_000
"""Where PoCL's classes of grids divide, about; see design note 6."""


class _Launch:
    """One program on one device, with the device's usual code and workgroup."""

    def __init__(self, kernel: Translation, device: Device) -> None:
        self._device, self._program = device, kernel.program
        self._facts = device.facts(kernel.program)
        self._code = device.usual_code(kernel.program)
        self._binary: Any = device.binary(kernel.program, self._code)
        scalars = {param.name for param in kernel.params if param.role is Role.SCALAR}
        self._arguments = tuple((name, name in scalars) for name in self._binary.arguments)
        self._planned: dict[Key, tuple[Dim3, Dim3, bytes]] = {}

    def __call__(self, arrays: Arrays, scalars: Scalars, extent: int, *, timed: bool) -> Ticket:
        shapes = {name: arrays[name].shape for name, scalar in self._arguments if not scalar}
        key = (extent, *shapes.values())
        planned = self._planned.get(key)
        if planned is None:
            planned = keep(self._planned, key, self._plan(extent, shapes), MOST_PLANNED)
        arguments = [
            scalars[name] if scalar else arrays[name].argument for name, scalar in self._arguments
        ]
        grid, workgroup, words = planned
        launch = self._device.backend.launch
        return launch(self._binary, grid, workgroup, arguments, words, timed=timed)

    def _plan(self, width: int, shapes: Mapping[str, tuple[int, ...]]) -> tuple[Dim3, Dim3, bytes]:
        """The grid, the workgroup and the words of a launch, within the device's limits."""
        info, extent = self._device.info, (width, 1, 1)
        usual = default_for(
            info,
            self._program,
            self._facts,
            LaunchNumbers.of_extent(self._program, extent),
            max_threads=self._binary.max_threads,
            one_item=True,
        )
        # A launch over nothing, which only compiles, still has a workgroup.
        grid = tile_grid((max(width, 1), 1, 1), Schedule(usual.workgroup, self._code))
        validate_launch_geometry(
            usual.workgroup, grid, LaunchLimits.of(self._device.name, info.limits)
        )
        return grid, usual.workgroup, words_of(self._binary.layout, extent, shapes)
