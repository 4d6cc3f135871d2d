"""The launch plan: everything a driver needs to enqueue one dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vyre.analysis import Facts
from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir.expr import BufDim, FlatIndex, Id, IdKind
from vyre.ir.program import Program
from vyre.ir.walk import all_expressions
from vyre.model import U32_MAX, Dim3, Mode
from vyre.plan.binding import Binding
from vyre.plan.config import DispatchConfig
from vyre.plan.geometry import (
    LaunchLimits,
    ceil_div,
    dispatch_element_count_for_program,
    infer_dispatch_grid_for_count,
    refuse_wrapping,
    validate_launch_geometry,
)
from vyre.plan.launch_numbers import LaunchNumbers
from vyre.plan.resolve import ColdStart, keep_declared, resolve_launch_workgroup_for_mode
from vyre.plan.words import DispatchShape, dispatch_param_words_into


@dataclass(slots=True)
class LaunchPlan:
    """The geometry and parameter words of one launch.

    The one mutable value of this layer: a driver keeps a plan per kernel, prepares it anew for each
    dispatch and hands the same list of words to its upload, so that a steady loop allocates none.
    """

    element_count: int = 1
    workgroup: Dim3 = (1, 1, 1)
    grid: Dim3 = (1, 1, 1)
    param_words: list[int] = field(default_factory=list)
    max_binding_alignment: int = 1

    @classmethod
    def from_bindings(
        cls,
        program: Program,
        bindings: Sequence[Binding],
        config: DispatchConfig,
        limits: LaunchLimits,
        *,
        mode: Mode = Mode.NATURAL_GRADIENT,
        cold_start: ColdStart = keep_declared,
        facts: Facts | None = None,
        shape: DispatchShape | None = None,
    ) -> LaunchPlan:
        """Make a new plan; see `prepare_into`."""
        plan = cls()
        plan.prepare_into(
            program,
            bindings,
            config,
            limits,
            mode=mode,
            cold_start=cold_start,
            facts=facts,
            shape=shape,
        )
        return plan

    def prepare_into(
        self,
        program: Program,
        bindings: Sequence[Binding],
        config: DispatchConfig,
        limits: LaunchLimits,
        *,
        mode: Mode = Mode.NATURAL_GRADIENT,
        cold_start: ColdStart = keep_declared,
        facts: Facts | None = None,
        shape: DispatchShape | None = None,
    ) -> None:
        """Make this the plan of another launch; on an error it stays as it was.

        Args:
            program: what is launched.
            bindings: its buffers, from a `BindingPlan`.
            config: overrides are authoritative, but must fit the limits.
            limits: what the device can launch.
            mode: whether the workgroup may be chosen at all.
            cold_start: guesses a width where the program is proved not to care.
            facts: what is proved of the program, where the caller has analysed it before.
            shape: what to cover; without it the bindings' lengths say.

        Raises:
            InvalidProgram: a zero, an overflow, a limit or an undecided grid stands in the way.
            InvalidInput: the shape or a count cannot be launched.
        """
        covered = _element_count(program, bindings, config, shape)
        workgroup = resolve_launch_workgroup_for_mode(
            program,
            config,
            limits,
            covered,
            # A cold start knows widths only; a dispatch of more axes keeps its declared shape.
            mode if shape is None or shape.extent[1:] == (1, 1) else Mode.OFF,
            cold_start=cold_start,
            facts=facts,
            numbers=LaunchNumbers.of_launch(bindings, covered, shape),
        )
        validate_launch_geometry(workgroup, (1, 1, 1), limits)
        fixed = config.fixed_grid
        if fixed is None:
            grid = _grid(covered, workgroup, limits, shape)
        else:
            grid = fixed
            covered = _covered_by(fixed, workgroup, limits) if shape is None else covered
        validate_launch_geometry(workgroup, grid, limits)
        refuse_wrapping(workgroup, grid)
        dispatch_param_words_into(bindings, covered, self.param_words, shape)
        self.element_count = covered
        self.workgroup = workgroup
        self.grid = grid
        self.max_binding_alignment = max((b.preferred_alignment for b in bindings), default=1)


def _element_count(
    program: Program,
    bindings: Sequence[Binding],
    config: DispatchConfig,
    shape: DispatchShape | None,
) -> int:
    """Count the elements that the launch covers, before a given grid has its say."""
    if shape is not None:
        if shape.element_count == 0:
            raise InvalidInput(
                f"a dispatch of extent {shape.extent} is empty", "launch nothing for it"
            )
        return shape.element_count
    asked = _asks_for_shape(program)
    if asked is not None:
        raise InvalidInput(
            f"the program uses {asked}, and no dispatch shape is given",
            "pass shape= with the extent and the shapes of the arrays",
        )
    if config.dispatch_elements is not None:
        return config.dispatch_elements
    return dispatch_element_count_for_program(program, bindings)


def _asks_for_shape(program: Program) -> str | None:
    """Name what of the program reads words that only a dispatch shape brings."""
    for expr in all_expressions(program.entry):
        match expr:
            case Id(IdKind.EXTENT, axis):
                return f"extent({axis})"
            case BufDim(buffer) | FlatIndex(buffer) if 0 in program.buffer(buffer).shape:
                return f"the extents of {buffer!r}"
    return None


def _covered_by(grid: Dim3, workgroup: Dim3, limits: LaunchLimits) -> int:
    """Count what a given grid covers along x, which is what the words then say."""
    covered = [size * count for size, count in zip(workgroup, grid, strict=True)]
    for axis, count in zip("xyz", covered, strict=True):
        if count > U32_MAX:
            raise InvalidProgram(
                f"grid {grid} of workgroups {workgroup} covers {count} elements along {axis};"
                f" {U32_MAX} allowed ({limits.backend})",
                "give a smaller grid_override, or split the dispatch",
            )
    return covered[0]


def _grid(count: int, workgroup: Dim3, limits: LaunchLimits, shape: DispatchShape | None) -> Dim3:
    if shape is not None:
        x, y, z = (
            ceil_div(extent, size) for extent, size in zip(shape.extent, workgroup, strict=True)
        )
        return (x, y, z)
    if workgroup[1:] != (1, 1):
        # Elements in a row can be laid over tiles in many ways; a wrong one is silently wrong.
        raise InvalidProgram(
            f"workgroup {workgroup} has no single grid for {count} elements ({limits.backend})",
            "give grid_override, or the shape to cover",
        )
    return infer_dispatch_grid_for_count(count, workgroup)
