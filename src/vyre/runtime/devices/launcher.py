"""Runs one program on one device: picks the code, lays out the words, launches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from vyre.analysis.forms import Symbol
from vyre.analysis.teams import is_team, refuse_teams
from vyre.backend.base import Array, Backend, Memory, Start, Ticket, Unbuilt
from vyre.emit.layout import WordLayout, arguments_of
from vyre.errors import InvalidInput
from vyre.ir.declare import Dim3
from vyre.ir.expr import Id
from vyre.ir.printing import speaks
from vyre.ir.program import Program
from vyre.ir.structure import structural_hash
from vyre.ir.walk import all_expressions
from vyre.lang.among import written
from vyre.model import Code, Schedule, Workload
from vyre.plan.among import named_space, sized, text_of
from vyre.plan.default import default_for, space_for
from vyre.plan.geometry import (
    LaunchLimits,
    refuse_wrapping,
    tile_grid,
    tiles_of,
    validate_launch_geometry,
    why_not_fitted,
)
from vyre.plan.guess import Guess, guess
from vyre.plan.shares import launches_of, room_for, why_not_shares
from vyre.plan.space import (
    Resources,
    Space,
    refuse_unbounded,
)
from vyre.plan.team_groups import group_of, held, why_not_held
from vyre.plan.teams import why_not_free, why_not_group, written_by_teams
from vyre.plan.tiles import Through
from vyre.plan.vectors import LaunchTraits, why_not_vectors
from vyre.plan.workload import workload_of
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.devices.keep import keep
from vyre.runtime.devices.named import dropped_of

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device

Shape = tuple[int, ...]


MOST_PREPARED = 4096
"""Launches kept ready; a stream of ever-new sizes starts anew there."""


MOST_PROVED = 64
"""Launches of which it is kept which schedules may run them: a few hundred each."""


_SIZED = sized(Code())

SMALL_GRID = 65_535
"""Invocations along x and y below which PoCL compiles a form of its own (3.0, by its cache)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about a launch but its arguments."""

    binary: Any
    schedule: Schedule
    grid: Dim3
    workgroup: Dim3
    words: bytes
    start: Start
    backend: Backend

    def timed(self, arguments: Sequence[Any], stream: int) -> Ticket:
        """Launch with arguments on a stream, with its time asked for."""
        return self.backend.launch(
            self.binary,
            self.grid,
            self.workgroup,
            arguments,
            self.words,
            timed=True,
            stream=stream,
        )


def _told_apart(numbers: Numbers, alignment: Mapping[str, int]) -> tuple[object, ...]:
    """All that proofs and layouts ask of a launch."""
    return (
        numbers.extent,
        *numbers.shapes.values(),
        *numbers.scalars.values(),
        *alignment.values(),
    )


class Launchable(Protocol):
    """A program as something that is launched: what it is called, and what it was declared for."""

    @property
    def name(self) -> str: ...
    @property
    def program(self) -> Program: ...
    @property
    def declared_workgroup(self) -> Dim3 | None: ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one launch, as the proofs ask for them."""

    extent: Dim3
    shapes: Mapping[str, Shape]
    scalars: Mapping[str, int]

    def value(self, symbol: Symbol) -> int:
        match symbol.kind:
            case "extent":
                return self.extent[symbol.axis]
            case "len":
                return prod(self.shapes[symbol.name])
            case "dim":
                return self.shapes[symbol.name][symbol.axis]
            case _:
                return self.scalars[symbol.name]


def words_of(layout: WordLayout, extent: Dim3, shapes: Mapping[str, Shape]) -> bytes:
    """The parameter words of a launch over `extent` on arrays of these shapes."""
    words = np.zeros(layout.count, np.uint32)
    words[layout.n] = prod(extent)
    for axis in range(3):
        words[layout.extent(axis)] = extent[axis]
    for name, shape in shapes.items():
        words[layout.length(name)] = prod(shape)
        for axis, place in enumerate(layout.dims.get(name, ())):
            words[place] = shape[axis]
    return words.tobytes()


