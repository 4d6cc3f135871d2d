"""Whether the launch shape can change a result, and if so, through which statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from vyre.analysis.apart import Visit, never_meet
from vyre.analysis.conditions import Condition, OwnElements
from vyre.analysis.forms import Launch, Linear, Ordinary
from vyre.analysis.reader import ATOMIC, LOAD, STORE, Touch
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    Call,
    Expr,
    Id,
    IdKind,
    Lit,
    OpaqueExpr,
    Subgroup,
)
from vyre.ir.node import (
    Assign,
    Barrier,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Print,
    Reduce,
    Region,
    Return,
    Store,
    Trap,
    While,
    Yield,
)
from vyre.ir.program import Program
from vyre.ir.text import expr_text, statement_text
from vyre.ir.typing import WAVE
from vyre.ir.walk import all_expressions, expressions, statements

_PLAIN = (
    *(Let, Assign, Store, If, Loop, While, Break, Continue),
    *(Reduce, Yield, Return, Block, Region),
)
_COMMUTATIVE = frozenset(
    {AtomicOp.ADD, AtomicOp.OR, AtomicOp.AND, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why the launch shape is part of the meaning."""

    statement: str
    why: str

    def __str__(self) -> str:
        return f"{self.statement}: {self.why}"


@dataclass(frozen=True, slots=True)
class Stated:
    """It holds because the author says so."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The proof, or why there is none."""

    reasons: tuple[Refusal, ...]
    conditions: tuple[Condition, ...]
    stated: tuple[str, ...]


def launch_independence(program: Program, touches: Sequence[Touch]) -> Verdict:
    """A proof that the result is the same for every launch shape, under its conditions."""
    reasons = [*_program(program), *_statements(program)]
    conditions: list[Condition] = []
    stated: list[str] = []
    open_: dict[str, Refusal] = {}  # what its author may know better, by buffer
    shared = {decl.name for decl in program.buffers if decl.is_shared}
    likely = Ordinary(frozenset() if _is_for_all(program) else _axes(program) | {0})
    by_buffer = sorted(touches, key=lambda touch: touch.buffer)
    for name, group in groupby(by_buffer, key=lambda touch: touch.buffer):
        mine = list(group)
        if name in shared or all(touch.kind == LOAD for touch in mine):
            continue
        is_stated = name in program.options.unique_writes
        match _buffer(name, mine, likely, is_stated=is_stated):
            case Refusal() as refusal if _may_be_stated(name, mine, program):
                open_[name] = refusal
            case Refusal() as refusal:
                reasons.append(refusal)
            case OwnElements() as condition:
                conditions.append(condition)
            case Stated():
                stated.append(name)
            case None:
                pass
    if not reasons:
        # Only where the word of its author is all that is missing is it worth asking for.
        names = ", ".join(f'"{name}"' for name in open_) + ("," if len(open_) == 1 else "")
        ask = f" (state it with unique_writes=({names}) if it is)"
        open_ = {name: replace(why, why=why.why + ask) for name, why in open_.items()}
    reasons += open_.values()
    if reasons:
        return Verdict(tuple(reasons), (), ())
    return Verdict((), tuple(conditions), tuple(stated))


def _is_for_all(program: Program) -> bool:
    """Whether it reduces and asks for no place in the launch: it is made to be run once."""
    asks = any(isinstance(part, Id) for part in all_expressions(program.entry))
    return not asks and any(isinstance(node, Reduce) for node in statements(program.entry))


def _axes(program: Program) -> frozenset[int]:
    """The axes of a launch that a program looks at."""
    return frozenset(
        part.axis
        for part in all_expressions(program.entry)
        if isinstance(part, Id) and part.kind in (IdKind.INVOCATION, IdKind.EXTENT)
    )


def _program(program: Program) -> Iterator[Refusal]:
    if program.non_composable:
        yield Refusal("program", "it is marked as not composable with itself")
    for decl in program.buffers:
        if decl.is_shared:
            yield Refusal(f"workgroup {decl.name}", "workgroup memory is shared by a workgroup")


def _statements(program: Program) -> Iterator[Refusal]:
    for node in statements(program.entry):
        if isinstance(node, Barrier):
            why = "a barrier waits for the invocations of one workgroup"
            yield Refusal(statement_text(node), why)
        elif isinstance(node, (Print, Trap)):
            yield Refusal(statement_text(node), "what it says would be said once for each trial")
        elif not isinstance(node, _PLAIN):
            why = f"the analysis cannot see into {type(node).__name__}"
            yield Refusal(statement_text(node), why)
        for part in expressions(node):
            if found := _expression(part):
                yield Refusal(statement_text(node), found)


def _expression(expr: Expr) -> str | None:
    match expr:
        case Id(IdKind.LOCAL | IdKind.WORKGROUP | IdKind.WORKGROUP_SIZE):
            return f"{expr_text(expr)} depends on the launch shape"
        case Subgroup():
            return f"{expr_text(expr)} depends on the lanes of a subgroup"
        case Binary(op) if op in WAVE:
            return f"{op.name.lower()} depends on the lanes of a subgroup"
        case Atomic(AtomicOp.LRU_UPDATE):
            return "the analysis cannot see into atomic lru_update"
        case Call(op_id):
            return f"the analysis cannot see into the call of {op_id}"
        case OpaqueExpr(kind):
            return f"the analysis cannot see into {kind}"
        case _:
            return None


