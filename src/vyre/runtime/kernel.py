"""A kernel as its user holds it: call it with arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np

from vyre.analysis import Facts
from vyre.emit import OPENCL, emit
from vyre.errors import InvalidInput
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.lang import Role, Translation, translate
from vyre.model import Code, Decision, Mode, Reason, Schedule
from vyre.runtime import session
from vyre.runtime.arguments import AnyArray, Arguments, out_shape, read
from vyre.runtime.array import DeviceArray, alignment_of
from vyre.runtime.device import Device
from vyre.runtime.devices import default
from vyre.runtime.launcher import Launcher, Prepared
from vyre.runtime.overlap import copies_needed
from vyre.runtime.repeat import Repeat, key_of
from vyre.runtime.sweep import Progress
from vyre.runtime.tune import space_of, tune

T = TypeVar("T")
Function = Callable[..., Any]

CALL_WORDS = frozenset(
    {"out", "shape", "schedule", "config", "stream", "budget_s", "again", "progress"}
)
"""Names that calls keep for themselves, so that no parameter can have them."""

MOST_KEPT = 4096
"""Prepared calls and choices that a kernel keeps; a stream of ever-new sizes starts anew there."""


class Kernel:
    """A translated function; calling it runs it on the given arrays."""

    def __init__(self, function: Function, translation: Translation) -> None:
        self._translation = translation
        self._launchers: dict[str, Launcher] = {}
        self._repeats: dict[tuple[object, ...], Repeat] = {}
        self._chosen: dict[tuple[object, ...], Schedule | None] = {}
        self._whole_scalars = tuple(
            param.name
            for param in translation.params
            if param.role is Role.SCALAR and param.dtype.is_int
        )
        functools.update_wrapper(self, function)

    @property
    def name(self) -> str:
        return self._translation.name

    @property
    def program(self) -> Program:
        """What the function means, in the IR."""
        return self._translation.program

    @property
    def facts(self) -> Facts:
        """What is proved of it."""
        return default().facts(self.program)

    def source(self, schedule: Schedule | None = None) -> str:
        """The OpenCL C that runs for a schedule, or for the default one."""
        code = schedule.code if schedule else Code()
        return emit(self.program, code, OPENCL, self.facts).text

    def __call__(
        self,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        schedule: Schedule | None = None,
        **named: object,
    ) -> Any:
        """Run once over the given arrays.

        NumPy arrays give NumPy arrays, and the call returns when the result is there. Arrays of a
        device stay there, and the call returns at once.

        Args:
            *arrays: What the kernel reads, in declaration order.
            out: The array to write, or a tuple of them; without it they are made, full of zeros.
            shape: What to cover, where no array says.
            schedule: How to run it, instead of what was learned; refused where it might change the
                result.
            **named: Scalars, and arrays by their parameter's name.

        Returns:
            The output, a tuple of them in declaration order, or None for a kernel without any.
        """
        if schedule is None and self._again(arrays, out, shape, named):
            return out
        if not (schedule is None or isinstance(schedule, Schedule)):
            raise InvalidInput(
                f"schedule= of {self.name} is {schedule!r}",
                "pass a vyre.Schedule, such as vyre.Schedule((256, 1, 1))",
            )
        call = read(self._translation, arrays, named, out, shape)
        device = _device_of(call)
        given = {**call.arrays, **self._missing(device, call)}
        results = [given[p.name] for p in self._translation.params if p.role is Role.OUT]
        if 0 not in call.extent:
            prepared = self._run(device, call, given, schedule)
            key = key_of(arrays, out, shape, named, self._whole_scalars)
            if key is not None and schedule is None and len(results) == len(key[0]):  # type: ignore[arg-type]  # the outputs' keys
                launcher = self._launcher(device)
                _keep(self._repeats, key, Repeat(self._translation, launcher, prepared))
        match tuple(results):
            case ():
                return None
            case (result,):
                return result
            case several:
                return several

    def _again(
        self,
        arrays: tuple[Any, ...],
        out: Any,
        shape: object,
        named: Mapping[str, Any],  # whatever the caller passed
    ) -> bool:
        """Whether this call was like an earlier one and has been launched the short way."""
        key = key_of(arrays, out, shape, named, self._whole_scalars)
        try:
            repeat = self._repeats.get(key) if key is not None else None
        except TypeError:  # a shape in a list has no hash, nor has a number in a 0-d array
            return False
        if repeat is None:
            return False
        outs = () if out is None else (out,) if type(out) is DeviceArray else tuple(out)
        return repeat.run((*arrays, *outs), named)

    def _run(
        self,
        device: Device,
        call: Arguments,
        arrays: Mapping[str, AnyArray],
        schedule: Schedule | None,
    ) -> Prepared:
        launcher = self._launcher(device)
        for name in copies_needed(self._translation, arrays):
            arrays = {**arrays, name: arrays[name].copy()}
        shapes = {name: arrays[name].shape for name in launcher.order if name in arrays}
        if schedule is None:
            schedule = self._choose(launcher, call, arrays, shapes)
        prepared = launcher.prepare(call.extent, shapes, call.scalars, schedule)
        resident = {n: array for n, array in arrays.items() if isinstance(array, DeviceArray)}
        if resident:
            launcher.run_resident(prepared, resident, call.scalars)
        else:
            host = {n: array for n, array in arrays.items() if isinstance(array, np.ndarray)}
            launcher.run_host(prepared, host, call.scalars)
        return prepared

    def _choose(
        self,
        launcher: Launcher,
        call: Arguments,
        arrays: Mapping[str, AnyArray],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> Schedule | None:
        """The remembered schedule for such a call, None for the default; found out once."""
        if not launcher.facts.free:
            return None
        alignment = {name: alignment_of(array) for name, array in arrays.items()}
        whole = tuple(int(v) for v in call.scalars.values() if isinstance(v, np.integer))
        key = (launcher, call.extent, *shapes.values(), *whole, *alignment.values())
        if key not in self._chosen:
            numbers = launcher.numbers(call.extent, shapes, call.scalars)
            decision = session.recorder().get(launcher.workload(numbers, alignment))
            if decision is None and session.current().mode is Mode.ON:
                decision = self._sweep(launcher, call, arrays, shapes, alignment)
            legal = space_of(launcher, numbers, alignment).legal if decision else ()
            known = decision is not None and decision.schedule in legal
            chosen = decision.schedule if decision is not None and known else None
            _keep(self._chosen, key, chosen)
            return chosen
        return self._chosen[key]

    def tune(
        self,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        budget_s: float = 10.0,
        again: bool = False,
        progress: Callable[[Progress], None] | None = None,
        **named: object,
    ) -> Decision:
        """Find the fastest way to run such a call, on copies of its arrays, and remember it.

        Args:
            *arrays: As in a call.
            out: As in a call; it is not written.
            shape: As in a call.
            budget_s: How long to look, in seconds.
            again: Measure even if a choice is remembered.
            progress: Called now and then with what has been found so far.
            **named: As in a call.

        Returns:
            The decision: what was chosen, and why. Later calls of this size use it.
        """
        if not budget_s > 0:
            raise InvalidInput(f"a budget of {budget_s!r} s", "pass a number of seconds above 0")
        call = read(self._translation, arrays, named, out, shape)
        device = _device_of(call)
        launcher = self._launcher(device)
        given = {**call.arrays, **self._missing(device, call)}
        shapes = {name: given[name].shape for name in launcher.order if name in given}
        alignment = {name: alignment_of(array) for name, array in given.items()}
        workload = launcher.workload(launcher.numbers(call.extent, shapes, call.scalars), alignment)
        known = session.recorder().get(workload)
        if known is not None and not again:
            return replace(known, reason=Reason.REMEMBERED)
        decision = self._sweep(
            launcher, call, given, shapes, alignment, budget_s=budget_s, progress=progress
        )
        self._chosen.clear()
        self._repeats.clear()
        return decision

    def _sweep(
        self,
        launcher: Launcher,
        call: Arguments,
        arrays: Mapping[str, AnyArray],
        shapes: Mapping[str, tuple[int, ...]],
        alignment: Mapping[str, int],
        *,
        budget_s: float = 10.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        numbers = launcher.numbers(call.extent, shapes, call.scalars)
        copies = {name: _resident(launcher.device, array) for name, array in arrays.items()}
        return tune(
            launcher,
            numbers,
            launcher.workload(numbers, alignment),
            alignment,
            copies,
            call.scalars,
            session.recorder(),
            session.helper(launcher.device),
            budget_s=budget_s,
            progress=progress,
        )

    def _missing(self, device: Device, call: Arguments) -> dict[str, AnyArray]:
        """The outputs that the call did not bring, made."""
        return {
            param.name: _make(
                device, call, out_shape(self._translation, param, call.covered), param.dtype
            )
            for param in self._translation.params
            if param.role is Role.OUT and param.name not in call.arrays
        }

    def _launcher(self, device: Device) -> Launcher:
        launcher = self._launchers.get(device.name)
        if launcher is None:
            launcher = self._launchers[device.name] = Launcher(self._translation, device)
        return launcher

    def __repr__(self) -> str:
        params = ", ".join(str(param) for param in self._translation.params)
        return f"<vyre.kernel {self.name}({params})>"


def _keep(kept: dict[tuple[object, ...], T], key: tuple[object, ...], value: T) -> None:
    if len(kept) >= MOST_KEPT:
        kept.clear()
    with suppress(TypeError):  # what has no hash is not kept
        kept[key] = value


def _device_of(call: Arguments) -> Device:
    for array in call.arrays.values():
        if isinstance(array, DeviceArray):
            return array.device
    return default()


def _make(device: Device, call: Arguments, shape: tuple[int, ...], dtype: DataType) -> AnyArray:
    """A fresh output of the inputs' kind, full of zeros."""
    if any(isinstance(array, DeviceArray) for array in call.arrays.values()):
        return device.zeros(shape, STORAGE[dtype])
    return np.zeros(shape, STORAGE[dtype])


