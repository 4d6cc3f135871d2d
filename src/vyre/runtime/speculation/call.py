"""A prefilter and a confirm as their user holds them: call them as one."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.storage import STORAGE
from vyre.lang import Param, Role
from vyre.learn import process
from vyre.learn.rules import rule
from vyre.model import DeviceKind
from vyre.plain import shown
from vyre.plan.config import SpeculationMode
from vyre.plan.fusion import Fused, fuse
from vyre.policy.speculate import DEFAULT_THRESHOLD_PCT, AdaptiveSpeculator
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import AnyArray, DeviceArray, host_zeros
from vyre.runtime.arrays.lending import Loan
from vyre.runtime.arrays.overlap import copies_needed
from vyre.runtime.call.arguments import Arguments, out_shape, read, unpacked
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.call.typed import TypedKernels
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import default
from vyre.runtime.speculation.programs import Programs
from vyre.runtime.speculation.size import Size
from vyre.runtime.speculation.ways import Items, WayStep

MOST_ITEMS = 1 << 31
"""Items of one call; positions stay within 32 bits while several are taken per invocation."""

CALL_WORDS = frozenset({"check", "way"})
"""Names that calls keep for themselves, beside those of every kernel's calls."""

MOST_SHOWN = 8
"""Sizes of calls that an explanation shows."""

Key = tuple[object, ...]