def _buffer(
    name: str, touches: list[Touch], likely: Launch, *, is_stated: bool
) -> Refusal | OwnElements | Stated | None:
    """Why accesses to one written buffer cannot meet, when they can, or what that rests on."""
    if _all_one_commutative_atomic(touches) or _all_store_one_constant(touches):
        return None
    own = _own_elements(name, touches)
    if own is not None:
        return replace(own, visits=_visits(touches))
    if (visits := _visits(touches)) and never_meet(visits, likely):
        return OwnElements(name, (), (), visits)
    if is_stated and _touches_only_what_it_writes(touches):
        return Stated()
    return _blame(name, touches, is_stated=is_stated)


def _all_one_commutative_atomic(touches: list[Touch]) -> bool:
    ops = {touch.atomic for touch in touches}
    return (
        all(touch.kind == ATOMIC and not touch.result_used for touch in touches)
        and len(ops) == 1
        and ops <= _COMMUTATIVE
        and not (ops == {AtomicOp.ADD} and any(touch.is_float for touch in touches))
    )


def _all_store_one_constant(touches: list[Touch]) -> bool:
    """Whoever comes last, the element holds the same."""
    values = {touch.value for touch in touches}
    # A name may have another value at another place.
    alike = len(touches) == 1 or all(isinstance(value, Lit) for value in values)
    return (
        alike
        and len(values) == 1
        and all(touch.kind == STORE and touch.is_fixed for touch in touches)
    )


def _visits(touches: list[Touch]) -> tuple[Visit, ...]:
    """The accesses of a buffer, each that differs from the others once; none where ranks differ."""
    if len({len(touch.places) for touch in touches}) != 1:
        return ()
    found = (
        Visit(
            indices=touch.places,
            known=tuple(one for one in touch.known if not one.is_uniform),
            is_load=touch.kind == LOAD,
            is_fixed=touch.kind == STORE and touch.is_fixed,
            # A name may have another value at another place, a literal has one.
            stored=(touch.value if isinstance(touch.value, Lit) else number)
            if touch.kind == STORE and touch.is_fixed
            else None,
        )
        for number, touch in enumerate(touches)
    )
    return tuple(dict.fromkeys(found))


def _own_elements(name: str, touches: list[Touch]) -> OwnElements | None:
    guards = tuple(
        guard for guard in touches[0].guards if all(guard in touch.guards for touch in touches)
    )
    one_rank = len({len(touch.indices) for touch in touches}) == 1
    forms = tuple(
        tuple(form if isinstance(form, Linear) else None for form in touch.indices)
        for touch in touches
        if one_rank
    )
    has_ids = any(
        form.gids()
        for column in zip(*forms, strict=True)
        if None not in column
        for form in column
        if form is not None
    )
    return OwnElements(name, forms, guards) if has_ids or guards else None


def _touches_only_what_it_writes(touches: list[Touch]) -> bool:
    """Whoever touches an element also writes it, so that a statement about writes covers all."""
    return all(touch.kind == STORE or touch.rewritten for touch in touches)


def _may_be_stated(name: str, touches: list[Touch], program: Program) -> bool:
    """Whether the author's word could make a buffer free, and could be true."""
    return (
        name not in program.options.unique_writes
        and any(_own_elements(name, [touch]) is None for touch in touches)
        and _touches_only_what_it_writes(touches)
        and not any(touch.by_all and _is_one_place(touch) for touch in touches)
    )


def _is_one_place(touch: Touch) -> bool:
    """Whether all invocations that come by touch the same elements."""
    return all(
        not form.gids() if isinstance(form, Linear) else form.uniform for form in touch.indices
    )


def _blame(name: str, touches: list[Touch], *, is_stated: bool) -> Refusal:
    """The first access to blame, in the user's terms."""
    for touch in touches:
        if touch.kind == ATOMIC:
            op = f"atomic {touch.atomic.name.lower()}" if touch.atomic else "atomic"
            if touch.result_used:
                return Refusal(touch.statement, f"the value {op} returns depends on the order")
            if touch.atomic not in _COMMUTATIVE or touch.is_float:
                return Refusal(
                    touch.statement, f"the result of {op} on {name} depends on the order"
                )
            other = next(item for item in touches if item is not touch)
            return Refusal(
                other.statement, f"{name} is also changed by {op}, and the order is not fixed"
            )
    for touch in touches:
        if touch.kind == STORE and _own_elements(name, [touch]) is None and not is_stated:
            return Refusal(
                touch.statement,
                f"two invocations may write one element of {name}: its index is not proved unique",
            )
    for touch in sorted(touches, key=lambda touch: touch.rewritten):
        if touch.kind == LOAD:
            return Refusal(
                touch.statement, f"it may read an element of {name} that another invocation writes"
            )
    return Refusal(touches[0].statement, f"two invocations may write one element of {name}")
