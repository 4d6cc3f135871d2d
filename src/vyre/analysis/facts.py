"""Everything the analysis knows of a program, in one value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from vyre.analysis.conditions import Condition, InBounds
from vyre.analysis.forms import (
    ONE,
    Form,
    Gid,
    Launch,
    Linear,
    Ordinary,
    Poly,
    extent_of,
    length_of,
)
from vyre.analysis.independence import Refusal, launch_independence
from vyre.analysis.made import Known, variables
from vyre.analysis.ranges import Worlds
from vyre.analysis.reader import ATOMIC, LOAD, STORE, Reading, Touch, read
from vyre.ir.declare import BufferDecl
from vyre.ir.expr import AtomicOp, Expr, Var
from vyre.ir.program import Program
from vyre.ir.repeated import keeping, then
from vyre.ir.serial import Alone, alone, has_reductions
from vyre.ir.types import DataType
from vyre.ir.unroll import Before, before, written_out
from vyre.ir.walk import rebuild

MOST_COUNTERS = 2048
"""Elements of an array whose sums are worth a copy in every workgroup."""

MOST_COUNTED = 8192
"""Elements of all such arrays together: 32 KiB, which every GPU's workgroups have (CUDA 48)."""


class Pattern(StrEnum):
    """How neighbouring invocations touch memory."""

    UNIFORM = "uniform"  # all the same element
    CONTIGUOUS = "contiguous"  # neighbours side by side
    STRIDED = "strided"  # neighbours a fixed distance apart
    GATHER = "gather"  # anywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccess:
    """One load, store or atomic: where it goes, and when it needs no bounds check."""

    kind: str
    buffer: str
    pattern: Pattern
    statement: str
    index: Expr
    forms: tuple[Form, ...]  # of the index, one per axis
    rounds: int
    by_axis: tuple[InBounds | None, ...]  # None: it always needs its check along that axis

    @property
    def in_bounds(self) -> tuple[InBounds, ...] | None:
        """What keeps it inside its array; None: it always needs a check."""
        found = tuple(item for item in self.by_axis if item is not None)
        return found if len(found) == len(self.by_axis) else None

    def safe(self, launch: Launch) -> bool:
        """Whether this launch keeps the access inside its array."""
        return self.in_bounds is not None and self.proved_for(launch)

    def proved_for(self, launch: Launch) -> bool:
        """Whether this launch keeps it inside along every axis of which that can be said."""
        return all(item.holds(launch) for item in self.by_axis if item is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one invocation is expected to do; it orders guesses and is never a time."""

    loaded_bytes: int
    stored_bytes: int
    operations: int
    transcendental: int
    divergent: tuple[str, ...]  # branches that neighbours may take differently


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is proved of a program.

    `free` says that the launch shape cannot change the result, *if* all `conditions` hold of the
    launch; `reasons` says why not, statement by statement; `stated` names the buffers for which it
    rests on the author's word.
    """

    free: bool
    reasons: tuple[Refusal, ...]
    conditions: tuple[Condition, ...]
    stated: tuple[str, ...]
    accesses: tuple[MemoryAccess, ...]
    cost: Cost
    loop_scalars: tuple[str, ...]
    asked_scalars: frozenset[str]
    """What a proof, or a count of rounds, may ask of a launch; other scalars are data to it."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Small arrays that are only ever added to, as many as fit a workgroup, and their lengths.

    A workgroup may add up what is its own before it adds to the array: whole numbers wrap, so the
    order of additions does not show.
    """
    written_out: tuple[Program, Facts] | None = None
    """The program without its small loops over windows, and what is proved of it."""
    alone: tuple[Program, Facts] | None = None
    """The program whose invocations do their reductions alone, and what is proved of it."""

    def free_for(self, launch: Launch) -> bool:
        """Whether every legal schedule gives the same bits for this launch."""
        return self.free and all(condition.holds(launch) for condition in self.conditions)

    def unchecked_for(self, launch: Launch) -> bool:
        """Whether the code without the provable bounds checks may run this launch."""
        others = [form[1] for form in (self.written_out, self.alone) if form is not None]
        world = Worlds(launch)
        # Copies of a round share what was proved of it.
        proofs = {id(access.by_axis): access for access in self.accesses}
        return all(access.proved_for(world) for access in proofs.values()) and all(
            other.unchecked_for(launch) for other in others
        )

    @property
    def has_unchecked_form(self) -> bool:
        return any(item is not None for access in self.accesses for item in access.by_axis)


def analyse(program: Program) -> Facts:
    """Read a valid program and prove what can be proved of it.

    >>> analyse(Program.empty()).free
    True
    """
    whole = _proved(program)
    if has_reductions(program):
        return replace(whole, alone=_by_itself(whole, alone(program)))
    other = written_out(program)
    return replace(whole, written_out=None if other is program else (other, _proved(other)))


Told = Callable[[Touch], "tuple[InBounds | None, ...] | None"]
"""What keeps an access inside along each axis by what is known already; None: nothing is."""


def _nothing(touch: Touch) -> None:  # noqa: ARG001  # whatever it is
    return None


def _proved(program: Program, told: Told = _nothing) -> Facts:
    reading = read(program)
    verdict = launch_independence(program, reading.touches)
    buffers = {decl.name: decl for decl in program.buffers}
    whole_groups = program.runs_whole_workgroups
    accesses = tuple(
        _access(touch, buffers[touch.buffer], told(touch), whole_groups=whole_groups)
        for touch in reading.touches
    )
    return Facts(
        free=not verdict.reasons,
        reasons=verdict.reasons,
        conditions=verdict.conditions,
        stated=verdict.stated,
        accesses=accesses,
        cost=_cost(reading, buffers),
        loop_scalars=tuple(sorted(reading.loop_scalars)),
        asked_scalars=frozenset(reading.form_scalars | reading.loop_scalars).union(
            *(item.scalars for access in accesses for item in access.by_axis if item is not None),
            *(condition.scalars for condition in verdict.conditions),
        ),
        counters=_counters(program, reading.touches),
    )


def in_order(program: Program, facts: Facts) -> tuple[Program, Facts]:
    """As `facts.alone`, but as a processor likes it whose invocations are lanes.

    Of many rounds one comes after the other, as they are numbered, and what rounds would load again
    is kept.
    """
    kept = keeping(program)
    made = alone(kept.program, in_order=True)
    return _by_itself(facts, replace(made, texts=then(kept.texts, made.texts)))


def _by_itself(whole: Facts, form: Alone) -> tuple[Program, Facts]:
    """A form of a program, and what is proved of it and of the program as a whole.

    Its rounds are those of the reductions, each gone through where it was proved that it may be;
    but their numbers are made of several counters, which by themselves prove nothing.
    """
    proofs, program = _Proofs(), form.program
    for access in whole.accesses:
        for text in (access.statement, *form.texts.get(access.statement, ())):
            proofs.add((access.buffer, text, access.index), access)
    facts = _proved(program, lambda touch: proofs.of(touch.buffer, touch.statement, touch.index))
    other = written_out(program)
    if other is not program:
        told = _told_of_names(proofs, before(program))
        facts = replace(facts, written_out=(other, _proved(other, told)))
    return program, facts


def _told_of_names(proofs: _Proofs, was: Before) -> Told:
    """The same of a form in which names are others than they were before.

    A round of a loop that is written out may load by the index of a statement that stands under a
    condition: what is proved there is proved of that statement alone.
    """

    def named(part: Expr) -> Expr:
        return Var(was.names.get(part.name, part.name)) if isinstance(part, Var) else part

    def told(touch: Touch) -> tuple[InBounds | None, ...] | None:
        text, *others = was.texts[touch.statement]
        return None if others else proofs.of(touch.buffer, text, rebuild(touch.index, named))

    return told


@dataclass(slots=True)
class _Proofs:
    """What is proved of accesses, by the spots where forms of a program have them as well."""

    by_spot: dict[Hashable, tuple[InBounds | None, ...]] = field(default_factory=dict)
    doubtful: set[Hashable] = field(default_factory=set)

    def add(self, spot: Hashable, access: MemoryAccess) -> None:
        if self.by_spot.setdefault(spot, access.by_axis) != access.by_axis:
            self.doubtful.add(spot)

    def of(self, *spot: Hashable) -> tuple[InBounds | None, ...] | None:
        """What is proved of an access by its array, its statement and its index."""
        return None if spot in self.doubtful else self.by_spot.get(spot)


def _counters(program: Program, touches: Sequence[Touch]) -> dict[str, int]:
    others = {
        touch.buffer
        for touch in touches
        if touch.atomic is not AtomicOp.ADD or touch.result_used or touch.is_float
    }
    touched = {touch.buffer for touch in touches} - others
    found: dict[str, int] = {}
    for decl in program.buffers:
        fits = 0 < decl.count <= min(MOST_COUNTERS, MOST_COUNTED - sum(found.values()))
        whole = decl.element in (DataType.U32, DataType.I32)
        if decl.name in touched and not decl.is_shared and whole and fits:
            found[decl.name] = decl.count
    return found


def _access(
    touch: Touch,
    decl: BufferDecl,
    told: tuple[InBounds | None, ...] | None,
    *,
    whole_groups: bool,
) -> MemoryAccess:
    by_axis = told
    if told is None or None in told:
        # A copy for sixteen rounds proves of them that arrays have sixteen elements: of the
        # program less is asked, and the copy is for such launches alone.
        own = _by_axis(touch, decl, whole_groups=whole_groups)
        by_axis = own if told is None or None not in own else told
    assert by_axis is not None
    return MemoryAccess(
        kind=touch.kind,
        buffer=touch.buffer,
        pattern=_pattern(touch),
        statement=touch.statement,
        index=touch.index,
        forms=touch.indices,
        rounds=touch.rounds,
        by_axis=by_axis,
    )


def _pattern(touch: Touch) -> Pattern:
    forms = [form for form in touch.indices if isinstance(form, Linear)]
    if len(forms) < len(touch.indices):
        uniform = all(
            form.is_uniform if isinstance(form, Linear) else form.uniform for form in touch.indices
        )
        return Pattern.UNIFORM if uniform else Pattern.GATHER
    if all(not form.gids() for form in forms):
        return Pattern.UNIFORM
    fastest = [form.gids().get(0) for form in forms]
    if all(factor is None for factor in fastest):
        return Pattern.UNIFORM  # the same for neighbours along x, which is what memory sees
    if fastest[-1] == ONE and all(factor is None for factor in fastest[:-1]):
        return Pattern.CONTIGUOUS
    return Pattern.STRIDED


def _by_axis(touch: Touch, decl: BufferDecl, *, whole_groups: bool) -> tuple[InBounds | None, ...]:
    """What keeps an access inside along each axis, or None where nothing about the launch can.

    Where whole workgroups run, positions go beyond the extent, so nothing bounds them.
    """
    lengths = (
        [extent_of(decl, axis) for axis in range(decl.rank)]
        if len(touch.indices) > 1
        else [length_of(decl)]
    )

    def along(form: Form, place: Linear | None, length: Poly) -> InBounds | None:
        alone = without_guards(form, length)
        if place is None or (whole_groups and _follows_positions(place)):
            return alone
        told = [one for one in touch.known if not (whole_groups and _follows_positions(one))]
        known = _about(place, told)
        if alone is not None and place == alone.form and not known:
            return alone
        found = InBounds(place, length, known)
        return found if alone is not None or _is_likely(found) else None

    def without_guards(form: Form, length: Poly) -> InBounds | None:
        if not isinstance(form, Linear) or (whole_groups and form.gids()):
            return None
        offset = form.offset.constant
        if offset is not None and offset < 0 and all(_rises(f) for f in form.terms.values()):
            return None  # position 0 is outside already
        if length.constant is None and _reaches_on(form):
            return None
        return InBounds(form, length)

    return tuple(map(along, touch.indices, touch.places, lengths))


def _follows_positions(one: Linear | Known) -> bool:
    found = one.variables() if isinstance(one, Known) else variables(one)
    return any(isinstance(variable, Gid) for variable in found)


def _about(place: Linear, known: Sequence[Known]) -> tuple[Known, ...]:
    """What is known of the numbers that an index is made of, or of others that these hang on."""
    mine = set(variables(place))
    left, found = [one for one in known if not one.is_uniform], set[Known]()
    while True:
        more = [one for one in left if not mine.isdisjoint(one.variables())]
        if not more:
            return tuple(one for one in known if one in found)
        found.update(more)
        left = [one for one in left if one not in found]
        mine.update(variable for one in more for variable in one.variables())


def _is_likely(proof: InBounds) -> bool:
    """Whether launches can be expected to keep an access inside.

    One proof that fails keeps the checks of all the accesses that could do without.
    """
    polys = (*proof.form.terms.values(), proof.form.offset)
    by_size = any(poly.constant is None for poly in polys)  # rows of a length of the launch
    return proof.holds(Ordinary()) or (by_size and proof.holds(Ordinary(length=1 << 18)))


def _reaches_on(form: Linear) -> bool:
    """Whether an index goes beyond the invocation's own stretch, as a stencil's does.

    Such an access stays inside only where the array is longer than what is covered. That is rare,
    and one proof that fails would keep the checks of all the accesses that could do without.
    """
    strides = [factor.constant for factor in form.gids().values()]
    last = form.offset.constant
    for counter, factor in form.counters().items():
        weight, stop = factor.constant, counter.stop.constant
        if last is None or weight is None or stop is None:
            return False
        last += max(weight, 0) * (stop - 1)
    known = [abs(stride) for stride in strides if stride is not None]
    return last is not None and len(known) == len(strides) > 0 and last >= min(known)


def _rises(factor: Poly) -> bool:
    return all(coefficient > 0 for _, coefficient in factor.terms)


def _cost(reading: Reading, buffers: dict[str, BufferDecl]) -> Cost:
    def moved(*kinds: str) -> int:
        return sum(
            buffers[touch.buffer].element.min_bytes * touch.rounds
            for touch in reading.touches
            if touch.kind in kinds and not buffers[touch.buffer].is_shared
        )

    return Cost(
        loaded_bytes=moved(LOAD, ATOMIC),
        stored_bytes=moved(STORE, ATOMIC),
        operations=reading.operations,
        transcendental=reading.transcendental,
        divergent=tuple(dict.fromkeys(reading.divergent)),
    )
