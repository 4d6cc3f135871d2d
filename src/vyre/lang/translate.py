"""A Python function's source -> a program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vyre.errors import InvalidInput, LanguageError
from vyre.ir.declare import Dim3, Named, Options
from vyre.ir.expr import Lit, Load
from vyre.ir.node import Node, Return
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import MAX_DEPTH, size_of
from vyre.lang.among import Among, Axes, axes_of, dim3
from vyre.lang.annotations import (
    annotation_of,
    check_default,
    defaults_of,
    parameters_of,
    refuse_default_of_array,
)
from vyre.lang.control import NESTED_TOO_DEEP
from vyre.lang.covering import Covering, covering_of
from vyre.lang.inline import Body, Inliner, without_docstring
from vyre.lang.intrinsics import Function
from vyre.lang.params import (
    MAX_RANK,
    Param,
    Refused,
    Role,
    Types,
    decided,
    read_parameter,
    variable_of,
)
from vyre.lang.scopes import Alias, Bound, Buffer, Env, Frame, assigned_names, growing_names
from vyre.lang.source import Location, Place, Places, Source, find_source
from vyre.lang.values import Decisions, Restart, Value, Variable, fits
from vyre.lang.wrapping import check_wrapping
from vyre.plain import shown

DEFAULT_WORKGROUP: Dim3 = (64, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A kernel's source as a program, and what a caller must know to run it."""

    name: str
    program: Program
    params: tuple[Param, ...]
    rank: int  # dimensions of the dispatch; 0 where the kernel asks for no position, and runs once
    declared_workgroup: Dim3 | None  # fastest axis first, as in the program
    location: Location
    has_signed_positions: bool = False  # whether it takes positions as i32
    covering: Covering = field(default_factory=Covering)
    places: Places = field(default_factory=Places, compare=False, repr=False)


def translate(
    fn: Callable[..., Any] | Source,
    *,
    workgroup: int | Sequence[int] | Among | None = None,
    fast_math: bool = False,
    unique_writes: str | Iterable[str] = (),
    types: Mapping[Types, DataType] | None = None,
) -> Translation:
    """The program that `fn` describes, one element at a time.

    Args:
        fn: A plain function whose parameters are annotated with `In`, `Out`, `InOut` or a type, or
            its source.
        workgroup: The declared workgroup, axes in NumPy's order; a number is the last axis. Or
            several of which the author states that they compute the same.
        fast_math: Whether sums fuse with the products in them, and functions may be approximate.
        unique_writes: Arrays, or one, whose elements are each written by one invocation at most.
        types: What stands for each type that the parameters leave open.

    Raises:
        LanguageError: a line that is not part of the kernel language, with a way to write it.
    """
    source = fn if isinstance(fn, Source) else find_source(fn)
    chosen = types or {}
    params = _parameters(source, chosen)
    sizes = _sizes(source.name, workgroup)
    if not isinstance(fast_math, bool):  # any word is true, "no" as well
        raise InvalidInput(
            f"fast_math= of {source.name} is {shown(fast_math)}", "pass True or False"
        )
    options = Options(fast_math=fast_math, unique_writes=_unique(source, params, unique_writes))
    decisions, bodies = Decisions(), dict[Function, Body]()
    while True:
        try:
            return _translate_once(source, params, sizes, options, decisions, bodies, chosen)
        except Restart:
            continue