class Speculation:
    """A prefilter and a confirm, run the way that is fastest at the present hit rate."""

    def __init__(
        self, prefilter: Kernel, confirm: Kernel, mode: SpeculationMode, threshold_pct: int
    ) -> None:
        self._prefilter, self._confirm, self.mode = prefilter, confirm, mode
        self._made_of = prefilter, confirm, mode, threshold_pct
        self.speculator = AdaptiveSpeculator(threshold_pct)
        self._fused: dict[tuple[DeviceKind, bool], Fused] = {}
        self._programs: dict[str, Programs] = {}
        self._sizes: dict[Key, Size] = {}
        self._running = threading.Lock()
        self._call = self._fuse(DeviceKind.CPU).call

    @property
    def name(self) -> str:
        return self._call.name

    def __call__(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        way: Way | str | None = None,
        check: bool = False,
        **named: object,
    ) -> Any:
        """Run the confirm on every item that the prefilter says yes to.

        Args:
            *arrays: What the prefilter reads, then what the confirm reads beside it.
            out: The array to write, or a tuple of them; without it they are made, full of zeros.
            shape: How many items there are; without it, as many as the first array is long.
            way: Run this way, and learn nothing from it.
            check: First confirm every item, and report one that the prefilter wrongly says no to.
            **named: Scalars, and arrays by their parameter's name.

        Returns:
            What the confirm writes: its output, or a tuple of them in declaration order. Items that
            the prefilter says no to are left as they are.

        Raises:
            InvalidInput: the arguments do not fit, or under `check` the prefilter is wrong.
        """
        pinned = None if way is None else _way(way)
        if shape is None and out is None:
            shape = _items_of(arrays, named, self._call.params)
        call = read(self._call, arrays, named, out, shape)
        items = call.extent[0]
        if items > MOST_ITEMS:
            raise InvalidInput(
                f"{items} items for {self.name}; {MOST_ITEMS} allowed", "split the call"
            )
        device = _device_of(call)
        if check:
            self._check(device, call)
        given = {**call.arrays, **self._missing(device, call)}
        if items:
            for name in copies_needed(self._call, given):
                given[name] = given[name].copy()
            with self._running:
                device.loans.during(
                    lambda loan: self._run(loan, device, call, given, items, pinned)
                )
        return unpacked([given[p.name] for p in self._outputs])

    @property
    def _outputs(self) -> list[Param]:
        return [param for param in self._call.params if param.role is Role.OUT]

    @property
    def _written(self) -> frozenset[str]:
        return frozenset(param.name for param in self._outputs)

    def explain(self) -> str:
        """Which way runs, and why, for each size of call so far; the latest first."""
        process.deciders().desk.drained(1.0)
        with self._running:  # other threads may be calling
            sizes, programs_here = tuple(self._sizes.values()), tuple(self._programs.values())
        if not sizes:
            return f"{self.name} has not run yet"
        lines = [
            f"{self.name} over about {size.items:,} items on {size.programs.device.name}: "
            f"{size.explain()}"
            + (f"; mode {self.mode}" if self.mode is not SpeculationMode.AUTO else "")
            for size in islice(reversed(sizes), MOST_SHOWN)
        ]
        if len(sizes) > MOST_SHOWN:
            lines.append(f"and {len(sizes) - MOST_SHOWN} more sizes, called before these")
        lines += [
            f"{way} cannot run on {programs.device.name}: {reason}"
            for programs in programs_here
            for way, reason in programs.refused.items()
        ]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[Speculation], tuple[Kernel, Kernel, SpeculationMode, int]]:
        return Speculation, self._made_of  # what it has learned stays here

    def __repr__(self) -> str:
        return f"<vyre.speculate {self._prefilter.name}, {self._confirm.name}>"

    def _run(
        self,
        loan: Loan,
        device: Device,
        call: Arguments,
        given: Mapping[str, AnyArray],
        items: int,
        pinned: Way | None,
    ) -> None:
        programs = self._on(device)
        size = self._size(programs, call, given, items)
        lent = {name: _lend(loan, device, array) for name, array in given.items()}
        asked = Items(lent, call.scalars, items)
        if pinned is None:
            size.warm(asked)
            tickets = size.launch(asked, rule())
        else:
            if pinned in programs.refused:
                raise UnsupportedFeature(
                    f"{pinned} cannot run on {device.name}: {programs.refused[pinned]}",
                    f"use way={programs.able[0].value!r}, or leave way= out",
                )
            tickets = WayStep(programs, pinned).start((asked,), 0)
        host = False
        for name, array in given.items():
            if isinstance(array, np.ndarray):
                host = True
                if name in self._written:
                    device.backend.return_to(lent[name].memory, array)
        if host:
            for ticket in tickets:
                ticket.wait()

    def _size(
        self, programs: Programs, call: Arguments, given: Mapping[str, AnyArray], items: int
    ) -> Size:
        """What is known of calls like this one, moved to the end of the table."""
        sizes = tuple([array.size.bit_length() for array in given.values()])
        rounds = tuple(
            [
                int(call.scalars[name]).bit_length()
                for name in programs.loop_scalars
                if name in call.scalars
            ]
        )
        buckets = (items.bit_length(), *sizes, *rounds)
        key = (programs.device.name, *buckets)
        known = self._sizes.pop(key, None)
        if known is None:
            known = Size(programs, self.name, items, buckets, self._able(programs), self.speculator)
        if len(self._sizes) >= MOST_WORKLOADS:
            del self._sizes[next(iter(self._sizes))]
        self._sizes[key] = known
        return known

    def _able(self, programs: Programs) -> tuple[Way, ...]:
        wanted = _OF_MODE[self.mode]
        able = tuple(way for way in programs.able if way in wanted)
        if not able:
            why = "; ".join(f"{way}: {programs.refused[way]}" for way in wanted)
            raise UnsupportedFeature(
                f"mode {self.mode} of {self.name} cannot run on {programs.device.name}: {why}",
                "use mode='auto', or another device",
            )
        return able

    def _on(self, device: Device) -> Programs:
        if device.name not in self._programs:
            self._programs[device.name] = Programs(
                self._fuse(device.info.kind, lanes=device.info.simd is not None), device
            )
        return self._programs[device.name]

    def _fuse(self, kind: DeviceKind, *, lanes: bool = False) -> Fused:
        key = (kind, lanes)
        if key not in self._fused:
            self._fused[key] = fuse(
                self._prefilter._translation, self._confirm._translation, kind, lanes=lanes
            )
        return self._fused[key]

    def _missing(self, device: Device, call: Arguments) -> dict[str, AnyArray]:
        """The outputs that the call did not bring, made."""
        resident = any(isinstance(array, DeviceArray) for array in call.arrays.values())
        made: dict[str, AnyArray] = {}
        for param in self._outputs:
            if param.name not in call.arrays:
                shape = out_shape(self._call, param, call.covered)
                dtype, what = STORAGE[param.dtype], f"{param.name} of {self.name}"
                made[param.name] = (
                    device.zeros(shape, dtype) if resident else host_zeros(shape, dtype, what)
                )
        return made

    def _check(self, device: Device, call: Arguments) -> None:
        """Refuse a prefilter that says no to an item for which the confirm writes something."""
        items = call.extent[0]
        if items == 0:
            return
        (flag,) = _alone(self._prefilter, call)
        no = np.asarray(flag).reshape(-1) == 0
        for param, found in zip(self._outputs, _alone(self._confirm, call), strict=True):
            values = np.asarray(found).reshape(items, -1)
            wrong = np.flatnonzero(no & (values != 0).any(axis=1))
            if wrong.size:
                item = int(wrong[0])
                shown = values[item] if values.shape[1] > 1 else values[item, 0]
                raise InvalidInput(
                    f"prefilter {self._prefilter.name} says no to {wrong.size} of {items} items "
                    f"on {device.name} that {self._confirm.name} confirms, such as item {item}, "
                    f"where {param.name} is {shown}",
                    f"let {self._prefilter.name} say yes to every item that may be confirmed",
                )