def _resident(device: Device, array: AnyArray) -> DeviceArray:
    """A copy on the device, which a sweep may change."""
    return array.copy() if isinstance(array, DeviceArray) else device.array(array)


@overload
def kernel(fn: Function) -> Kernel: ...
@overload
def kernel(
    *,
    workgroup: int | Sequence[int] | None = None,
    fast_math: bool = False,
    unique_writes: Sequence[str] = (),
) -> Callable[[Function], Kernel]: ...
def kernel(
    fn: Function | None = None,
    *,
    workgroup: int | Sequence[int] | None = None,
    fast_math: bool = False,
    unique_writes: Sequence[str] = (),
) -> Kernel | Callable[[Function], Kernel]:
    """Make a kernel of a function that says what one element does.

    Args:
        fn: The function; its parameters say what it reads, writes and takes by value.
        workgroup: The shape to launch by default, and always where the kernel's meaning needs it.
        fast_math: Allow results that differ in their last bits for speed.
        unique_writes: Outputs of which you state that no element is written by two invocations.
    """

    def make(function: Function) -> Kernel:
        translation = translate(
            function, workgroup=workgroup, fast_math=fast_math, unique_writes=unique_writes
        )
        for param in translation.params:
            if param.name in CALL_WORDS and not (param.name == "out" and param.role is Role.OUT):
                raise InvalidInput(
                    f"parameter {param.name!r} of {translation.name} has a name that every call "
                    f"uses itself: {', '.join(sorted(CALL_WORDS))}",
                    "rename the parameter",
                )
        return Kernel(function, translation)

    return make if fn is None else make(fn)