def _translate_once(
    source: Source,
    params: tuple[Param, ...],
    sizes: tuple[Axes, ...],
    options: Options,
    decisions: Decisions,
    bodies: dict[Function, Body],
    chosen: Mapping[Types, DataType],
) -> Translation:
    declared = tuple(param.declare(binding) for binding, param in enumerate(params))
    workgroups = tuple(dim3(axes) for axes in sizes)
    declared_workgroup = workgroups[0] if workgroups else None
    body = without_docstring(source.tree.body)
    frame = Frame(source, Env(), assigned_names(body), growing_names(body))
    work = Inliner(
        frame, decisions, declared_workgroup, bodies, fast_math=options.fast_math, chosen=chosen
    )
    work.workgroups = workgroups
    for param, decl in zip(params, declared, strict=True):
        work.names.fresh(param.name)
        work.declare(decl)
    frame.env = _parameter_names(work, params)
    try:
        work.block(body)
    except LanguageError:
        if work.is_stale:  # it may be wrong about lines before the one that decided
            raise Restart from None
        raise
    if work.is_stale:
        raise Restart
    _decide_open(work.variables, decisions)
    _check_unpacked(work, decisions.rank)
    for axes in sizes:
        _check_rank(source.name, axes, decisions.rank)
    rank = decisions.rank if work.is_placed else 0
    nodes: list[Node] = work.out
    if nodes and isinstance(nodes[-1], Return):
        nodes.pop()
    _check_depth(nodes, work.places)
    if len(workgroups) > 1:
        options = replace(options, among=_named(workgroups, work.by_workgroup))
    program = Program.wrapped(
        work.buffers.values(), declared_workgroup or DEFAULT_WORKGROUP, nodes, options
    )
    places = Places(work.places)
    for workgroup in workgroups or (None,):
        check_wrapping(program, places, workgroup)
    return Translation(
        name=source.name,
        program=program,
        params=params,
        rank=rank,
        declared_workgroup=declared_workgroup,
        location=source.location,
        has_signed_positions=work.has_signed_positions,
        covering=covering_of(program, rank) if _has_other_axes(params, rank) else Covering(),
        places=places,
    )


def _has_other_axes(params: tuple[Param, ...], rank: int) -> bool:
    """Whether a call may read arrays of other axes than what it covers."""
    return any(param.rank != rank for param in params if param.role in (Role.IN, Role.INOUT))


def _check_unpacked(work: Inliner, rank: int) -> None:
    """Refuse positions for fewer names than there are axes: which axes is a guess."""
    for place, name, count in work.unpacked:
        if count != rank:
            taken = "1 name takes" if count == 1 else f"{count} names take"
            names = ", ".join(("i", "j", "k")[:rank])
            raise place.error(
                f"{taken} vyre.{name}(), and the kernel uses {rank} axes",
                f"take them all, {names} = vyre.{name}(), or name one: vyre.{name}(0)",
            )


def _check_depth(nodes: Sequence[Node], places: Mapping[int, Place]) -> None:
    for node in nodes:
        depth = size_of([node]).depth + 1  # the region around them
        if depth > MAX_DEPTH:
            raise places[id(node)].error(
                f"this nests {depth} levels deep; {MAX_DEPTH} allowed", NESTED_TOO_DEEP
            )


def type_variables(source: Source) -> dict[str, Types]:
    """The parameters whose type each call decides, in order.

    Raises:
        LanguageError: one stands at numbers alone, so that no array decides it.
    """
    arguments = parameters_of(source)
    annotations = {one.arg: annotation_of(source, one) for one in arguments}
    found = {
        name: variable
        for name, annotation in annotations.items()
        if (variable := variable_of(annotation)) is not None
    }
    by_arrays = {found[name] for name in found if not isinstance(annotations[name], Types)}
    for argument in arguments:
        if argument.arg in found and found[argument.arg] not in by_arrays:
            one = found[argument.arg]
            assert argument.annotation is not None
            raise source.error(
                argument.annotation,
                f"the type of {argument.arg!r} is one of {one}, and no array decides which",
                f"write the type, {argument.arg}: {one.members[0]}, or give an array the same one",
            )
    return found


def _parameters(source: Source, chosen: Mapping[Types, DataType]) -> tuple[Param, ...]:
    found = []
    defaults = defaults_of(source)
    for argument in parameters_of(source):
        if argument.annotation is None:
            raise source.error(
                argument,
                f"parameter {argument.arg!r} has no type",
                f"write {argument.arg}: In[f32], {argument.arg}: Out[f32] or {argument.arg}: f32",
            )
        annotation = decided(annotation_of(source, argument), chosen)
        match read_parameter(argument.arg, annotation):
            case Refused(problem, fix):
                raise source.error(argument.annotation, problem, fix)
            case Param() as param:
                default = defaults.get(param.name)
                if default is not None:
                    refuse_default_of_array(source, argument, default.node)
                    check_default(source, param.name, default, param.dtype)
                    param = replace(param, default=default.number)
                found.append(param)
    return tuple(found)