MOST_WORKLOADS = 256
"""Sizes of calls that are told apart; a stream of ever-new ones forgets the oldest."""

_OF_MODE = {
    SpeculationMode.AUTO: tuple(Way),
    SpeculationMode.FORCE: (Way.GATED, Way.EAGER),
    SpeculationMode.DISABLE: (Way.SERIAL,),
}


def speculate(
    *,
    prefilter: Kernel,
    confirm: Kernel,
    mode: SpeculationMode | str = SpeculationMode.AUTO,
    threshold_pct: int = DEFAULT_THRESHOLD_PCT,
) -> Speculation:
    """Make one callable of a cheap test and an exact one over the same items.

    Args:
        prefilter: A kernel with one output of whole numbers, not 0 for items that may be confirmed.
            It may say yes wrongly, never no.
        confirm: A kernel that writes what it finds at its own item, and nothing where there is
            nothing.
        mode: `auto` runs whichever way is fastest, `force` never the serial one, `disable` only
            that.
        threshold_pct: The commit rate from which the first call is fused.

    Raises:
        InvalidInput: the kernels cannot be put together, for the reason it says.
    """
    for kernel, word in ((prefilter, "prefilter"), (confirm, "confirm")):
        if not isinstance(kernel, Kernel):
            raise InvalidInput(
                f"{word}= is {shown(kernel)}, not a kernel", "put @vyre.kernel above its function"
            )
        if isinstance(kernel, TypedKernels):
            raise InvalidInput(
                f"{word}= is {kernel.name}, which is a kernel for each of several types",
                f"pass one of them, such as {kernel.name}[{kernel.example}]",
            )
        for param in kernel._translation.params:
            if param.name in CALL_WORDS:
                raise InvalidInput(
                    f"parameter {param.name!r} of {kernel.name} has a name that every call of a "
                    f"speculation uses itself: {', '.join(sorted(CALL_WORDS))}",
                    "rename the parameter",
                )
    wanted: object = mode
    if not isinstance(wanted, str) or wanted not in tuple(SpeculationMode):
        known = ", ".join(SpeculationMode)
        raise InvalidInput(f"no mode {shown(mode)}; known: {known}", "use mode='auto'")
    percent: object = threshold_pct
    if not isinstance(percent, int) or not 0 <= percent <= 100:
        raise InvalidInput(
            f"a threshold of {shown(percent)} %", "give a commit rate from 0 to 100 per cent"
        )
    return Speculation(prefilter, confirm, SpeculationMode(wanted), threshold_pct)


def _way(given: object) -> Way:
    if not isinstance(given, str) or given not in tuple(Way):
        raise InvalidInput(
            f"no way {shown(given)}; known: {', '.join(Way)}", "use one of them, or leave way= out"
        )
    return Way(given)


def _items_of(
    arrays: tuple[object, ...], named: Mapping[str, object], params: tuple[Param, ...]
) -> int | None:
    """As many items as the first array is long; None where there is none to ask."""
    first = arrays[0] if arrays else named.get(params[0].name)
    if isinstance(first, (np.ndarray, DeviceArray)) and first.ndim:
        return first.shape[0]
    return None


def _device_of(call: Arguments) -> Device:
    for array in call.arrays.values():
        if isinstance(array, DeviceArray):
            return array.device
    return default()


def _lend(loan: Loan, device: Device, array: AnyArray) -> DeviceArray:
    """A host array as the device sees it for one call: itself, where they share memory."""
    if isinstance(array, DeviceArray):
        return array
    memory = loan.lend(device.backend.borrow(array, read=True), array)
    return DeviceArray(device, memory, array.shape, array.dtype)


def _alone(kernel: Kernel, call: Arguments) -> tuple[AnyArray, ...]:
    """What one of the two kernels writes when it runs on every item."""
    params = kernel._translation.params
    named: dict[str, Any] = {
        param.name: call.arrays.get(param.name, call.scalars.get(param.name))
        for param in params
        if param.role is not Role.OUT
    }
    made = kernel(shape=call.extent[0], **named)
    return made if isinstance(made, tuple) else (made,)