class Launcher:
    """One program on one device; what it prepared is kept by the launch's numbers."""

    def __init__(self, kernel: Launchable, device: Device) -> None:
        self.kernel, self.device, self.program = kernel, device, kernel.program
        self.facts = device.facts(kernel.program)
        self.limits = LaunchLimits.of(device.name, device.info.limits)
        self.is_named = bool(self.program.options.among)
        self.order = tuple(decl.name for decl in arguments_of(self.program))
        self.structure = structural_hash(self.program)[:16].hex()
        self._prepared: dict[tuple[object, ...], Prepared] = {}
        self._is_placed: bool | None = None
        self._proved: dict[tuple[object, ...], frozenset[Schedule]] = {}
        self._warm: set[tuple[object, ...]] = set()
        self._defaults: dict[tuple[object, ...], Schedule] = {}

    def default(self, numbers: Numbers) -> Schedule:
        """How a launch runs where nothing was learned: checks are left out where it is proved."""
        key = (numbers.extent, *numbers.shapes.values(), *numbers.scalars.values())
        known = self._defaults.get(key)
        if known is None:
            known = keep(self._defaults, key, self._default(numbers), MOST_PREPARED)
        return known

    def _default(self, numbers: Numbers) -> Schedule:
        if self.is_named:
            return self._named_space(numbers).default
        info, declared = self.device.info, self.kernel.declared_workgroup
        made = partial(
            default_for,
            info,
            self.program,
            self.facts,
            numbers,
            declared,
            unchecked=self.facts.has_unchecked_form and self.facts.unchecked_for(numbers),
        )
        usual = made()
        every = self.device.backend.every_threads
        if declared is not None or info.simd is not None or prod(usual.workgroup) <= every:
            return usual
        # Some devices tell only of a compiled kernel how many threads its registers leave.
        (built,) = self.device.binaries([(self.program, usual.code)])
        return usual if isinstance(built, Unbuilt) else made(max_threads=built.max_threads)

    def resources(self, numbers: Numbers) -> Resources:
        """What compiling has told so far; of the default in any case."""
        self.default(numbers)
        return Resources(self.device.max_threads(self.program))

    def _named_space(self, numbers: Numbers) -> Space:
        """The workgroups that the author names, as far as they can run this launch."""
        device = self.device
        return named_space(
            device.info,
            self.program,
            device.facts,
            numbers,
            dropped_of(device, self.program),
            Resources(device.max_threads(self.program)),
        )

    def why_alone(self, numbers: Numbers) -> str | None:
        """Why a launch always runs its default; None where there is something to choose."""
        if speaks(self.program):
            return "what it prints or asserts would be said once for each trial"
        if not self.is_named:
            return next(why_not_free(self.program, self.facts, numbers), None)
        space = self._named_space(numbers)
        if len(space.legal) > 1:
            return None
        return f"of the workgroups that are named {text_of(space.default.workgroup)} alone is left"

    def goes_over(self, numbers: Numbers) -> tuple[int, ...]:
        """The elements of a launch along each axis, as people count them.

        What asks for no position runs once: it goes over the largest of its arrays.

        >>> import vyre
        >>> from vyre import kernels
        >>> launcher = Launcher(kernels.dot._translation, vyre.open("reference"))
        >>> launcher.goes_over(Numbers((1, 1, 1), {"x": (300,), "out": (1,)}, {}))
        (300,)
        """
        x, y, z = numbers.extent
        if prod(numbers.extent) == 1 and not self.is_placed:
            return max(numbers.shapes.values(), key=prod, default=(1,)) or (1,)
        return (z, y, x) if z > 1 else (y, x) if y > 1 else (x,)

    def size(self, numbers: Numbers) -> int:
        """How many elements a launch goes over."""
        return prod(self.goes_over(numbers))

    @property
    def is_placed(self) -> bool:
        """Whether the program asks for a position."""
        if self._is_placed is None:
            asked = all_expressions(self.program.entry)
            self._is_placed = any(isinstance(one, Id) for one in asked)
        return self._is_placed

    def asked(self, schedule: Schedule) -> Schedule:
        """A schedule that somebody asks for, compiled for its workgroup where that is named."""
        if not self.is_named or schedule.code.sized:
            return schedule
        return replace(schedule, code=sized(schedule.code))

    def forget(self) -> None:
        """Find out anew what may run each launch."""
        self._prepared.clear()
        self._proved.clear()
        self._defaults.clear()

    def numbers(
        self, extent: Dim3, shapes: Mapping[str, Shape], scalars: Mapping[str, np.generic]
    ) -> Numbers:
        """What the proofs may ask about a launch."""
        whole = {name: int(v) for name, v in scalars.items() if isinstance(v, np.integer)}
        return Numbers(extent, shapes, whole)

    def workload(self, numbers: Numbers, alignment: Mapping[str, int]) -> Workload:
        """What a choice for this launch is remembered for."""
        return workload_of(
            self.program,
            self.facts,
            self.device.info,
            numbers.extent,
            {name: prod(shape) for name, shape in numbers.shapes.items()},
            numbers.scalars,
            alignment,
            unchecked=self.facts.has_unchecked_form and self.facts.unchecked_for(numbers),
            structure=self.structure,
        )

    def guess(self, space: Space, numbers: Numbers) -> Guess:
        """The schedules of a space in the order of what they are expected to take."""
        device = self.device
        if self.is_named:  # what workgroups are worth that work together, no model says
            return Guess(space.legal, ())
        return guess(space, self.program, self.facts, device.info, numbers, device.correction)

    @property
    def loaded(self) -> frozenset[Code]:
        """The codes of the program that can be launched here at once."""
        return self.device.codes(self.program)

    def space(
        self,
        numbers: Numbers,
        alignment: Mapping[str, int],
        *,
        among: Collection[Code] | None = None,
    ) -> Space:
        """The schedules that may run this launch, and the default; of some codes, or all."""
        if self.is_named:
            found = self._named_space(numbers)
        else:
            found = space_for(
                self.device.info,
                self.program,
                self.facts,
                numbers,
                self.kernel.declared_workgroup,
                LaunchTraits(alignment),
                self.resources(numbers),
                among=among,
            )
        of = _told_apart(numbers, alignment)
        proved = self._proved.get(of, frozenset()) | frozenset(found.legal)
        keep(self._proved, of, proved, MOST_PROVED)
        return found

    @property
    def has_run(self) -> bool:
        """Whether anything of this kernel was compiled and launched here."""
        return bool(self._warm)

    def is_warm(self, numbers: Numbers, schedule: Schedule) -> bool:
        """Whether launching it so would compile nothing."""
        return self._form(numbers, schedule) in self._warm

    def warmed(self, numbers: Numbers, schedule: Schedule) -> None:
        """It was launched so, here or by the compile helper."""
        self._warm.add(self._form(numbers, schedule))

    def _form(self, numbers: Numbers, schedule: Schedule) -> tuple[object, ...]:
        """What drivers compile apart: everywhere the code, for some the workgroup as well."""
        if not self.device.backend.compiles_per_workgroup:
            return (schedule.code,)
        grid, workgroup = tile_grid(numbers.extent, schedule), schedule.workgroup
        widest = max(grid[0] * workgroup[0], grid[1] * workgroup[1])
        return (schedule.code, workgroup, widest < SMALL_GRID)

    def prepare(
        self, numbers: Numbers, alignment: Mapping[str, int], schedule: Schedule | None = None
    ) -> Prepared:
        """The launch for these numbers, every limit checked; without a schedule, the default one.

        Raises:
            InvalidInput: the schedule could change the result of this launch, or cannot run it.
            DeviceFailed: the compiler refused it.
        """
        key = (_told_apart(numbers, alignment), schedule)
        known = self._prepared.get(key)
        if known is None:
            made = self._prepare(numbers, alignment, schedule)
            known = keep(self._prepared, key, made, MOST_PREPARED)
        return known

    def _prepare(
        self, numbers: Numbers, alignment: Mapping[str, int], schedule: Schedule | None
    ) -> Prepared:
        if schedule is None:
            schedule = self.default(numbers)
        elif schedule not in self._proved.get(_told_apart(numbers, alignment), ()):
            self._refuse_unproved(schedule, numbers, alignment)
        binary = self.device.binary(self.program, schedule.code)
        workgroup = schedule.block
        for axis in range(3):
            if schedule.tile[axis] > 1 and axis not in binary.guarded:
                raise InvalidInput(
                    f"{schedule.text} covers {schedule.tile[axis]} positions along axis {axis}, "
                    f"which {self.kernel.name} does not use",
                    "give that axis size 1",
                )
        grid = tile_grid(numbers.extent, schedule)
        if schedule.code.loaders and prod(workgroup) > self.device.info.limits.max_threads:
            raise InvalidInput(
                f"{schedule.text} is {prod(workgroup)} threads, loaders counted in; "
                f"{self.device.name} allows {self.device.info.limits.max_threads}",
                "use fewer loaders, or a smaller workgroup",
            )
        validate_launch_geometry(workgroup, grid, self.limits)
        tiles = tiles_of(numbers.extent, schedule)
        code = schedule.code
        if code.abreast > 1:
            refuse_wrapping(schedule.tile, tiles)
        else:
            refuse_wrapping(schedule.workgroup, tiles, code.items_by_axis, lanes=code.lanes)
        if binary.max_threads and prod(workgroup) > binary.max_threads:
            raise InvalidInput(
                f"workgroup {workgroup} is {prod(workgroup)} threads; {self.kernel.name} compiled "
                f"for {self.device.info.model} allows {binary.max_threads}",
                f"use a workgroup of at most {binary.max_threads} threads",
            )
        if room := room_for(self.program, schedule.code, numbers):
            launches = launches_of(self.program, schedule.code)
            binary = replace(binary, room=room, launches=launches)
        words = words_of(binary.layout, numbers.extent, numbers.shapes)
        start = self.device.backend.bind(binary, grid, workgroup, words)
        return Prepared(binary, schedule, grid, workgroup, words, start, self.device.backend)

    def _refuse_unproved(
        self, schedule: Schedule, numbers: Numbers, alignment: Mapping[str, int]
    ) -> None:
        """Refuse a schedule that could change the result of this launch, or break its compiler."""
        code, name = schedule.code, self.kernel.name
        if self.is_named:
            self._refuse_unnamed(schedule, numbers)
        program, facts = self.facts.alone or (self.program, self.facts)
        if is_team(code):
            refuse_teams(self.program, code)
            self._refuse_wide_team(code)
        if (no_team := why_not_group(schedule, self.device.info)) is not None:
            without = replace(code, depth=0, group=None)
            fix = f"use {group_of(without)}" + (", and depth=0" if code.depth else "")
            raise InvalidInput(
                f"workgroup {schedule.workgroup} for this call of {name}: {no_team}", fix
            )
        if (no_shares := why_not_shares(self.program, code, numbers)) is not None:
            raise InvalidInput(
                f"{code.shares} shares of a result of this call of {name}: {no_shares}",
                "use Code(shares=1)",
            )
        written = written_by_teams(self.program, code) if code.lanes > 1 else program
        refuse_unbounded(code, self.device.info.simd, written)
        if not code.checked and not self.facts.unchecked_for(numbers):
            raise InvalidInput(
                f"{schedule.text} leaves out bounds checks that this call of {name} needs",
                "use a schedule with Code(checked=True)",
            )
        if (partial := why_not_fitted(numbers.extent, schedule)) is not None:
            raise InvalidInput(
                f"{schedule.text} for this call of {name}: {partial}",
                "use a schedule without Code(fitted=True)",
            )
        default = self.default(numbers)
        if not self.is_named and schedule not in (default, replace(default, code=Code())):
            for why in why_not_free(self.program, self.facts, numbers):
                raise InvalidInput(
                    f"{schedule.text} could change the result of this call of {name}: {why}",
                    "leave schedule= out; a workgroup is declared with @vyre.kernel(workgroup=...)",
                )
        if self.device.info.simd is not None:
            return  # lanes load from any address
        traits, kind = LaunchTraits(alignment), self.device.info.kind
        why_not = why_not_vectors(code, facts, program, numbers, kind, traits)
        if why_not is not None:
            raise InvalidInput(
                f"vectors of {code.vector} for this call of {name}: {why_not}",
                "use Code(vector=1), or a schedule that kernel.tune found",
            )
        if is_team(code):
            return
        through = Through(facts, program)
        why_not = through.why_not(code, numbers, kind, traits, self.device.info.limits)
        if why_not is not None:
            raise InvalidInput(
                f"depth {code.depth} for this call of {name}: {why_not}", "use Code(depth=0)"
            )

    def _refuse_wide_team(self, code: Code) -> None:
        """Refuse teams that no workgroup of the device holds."""
        info, name = self.device.info, self.kernel.name
        if info.simd is not None or code.lanes == 1:
            return
        if 0 < (most := info.limits.max_threads) < code.lanes:
            raise InvalidInput(
                f"teams of {code.lanes} lanes for this call of {name}; "
                f"{self.device.name} allows workgroups of {most} threads",
                f"use Code(lanes={1 << (most.bit_length() - 1)})",
            )
        if (why_not := why_not_held(self.program, code, info.limits)) is not None:
            fewer = held(self.program, code, info.limits)
            what, fix = f"teams of {code.lanes} lanes", f"Code(lanes={fewer.lanes})"
            if code.abreast > 1:
                what, fix = f"{code.abreast} teams abreast", f"abreast={fewer.abreast}"
            raise InvalidInput(
                f"{what} for this call of {name}: {why_not}",
                f"use {fix} and workgroup {group_of(fewer)}",
            )

    def _refuse_unnamed(self, schedule: Schedule, numbers: Numbers) -> None:
        """Refuse what is not one of the workgroups that are named, or is left out, and say why."""
        space = self._named_space(numbers)
        usual = next((one for one in space.legal if one.workgroup == schedule.workgroup), None)
        if usual is not None:
            unchecked = replace(_SIZED, checked=usual.code.checked)  # where that is proved of it
            plain = (replace(usual, code=code) for code in (_SIZED, unchecked))
            if schedule in (usual, *plain):
                return
            raise InvalidInput(
                f"{schedule.text} for {self.kernel.name}, whose lanes work together",
                f"use vyre.Schedule({usual.workgroup}) alone",
            )
        named = ", ".join(written(one.workgroup) for one in space.legal)
        wanted = f"workgroup {text_of(schedule.workgroup)}"
        why = next((one.why for one in space.refused if one.what == wanted), "it is not named")
        raise InvalidInput(
            f"workgroup {written(schedule.workgroup)} for this call of {self.kernel.name}: {why}",
            f"use one of {named}, or leave schedule= out",
        )

    def run_host(
        self,
        prepared: Prepared,
        arrays: Mapping[str, Array],
        scalars: Mapping[str, np.generic],
        *,
        timed: bool = False,
    ) -> Ticket:
        """Launch on host arrays and wait for the result."""
        given = {**arrays, **{name: np.array([value]) for name, value in scalars.items()}}
        return self.device.run(
            prepared.binary,
            prepared.grid,
            prepared.workgroup,
            given,
            self.program,
            prepared.words,
            timed=timed,
        )

    def arguments(
        self, arrays: Mapping[str, DeviceArray], scalars: Mapping[str, np.generic]
    ) -> list[Memory | np.generic]:
        """Arrays and scalars in the order of the kernel's arguments."""
        return [scalars[name] if name in scalars else arrays[name].argument for name in self.order]

    def run_resident(
        self,
        prepared: Prepared,
        arrays: Mapping[str, DeviceArray],
        scalars: Mapping[str, np.generic],
        *,
        timed: bool = False,
        stream: int = 0,
    ) -> Ticket:
        """Launch on device arrays and return at once."""
        arguments = self.arguments(arrays, scalars)
        return self.device.backend.launch(
            prepared.binary,
            prepared.grid,
            prepared.workgroup,
            arguments,
            prepared.words,
            timed=timed,
            stream=stream,
        )