def _parameter_names(work: Inliner, params: tuple[Param, ...]) -> Env:
    env = Env()
    for param, argument in zip(params, parameters_of(work.frame.source), strict=True):
        if param.role is not Role.SCALAR:
            env[param.name] = Buffer(work.buffers[param.name], edge=param.edge)
            continue
        node = ast.copy_location(ast.Name(param.name, ast.Load()), argument)
        value = Value.typed(node, param.dtype, Load(param.name, Lit.of(DataType.U32, 0)))
        if param.name in work.frame.assigned:
            variable = work.variable(param.name, (param.name,))
            work.let(variable, value)
            env[param.name] = Bound(variable)
        else:
            env[param.name] = Alias(value)
    return env


def _decide_open(variables: list[Variable], decisions: Decisions) -> None:
    """Give variables that never met a type the default one, floats first: they pull others."""
    still = [variable for variable in variables if variable.is_open and variable.dtype is None]
    chosen = [variable for variable in still if variable.is_float] or still
    for variable in chosen:
        for constant, source in variable.constants:
            if not fits(constant.value, variable.default):
                raise _too_large(variable, constant.value, constant.node, source)
    if chosen:
        decisions.types |= {variable.key: variable.default for variable in chosen}
        raise Restart


def _too_large(variable: Variable, number: float, node: ast.expr, source: Source) -> LanguageError:
    wider = DataType.U32 if fits(number, DataType.U32) else DataType.I64
    wider = wider if not variable.is_float else DataType.F64
    return source.error(
        node,
        f"{number!r} does not fit {variable.default}, which {variable.name} is by default",
        f"cast it, for example {wider}({number!r})"
        if variable.is_reduced or variable.is_ranged
        else f"give it a type, for example {variable.name}: {wider} = {number!r}",
    )


def _sizes(name: str, workgroup: int | Sequence[int] | Among | None) -> tuple[Axes, ...]:
    """The workgroups that a kernel declares, as they are written."""
    if workgroup is None:
        return ()
    if isinstance(workgroup, Among):
        return workgroup.sizes
    axes = axes_of(workgroup)
    if axes is None:
        raise InvalidInput(
            f"workgroup {shown(workgroup)} of {name} is not 1 to {MAX_RANK} whole numbers from 1",
            "use workgroup=256 or workgroup=(8, 32)",
        )
    return (axes,)


def _named(
    workgroups: Sequence[Dim3], by_workgroup: Mapping[str, Sequence[tuple[int, ...]]]
) -> tuple[Named, ...]:
    """The workgroups with the extents of the memory that goes by them."""
    return tuple(
        Named(workgroup, tuple((name, sizes[at]) for name, sizes in sorted(by_workgroup.items())))
        for at, workgroup in enumerate(workgroups)
    )


def _check_rank(name: str, axes: tuple[int, ...], rank: int) -> None:
    if any(size > 1 for size in axes[: max(0, len(axes) - rank)]):
        raise InvalidInput(
            f"workgroup {axes} has {len(axes)} axes, and {name} uses gid of {rank}",
            f"give {rank} of them, or use vyre.gid({len(axes) - 1}) in the kernel",
        )


def _unique(source: Source, params: tuple[Param, ...], names: object) -> tuple[str, ...]:
    """The parameters that are named, in their own order; one name may stand alone."""
    written = [param.name for param in params if param.role in (Role.OUT, Role.INOUT)]
    given = (names,) if isinstance(names, str) else names
    fix = "name an Out or InOut parameter" if written else "leave unique_writes out"
    if not isinstance(given, Iterable):
        raise InvalidInput(f"unique_writes of {source.name} is {names!r}, which names nothing", fix)
    found = tuple(given)
    for name in found:
        if name not in written:
            known = ", ".join(written) or "nothing"
            raise InvalidInput(
                f"unique_writes of {source.name} names {name!r}; it writes {known}", fix
            )
    return tuple(name for name in written if name in found)
