"""Runs the calls of one kernel: binds, decides, launches, and keeps what repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from vyre.errors import DeviceFailed, InvalidInput
from vyre.ir.declare import Dim3
from vyre.ir.storage import STORAGE
from vyre.lang import Param, Role, Translation
from vyre.learn import process
from vyre.learn.decide import site_of
from vyre.learn.rules import Rule, rule
from vyre.learn.site import Site
from vyre.model import Decision, Reason, Schedule
from vyre.policy.contest import Progress
from vyre.runtime.arrays.array import AnyArray, DeviceArray, alignment_of, host_zeros
from vyre.runtime.arrays.foreign import ForeignArray, result_of, stream_for
from vyre.runtime.arrays.overlap import copies_needed
from vyre.runtime.call.agree import Checked, compare, resident
from vyre.runtime.call.arguments import out_shape, read, unpacked
from vyre.runtime.call.blame import refuse_silent, told
from vyre.runtime.call.bound import Bound
from vyre.runtime.call.debug import Debugging
from vyre.runtime.call.launch import Launch
from vyre.runtime.call.short import MOST_KEPT, ShortWays, listed, same_memory
from vyre.runtime.call.tune import tune
from vyre.runtime.compile.helper import helper_of
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.keep import keep
from vyre.runtime.devices.launcher import Launcher
from vyre.runtime.devices.opened import default
from vyre.runtime.devices.subject import ProgramSteps, call_of

T = TypeVar("T")


class Dispatcher:
    """The calls of one kernel, on any device."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._launchers: dict[Device, Launcher] = {}
        self.short = ShortWays(translation)
        self._sites: dict[tuple[object, ...], Site] = {}

    @property
    def sites(self) -> tuple[Site, ...]:
        """Where calls were made so far."""
        return tuple(self._sites.values())

    def call(
        self,
        arrays: tuple[Any, ...],
        out: object,
        shape: int | Sequence[int] | None,
        stream: object,
        named: Mapping[str, Any],
        pinned: Schedule | Dim3 | None = None,
    ) -> Any:
        """Run a call the long way; what repeats is kept for the short one.

        Args:
            arrays: as passed.
            out: as passed.
            shape: as passed.
            stream: as passed.
            named: as passed.
            pinned: a schedule that the caller insists on, or the workgroup of the default one.
        """
        watch = rule().watch
        bound = self.bind(arrays, out, shape, stream, named, speaks=watch is not None)
        originals = bound.call.originals
        held = {**bound.arrays, **originals}
        results = [held[p.name] for p in self._translation.params if p.role is Role.OUT]
        try:
            if isinstance(watch, Debugging):
                watch.run(self._translation, bound)
            elif 0 not in bound.call.extent:
                site = self._run(bound, pinned)
                if pinned is None:
                    self.short.keep(bound, site, arrays, out, shape, named)
        finally:  # what was stored before an assertion failed is as it is
            for name, original in originals.items():
                original[...] = bound.arrays[name]
        return unpacked([result_of(r) if isinstance(r, DeviceArray) else r for r in results])

    def bind(
        self,
        arrays: tuple[Any, ...],
        out: object,
        shape: int | Sequence[int] | None,
        stream: object,
        named: Mapping[str, Any],
        *,
        speaks: bool = False,
    ) -> Bound:
        """Check a call's arguments, and make the outputs that it did not bring.

        `speaks` says that what it prints and asserts is heard, wherever its arrays are.
        """
        kernel = self._translation
        call = read(kernel, arrays, named, out, shape)
        resident = {n: array for n, array in call.arrays.items() if isinstance(array, DeviceArray)}
        device = next(iter(resident.values())).device if resident else default()
        if not speaks:
            refuse_silent(kernel, device)
        if stream is not None and device.backend.streams is None:
            raise InvalidInput(
                f"stream= in a call of {kernel.name} on {device.name}",
                "leave it out: only CUDA devices have streams",
            )
        where = stream_for(resident, stream, where=kernel.name)
        made = {
            param.name: _made(kernel, param, device, resident, call.covered)
            for param in kernel.params
            if param.role is Role.OUT and param.name not in call.arrays
        }
        return Bound(call, self.launcher(device), {**call.arrays, **made}, where)

    @property
    def launchers(self) -> tuple[Launcher, ...]:
        """This kernel on each device that it was bound for so far."""
        return tuple(self._launchers.values())

    def launcher(self, device: Device) -> Launcher:
        """This kernel on a device."""
        launcher = self._launchers.get(device)
        if launcher is None:
            launcher = self._launchers[device] = Launcher(self._translation, device)
        return launcher

    def prepare(
        self,
        arrays: tuple[Any, ...],
        out: object,
        shape: int | Sequence[int] | None,
        stream: object,
        named: Mapping[str, Any],
    ) -> Launch:
        """A call to make again and again on the same arrays."""
        bound = self.bind(arrays, out, shape, stream, named)
        shared = copies_needed(self._translation, bound.arrays)
        if shared:
            raise InvalidInput(
                f"{', '.join(shared)} of {self._translation.name} shares memory with what is "
                "written, so it would have to be copied for each launch",
                "prepare it with arrays that do not overlap",
            )
        if any(isinstance(array, np.ndarray) for array in bound.arrays.values()):
            self._refuse_elsewhere(bound, (*arrays, *listed(out), *named.values()))
        results = [bound.arrays[p.name] for p in self._translation.params if p.role is Role.OUT]
        site = self._site(bound, None) if 0 not in bound.call.extent else None
        if site is not None and site.best is None:
            site.refreshed()  # compiled, and every limit checked, before anybody launches it
        blame = partial(told, self._translation)
        return Launch(
            bound.launcher, site, bound.arrays, bound.call.scalars, stream, results, blame
        )

    def _refuse_elsewhere(self, bound: Bound, given: Sequence[Any]) -> None:
        """Refuse NumPy arrays that would have to be copied for each launch."""
        name, host = self._translation.name, [a for a in given if isinstance(a, np.ndarray)]
        if not bound.launcher.device.backend.uses_host_memory:
            raise InvalidInput(
                f"the arrays of {name} are on the host",
                "prepare it with arrays of a device, such as device.array(x)",
            )
        for param, array in bound.call.arrays.items():
            if not any(same_memory(array, one) for one in host):
                raise InvalidInput(
                    f"{param} of {name} is not contiguous, or not aligned to its elements, so it "
                    "would have to be copied for each launch",
                    f"prepare it with {param}.copy(), and copy what changes there",
                )

    def compare(self, bound: Bound) -> Checked:
        """Compare the workgroups that are named on copies; what differs is never run again.

        Raises:
            DeviceFailed: there is no room for the copies.
        """
        _refuse_copies(bound)
        checked = compare(bound)
        if checked.dropped:
            self.forget()
        return checked

    def sweep(
        self,
        bound: Bound,
        *,
        budget_s: float = 10.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Measure every candidate on copies, and remember the best.

        Raises:
            DeviceFailed: there is no room for the copies.
        """
        numbers, alignment, workload = bound.numbered
        device = bound.launcher.device
        self.compare(bound)
        copies = {name: resident(device, array) for name, array in bound.arrays.items()}
        return tune(
            bound.launcher,
            numbers,
            workload,
            alignment,
            copies,
            bound.call.scalars,
            process.recorder(),
            helper_of(device),
            budget_s=budget_s,
            progress=progress,
        )

    def _swept(self, bound: Bound) -> Decision:
        """What a sweep finds for a call; without room for copies the call runs its default."""
        try:
            return self.sweep(bound)
        except DeviceFailed as error:
            numbers, _, workload = bound.numbered
            usual = bound.launcher.default(numbers)
            return Decision(
                workload=workload, config=usual, reason=Reason.DEFAULT, detail=error.problem
            )

    def forget(self) -> None:
        """Decide every call anew."""
        self._sites.clear()
        self.short.forget()

    def _run(self, bound: Bound, pinned: Schedule | Dim3 | None) -> Site:
        arrays = bound.arrays
        for name in copies_needed(self._translation, arrays):
            arrays = {**arrays, name: arrays[name].copy()}
        bound = replace(bound, arrays=arrays)
        site = self._site(bound, pinned)
        capturing = bound.launcher.device.backend.is_capturing(bound.stream)
        site.run(*site.take(capturing=capturing), bound.launch)
        return site

    def _site(self, bound: Bound, pinned: Schedule | Dim3 | None) -> Site:
        """Where such a call is decided; found out once."""
        by = rule()
        key = _key(by, bound)
        site = self._sites.get(key) if pinned is None else None
        if site is not None:
            return site
        numbers, alignment, workload = bound.numbered
        launcher = bound.launcher
        if pinned is not None:
            if not isinstance(pinned, Schedule):
                usual = launcher.default(numbers)
                code = replace(usual.code, group=None) if launcher.is_named else usual.code
                pinned = Schedule(pinned, code)
            pinned = launcher.asked(pinned)
            decision = Decision(workload=workload, config=pinned, reason=Reason.OVERRIDE)
            steps = ProgramSteps(launcher, numbers, alignment)
            return Site(launcher.size(numbers), steps, decision)
        call = call_of(
            launcher,
            numbers,
            alignment,
            helper_of(launcher.device),
            workload=workload,
            sweep=lambda: self._swept(bound),
            advice=f"tune it first, with {launcher.kernel.name}.tune(...) on such arrays, "
            'or freeze with missing="default"',
        )
        site = site_of(call, by)
        keep(self._sites, key, site, MOST_KEPT)
        return site


def _key(by: Rule, bound: Bound) -> tuple[object, ...]:
    launcher, call = bound.launcher, bound.call
    arrays = [bound.arrays[name] for name in launcher.order if name in bound.arrays]
    asked = launcher.facts.asked_scalars
    whole = (int(v) for n, v in call.scalars.items() if n in asked and isinstance(v, np.integer))
    return (
        by,
        launcher,
        call.extent,
        *(array.shape for array in arrays),
        *whole,
        *(alignment_of(array) for array in arrays),
    )


def _refuse_copies(bound: Bound) -> None:
    """Refuse to copy more to a device than a quarter of what it has free.

    Drivers end the process where memory runs out in the middle of a copy, so sizes come first.
    """
    device = bound.launcher.device
    total = sum(array.nbytes for array in bound.arrays.values())
    free = device.backend.free_bytes()
    if free is None:
        free = device.info.memory_bytes
    if free and total > free // 4:
        raise DeviceFailed(
            f"tuning {bound.launcher.kernel.name} works on copies of its arrays, {total:,} bytes; "
            f"a quarter of what {device.name} has free is {free // 4:,}",
            "free memory first, or leave it to calls to learn as they run, which copies nothing",
        )


def _made(
    kernel: Translation,
    param: Param,
    device: Device,
    resident: Mapping[str, DeviceArray],
    covered: tuple[int, ...],
) -> AnyArray:
    """A fresh output of the inputs' kind, full of zeros."""
    shape = out_shape(kernel, param, covered)
    for array in resident.values():
        if isinstance(array, ForeignArray):
            return array.zeros(shape, param.dtype)
    if resident:
        return device.zeros(shape, STORAGE[param.dtype])
    return host_zeros(shape, STORAGE[param.dtype], f"{param.name} of {kernel.name}")
