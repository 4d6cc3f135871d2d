"""A device as its user holds it: arrays that stay there, programs that run there."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vyre.analysis import Facts, analyse, check_barriers, check_workgroups
from vyre.backend.base import Array, Backend, Compiled, Job, Loads, Memory, Ticket, Unbuilt
from vyre.errors import DeviceFailed, InvalidInput, labelled
from vyre.ir.among import compiled_for
from vyre.ir.declare import BufferDecl, Dim3
from vyre.ir.expr import Id
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.validate import check
from vyre.ir.walk import all_expressions
from vyre.learn.explain import Explanation
from vyre.model import Code, DeviceInfo, Mode, Schedule, Workload
from vyre.plain import shown
from vyre.plan import BindingPlan, DispatchConfig, LaunchLimits, LaunchPlan, refuse_unsupported
from vyre.plan.among import sized
from vyre.plan.binding import Binding, BindingRole
from vyre.plan.default import default_for
from vyre.plan.guess import Correction
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.space import refuse_unbounded
from vyre.plan.vectors import why_never_vectors
from vyre.runtime.arrays.array import DeviceArray, extents_of, host_zeros, is_masked
from vyre.runtime.arrays.lending import Loan, Loans
from vyre.runtime.devices.programs import Programs

if TYPE_CHECKING:
    from vyre.runtime.devices.launcher import Launcher, Numbers

log = logging.getLogger("vyre.calls")

Bytes = NDArray[np.uint8]

HONOURED = frozenset(
    {"workgroup_override", "grid_override", "dispatch_elements", "dispatch_grid", "label"}
    | {"max_output_bytes", "fixpoint_iterations"}
)


_MANY = 4096

MOST_BYTES = (1 << 63) - 1
"""What no address reaches beyond, on any device."""


class Device:
    """One device: `array` and `dispatch`, and what kernels need of it."""

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self.backend = backend
        self._built: dict[tuple[bytes, Code], Any] = {}
        self._facts: dict[bytes, Facts] = {}
        self.correction: Correction | None = None  # of guesses, by what was timed here
        self.corrected_by = 0  # workloads that it was last reckoned from
        self.launched: dict[Workload, tuple[Launcher, Numbers]] = {}  # what is being learned
        self.dropped: dict[bytes, dict[Dim3, str]] = {}  # workgroups that are named, by program
        self._building = threading.Lock()
        self.loans = Loans(backend)
        self.programs = Programs(self)
        _devices.add(self)

    @property
    def info(self) -> DeviceInfo:
        return self.backend.info

    def __repr__(self) -> str:
        return f"<Device {self.name}: {self.info.model}>"

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, _: object) -> Device:
        return self

    def __reduce__(self) -> str:
        raise InvalidInput(
            f"{self!r} cannot be pickled: another process has its own",
            f"pass its name, and open it there with vyre.open({self.name!r})",
        )

    # -- arrays

    def array(self, values: ArrayLike) -> DeviceArray:
        """A copy of `values` that stays on this device."""
        host, shape = _as_array(values, f"an array on {self.name}")
        made = self.empty(shape, host.dtype)
        self.backend.upload(made.memory, host)
        return made

    def empty(self, shape: int | Sequence[int], dtype: Any) -> DeviceArray:
        """An array on this device whose elements are not set."""
        extents = extents_of(shape)
        try:
            kind = np.dtype(dtype)
        except (TypeError, ValueError, RuntimeError):
            raise InvalidInput(
                f"an array of {shown(dtype)} on {self.name}",
                "give it a dtype of NumPy's, such as numpy.float32",
            ) from None
        if kind.hasobject or not kind.itemsize:
            raise InvalidInput(
                f"an array of {kind.name} on {self.name}", "give it a dtype of plain numbers"
            )
        nbytes = prod(extents) * kind.itemsize
        if nbytes > MOST_BYTES:
            raise InvalidInput(
                f"an array of shape {shown(extents)} on {self.name}",
                f"use a shape of at most {MOST_BYTES:,} bytes",
            )
        return DeviceArray(self, self.backend.alloc(nbytes), extents, kind)

    def zeros(self, shape: int | Sequence[int], dtype: Any) -> DeviceArray:
        """An array of zeros on this device."""
        made = self.empty(shape, dtype)
        self.backend.clear(made.memory, made.nbytes)
        return made

    def download(self, array: DeviceArray, host: Array) -> None:
        """Copy a device array into a host array, after every call before."""
        self.backend.download(array.memory, host)

    def synchronize(self) -> None:
        """Wait for every call so far."""
        self.backend.synchronize()

    # -- programs

    def facts(self, program: Program) -> Facts:
        """What is proved of a program, found out once."""
        name = program.fingerprint()
        known = self._facts.get(name)
        if known is None:
            check(program)
            check_workgroups(program)
            known = self._facts[name] = analyse(compiled_for(program, program.workgroup_size))
        return known

    def binary(self, program: Program, code: Code) -> Any:
        """The program compiled as `code` says, built once.

        Raises:
            DeviceFailed: the compiler refused it; its log is in the error.
        """
        (built,) = self.binaries([(program, code)])
        if isinstance(built, Unbuilt):
            raise DeviceFailed(
                f"{built.reason}:\n{built.log.strip()}",
                built.fix
                or "look for the construct that the compiler names; if the kernel is right, "
                "report it with this text",
            )
        return built

    def max_threads(self, program: Program) -> dict[Code, int]:
        """The widest workgroup of each code of a program that was compiled here, where it says."""
        built = self._built_of(program)
        return {code: one.max_threads for code, one in built.items() if one.max_threads}

    def codes(self, program: Program) -> frozenset[Code]:
        """The codes of a program that were built here."""
        return frozenset(self._built_of(program))

    def _built_of(self, program: Program) -> dict[Code, Any]:
        name = program.fingerprint()
        # Of a copy: items() may let a collection of garbage in, and so other threads, which build.
        return {
            code: built
            for (known, code), built in self._built.copy().items()
            if known == name and not isinstance(built, Unbuilt)
        }

    def usual_code(self, program: Program) -> Code:
        """The code of the default schedule, of launches of many elements, with all its checks."""
        axes = {expr.axis for expr in all_expressions(program.entry) if isinstance(expr, Id)}
        extent = (_MANY, _MANY if 1 in axes else 1, _MANY if 2 in axes else 1)
        numbers = LaunchNumbers.of_extent(program, extent)
        if program.options.among:
            workgroup = program.workgroup_size
            own = compiled_for(program, workgroup)
            usual = default_for(self.info, own, self.facts(own), numbers, workgroup)
            return Schedule(workgroup, sized(usual.code)).code
        return default_for(self.info, program, self.facts(program), numbers).code

    def source(self, program: Program, code: Code) -> str:
        """What a device of this kind compiles for a code; where nothing is compiled, OpenCL's.

        Raises:
            InvalidInput: no launch could run the code here.
        """
        refuse_unbounded(code, self.info.simd, program)
        facts = self.facts(program)
        if self.info.simd is None:  # lanes load from any address
            why_not = why_never_vectors(code, facts, program, self.info.kind)
            if why_not is not None:
                raise InvalidInput(
                    f"vectors of {code.vector}: {why_not}",
                    "use Code(vector=1), or a schedule that kernel.tune found",
                )
        return self.backend.source(self._job(program, code))

    def binaries(self, wanted: Sequence[tuple[Program, Code]]) -> list[Any | Unbuilt]:
        """All of them compiled, what is missing in one build."""
        keys = [(program.fingerprint(), code) for program, code in wanted]
        if any(key not in self._built for key in keys):
            with self._building:
                missing = {
                    key: self._job(*pair)
                    for key, pair in zip(keys, wanted, strict=True)
                    if key not in self._built
                }
                if missing:
                    built = self.backend.build(list(missing.values()))
                    self._built.update(zip(missing, built, strict=True))
        return [self._built[key] for key in keys]

    def _job(self, program: Program, code: Code) -> Job:
        """What to compile of a program for a code."""
        own = compiled_for(program, code.group)
        return Job(own, code, self.facts(own))

    def load(self, program: Program, made: Mapping[Code, Compiled]) -> list[Any | Unbuilt]:
        """What the compile helper made of a program, in the order of its codes.

        Nothing is emitted or compiled for it here, unless it is not kept any more.
        """
        name = program.fingerprint()
        with self._building:
            missing = [code for code in made if (name, code) not in self._built]
            if missing:
                backend = self.backend
                jobs = [self._job(program, code) for code in missing]
                if isinstance(backend, Loads):
                    built = backend.load(jobs, [made[code] for code in missing])
                else:
                    built = backend.build(jobs)
                self._built.update(zip([(name, code) for code in missing], built, strict=True))
        return [self._built[name, code] for code in made]

    def dispatch(
        self,
        program: Program,
        inputs: Sequence[bytes | Array],
        config: DispatchConfig | None = None,
    ) -> list[Array]:
        """Run a program built by hand, once.

        Where its result is proved not to depend on how it is launched, and `config` leaves that
        open, it is launched as was learned from the dispatches so far; `explain` tells.

        Args:
            program: what to run; it is validated first.
            inputs: for each input, in-out and uniform buffer in declaration order, its bytes or an
                array.
            config: overrides and limits; what this device does not honour is refused.

        Returns:
            An array for each output in declaration order.
        """
        config = DispatchConfig() if config is None else config
        for what, value, wanted in (
            ("program", program, Program),
            ("inputs", inputs, Sequence),
            ("config", config, DispatchConfig),
        ):
            if not isinstance(value, wanted) or isinstance(value, (str, bytes)):
                raise InvalidInput(
                    f"{what} of a dispatch is {shown(value)}", f"pass a {wanted.__name__}"
                )
        with labelled(config.label):
            return self._dispatch(program, inputs, config)

    def explain(self, program: Program) -> Explanation:
        """What is proved of a program that was dispatched here, how it runs, and why."""
        if not isinstance(program, Program):
            raise InvalidInput(f"program is {shown(program)}", "pass a Program")
        return self.programs.explain(program)

    def _dispatch(
        self, program: Program, inputs: Sequence[bytes | Array], config: DispatchConfig
    ) -> list[Array]:
        refuse_unsupported(config, self.name, HONOURED)
        facts = self.facts(program)
        taking = [decl for decl in program.buffers if BindingRole.of(decl).takes_input]
        given = [
            _as_bytes(value, decl) for value, decl in zip_longest(inputs, taking[: len(inputs)])
        ]
        bindings = BindingPlan.from_borrowed_inputs(program, [part.data for part in given]).bindings
        limits = LaunchLimits.of(self.info.backend, self.info.limits)
        plan = LaunchPlan.from_bindings(
            program, bindings, config, limits, mode=Mode.OFF, facts=facts
        )
        if plan.workgroup != program.workgroup_size and not program.options.among:
            # Along an axis of one lane all agree; a wider workgroup is another matter.
            check_barriers(program.with_workgroup_size(plan.workgroup))
        arrays = {
            item.name: _storage(program, item, given, plan.element_count)
            for item in bindings
            if not item.is_shared
        }
        outputs = [
            arrays[item.name]
            for item in sorted(bindings, key=lambda item: item.buffer_index)
            if item.role in (BindingRole.OUTPUT, BindingRole.INPUT_OUTPUT)
        ]
        total = sum(array.nbytes for array in outputs)
        if config.max_output_bytes is not None and total > config.max_output_bytes:
            raise InvalidInput(
                f"the outputs take {total} bytes; max_output_bytes is {config.max_output_bytes}",
                "raise max_output_bytes, or dispatch fewer elements",
            )
        if self.programs.run(program, config, plan.element_count, arrays):
            return outputs
        extent = _extent(plan, config)
        numbers = LaunchNumbers.of_extent(program, extent)
        usual = default_for(self.info, program, facts, numbers, plan.workgroup)
        if program.options.among:
            usual = replace(usual, code=sized(usual.code))
        binary = self.binary(program, usual.code)
        given_words = [*plan.param_words, *extent, *_dims(program)]
        words = np.zeros(binary.layout.count, np.uint32)
        words[: len(given_words)] = given_words
        for item in bindings:
            if item.input_index is not None and item.name in binary.layout.lengths:
                # Given with no elements it has none: the plan takes 0 for a length nobody knows.
                words[binary.layout.length(item.name)] = arrays[item.name].size
        if config.label is not None:
            log.debug("%s: grid %s of %s on %s", config.label, plan.grid, plan.workgroup, self.name)
        for _ in range(config.fixpoint_iterations or 1):
            self.run(binary, plan.grid, plan.workgroup, arrays, program, words.tobytes())
        return outputs

    def run(
        self,
        binary: Any,
        grid: Dim3,
        workgroup: Dim3,
        arrays: Mapping[str, Array],
        program: Program,
        words: bytes,
        *,
        timed: bool = False,
    ) -> Ticket:
        """Launch on host arrays and wait: what was written is in them when this returns."""
        declared = {decl.name: decl for decl in program.buffers}
        backend = self.backend

        def work(loan: Loan) -> Ticket:
            borrowed: dict[str, Memory] = {}
            arguments = []
            for name in binary.arguments:
                array = arrays[name]
                if declared[name].is_scalar_argument:
                    arguments.append(array.reshape(-1)[0])
                else:
                    borrowed[name] = loan.lend(backend.borrow(array, read=True), array)
                    arguments.append(borrowed[name])
            ticket = backend.launch(binary, grid, workgroup, arguments, words, timed=timed)
            for name, memory in borrowed.items():
                if declared[name].is_written:
                    backend.return_to(memory, arrays[name])
            ticket.wait()
            return ticket

        return self.loans.during(work)


def _as_array(values: Any, where: str) -> tuple[Array, tuple[int, ...]]:
    """Values in one piece, and their shape, which NumPy has no 0-d form of then.

    Raises:
        InvalidInput: they make no array, or one of which a device would not see the mask.
    """
    if is_masked(values):
        raise InvalidInput(
            f"{where}, of a masked array, whose mask would be lost",
            "pass x.filled(value) with what stands for the masked elements",
        )
    try:
        return np.ascontiguousarray(values), np.shape(values)
    except MemoryError:
        raise DeviceFailed(
            f"{where}: the host has no memory to bring its elements together",
            "pass an array that is contiguous, or part of it",
        ) from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"{where}, of a {type(values).__name__}: {error}", "pass an array of numbers"
        ) from None


def _as_bytes(value: bytes | Array, decl: BufferDecl | None) -> Bytes:
    """The bytes of an input, not copied where they lie in one piece."""
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    array, _ = _as_array(value, "an input of a dispatch")
    if array.dtype.hasobject:
        raise InvalidInput("an input of a dispatch, of objects", "pass an array of numbers")
    if decl is not None and decl.element in STORAGE:
        wanted, size = STORAGE[decl.element], array.dtype.itemsize
        if size not in (wanted.itemsize, 1):  # one byte each may stand for anything
            raise InvalidInput(
                f"input {decl.name!r} is {array.dtype.name}, not {decl.element} ({wanted.name})",
                f"pass an array of {wanted.name}, or x.tobytes() if its bytes are meant",
            )
    return array.reshape(-1).view(np.uint8)


def _storage(program: Program, item: Binding, given: Sequence[Bytes], n: int) -> Array:
    decl = program.buffers[item.buffer_index]
    dtype = STORAGE[decl.element]
    if item.input_index is None:
        return host_zeros((item.element_count or n,), dtype, decl.name)
    held = given[item.input_index].view(dtype)
    return held.copy() if decl.is_written else held


def _extent(plan: LaunchPlan, config: DispatchConfig) -> Dim3:
    if config.fixed_grid is None:
        return (plan.element_count, 1, 1)
    x, y, z = (size * count for size, count in zip(plan.workgroup, plan.grid, strict=True))
    return (x, y, z)


def _dims(program: Program) -> list[int]:
    """The extents of 2-D and 3-D buffers, which hand-built programs must fix."""
    found: list[int] = []
    for decl in sorted(program.buffers, key=lambda decl: decl.binding):
        if decl.rank > 1 and not decl.is_shared:
            found += decl.shape
    return found


_devices: weakref.WeakSet[Device] = weakref.WeakSet()


def _after_fork() -> None:
    for device in tuple(_devices):
        device._building = threading.Lock()  # whoever was building was not copied


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
