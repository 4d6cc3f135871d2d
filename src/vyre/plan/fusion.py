"""Two kernels over the same items -> the programs that run one only where the other says yes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vyre.errors import InvalidInput
from vyre.ir import build as ir
from vyre.ir.declare import Options
from vyre.ir.expr import AtomicOp, BinaryOp, Expr, UnaryOp, Var
from vyre.ir.node import Block, If, Let, Node, Store
from vyre.ir.program import Program
from vyre.ir.types import DataType
from vyre.ir.walk import rebuild_node
from vyre.lang import Param, Role, Translation
from vyre.lang.translate import DEFAULT_WORKGROUP
from vyre.model import DeviceKind, Order
from vyre.plan.counter_tail import TAIL_MAGIC, TAIL_VERSION, TAIL_WORDS
from vyre.plan.items import Nodes, item_body, refuse_shared_work

PER_INVOCATION = {DeviceKind.CPU: 32, DeviceKind.GPU: 8}
"""Items that one invocation takes, so that it counts for all of them at once; 32 at most."""

OUR_PREFIX = "vyre_"
HITS, COUNT, TAIL = "vyre_hits", "vyre_count", "vyre_tail"
FIRST, NUMBER, ITEMS, SLOT = "vyre_first", "vyre_number", "vyre_items", "vyre_slot"
STRIPE, STRIPES = "vyre_stripe", "vyre_stripes"

STRIPE_ITEMS = 256
"""How many neighbouring items one stripe holds; what an invocation takes divides it."""

COMMITTED, ROLLED_BACK = 2, 3
"""The words of the tail that count; they go on from launch to launch, modulo 2**32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The programs of the three ways, each over `number` of the `items`, from `first` on.

    With several `stripes`, they are one run of `STRIPE_ITEMS` items out of each so many runs; so
    the ways can be compared on parts that lie side by side everywhere.

    `compact` lists the hits in `vyre_hits` and `gathered` confirms those: the serial way. `gated`
    confirms where the prefilter says yes; `eager` confirms everything and commits there.
    """

    call: Translation  # what a caller passes: the arrays and scalars of both kernels
    compact: Translation
    gathered: Translation
    gated: Translation
    eager: Translation
    per_invocation: int


def fuse(
    prefilter: Translation, confirm: Translation, kind: DeviceKind, *, lanes: bool = False
) -> Fused:
    """The programs of the three ways for devices of one kind.

    Neighbouring invocations take neighbouring items on a GPU, and where they are lanes of vectors;
    on other CPUs each takes a run of them.

    Raises:
        InvalidInput: the two kernels cannot be put together, for the reason it says.
    """
    for kernel in (prefilter, confirm):
        refuse_shared_work(kernel)
    flag = _flag(prefilter)
    read = _joined(prefilter, confirm, flag)
    written = tuple(param for param in confirm.params if param.role is Role.OUT)
    if not written:
        raise InvalidInput(
            f"{confirm.name} writes nothing", "give it an Out array for what it finds"
        )
    if prefilter.program.options.fast_math != confirm.program.options.fast_math:
        raise InvalidInput(
            f"one of {prefilter.name} and {confirm.name} is fast_math", "declare both so, or none"
        )
    made = _Builder(
        prefilter,
        confirm,
        flag,
        order=Order.BLOCKED if kind is DeviceKind.CPU and not lanes else Order.STRIDED,
        per=PER_INVOCATION[kind],
    )
    name = f"{prefilter.name}_{confirm.name}"
    ours = (*_SCALARS, _TAIL)
    first = tuple(param for param in read if param in prefilter.params)
    second = tuple(param for param in read if param in confirm.params)
    gated = made.kernel(f"{name}_gated", (*read, *written, *ours), made.gated())
    return Fused(
        call=replace(gated, name=name, params=(*read, *written)),
        compact=made.kernel(
            f"{name}_compact",
            (*first, *_SCALARS, _SLOT, _array(HITS, Role.OUT), _array(COUNT, Role.INOUT, 2)),
            made.compact(),
        ),
        gathered=made.kernel(
            f"{name}_gathered",
            (*second, *written, *ours, _SLOT, _array(HITS, Role.IN), _array(COUNT, Role.IN, 2)),
            made.gathered(),
        ),
        gated=gated,
        eager=made.kernel(f"{name}_eager", (*read, *written, *ours), made.eager()),
        per_invocation=made.per,
    )


def _array(name: str, role: Role, count: int = 0) -> Param:
    return Param(name=name, role=role, dtype=DataType.U32, shape=(count,) if count else ())


def _scalar(name: str) -> Param:
    return Param(name=name, role=Role.SCALAR, dtype=DataType.U32, rank=0)


_SCALARS = tuple(_scalar(name) for name in (FIRST, NUMBER, ITEMS, STRIPE, STRIPES))
_SLOT = _scalar(SLOT)
_TAIL = _array(TAIL, Role.INOUT, TAIL_WORDS)


def _flag(prefilter: Translation) -> Param:
    """The one output of a prefilter: not 0 for yes."""
    outputs = [param for param in prefilter.params if param.role is Role.OUT]
    if len(outputs) != 1 or not outputs[0].dtype.is_int or outputs[0].rank != 1:
        shown = ", ".join(str(param) for param in outputs) or "nothing"
        raise InvalidInput(
            f"prefilter {prefilter.name} writes {shown}",
            "give it one output, such as maybe: Out[u8], that is 1 for yes and 0 for no",
        )
    return outputs[0]


def _joined(prefilter: Translation, confirm: Translation, flag: Param) -> tuple[Param, ...]:
    """What the two read, each name once."""
    found: dict[str, Param] = {}
    for kernel in (prefilter, confirm):
        for param in kernel.params:
            if param.name.startswith(OUR_PREFIX):
                raise InvalidInput(
                    f"parameter {param.name} of {kernel.name} has a name that Vyre uses itself",
                    f"rename it to one that does not begin with {OUR_PREFIX}",
                )
            before = found.get(param.name)
            if param.role is Role.OUT:
                continue
            if before is not None and before != param:
                raise InvalidInput(
                    f"{prefilter.name} takes {before}, {confirm.name} takes {param}",
                    "declare it alike in both, or rename one",
                )
            found[param.name] = param
    for param in confirm.params:
        if param.name == flag.name or (param.role is Role.OUT and param.name in found):
            raise InvalidInput(
                f"{param.name} is a parameter of both {prefilter.name} and {confirm.name}, "
                "and one of them writes it",
                "rename one",
            )
    if flag.name in found:
        raise InvalidInput(f"{flag.name} is read and written", "rename one")
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Builder:
    """Puts the bodies of the two kernels into loops over items."""

    prefilter: Translation
    confirm: Translation
    flag: Param
    order: Order
    per: int

    def kernel(self, name: str, params: tuple[Param, ...], body: Nodes) -> Translation:
        options = Options(fast_math=self.confirm.program.options.fast_math)
        buffers = [param.declare(binding) for binding, param in enumerate(params)]
        return Translation(
            name=name,
            program=Program.wrapped(buffers, DEFAULT_WORKGROUP, body, options),
            params=params,
            rank=1,
            declared_workgroup=None,
            location=self.confirm.location,
        )

    def gated(self) -> Nodes:
        said = [*self._asked(), If(_YES, (_more(_COMMITTED, 1), *self._confirmed()))]
        return (*_signed(), *self._over_items(_COMMITTED, said, _counted()))

    def eager(self) -> Nodes:
        """Nothing of the confirm waits for the prefilter, but what it writes does."""

        def commit(nodes: Nodes) -> Nodes:
            return tuple(If(_YES, (node,)) if isinstance(node, Store) else node for node in nodes)

        whole = Block(self._confirmed())
        said = [
            *self._asked(),
            If(_YES, (_more(_COMMITTED, 1),)),
            rebuild_node(whole, _same, commit),
        ]
        return (*_signed(), *self._over_items(_COMMITTED, said, _counted()))

    def compact(self) -> Nodes:
        """Each invocation keeps its hits as bits, and then takes room for all of them at once."""
        mask, base, room = (Var(name) for name in ("vyre_mask", "vyre_base", "vyre_room"))
        found = [*self._asked(), If(_YES, (ir.assign("vyre_mask", mask | _bit(_TURN)),))]
        lowest = ir.unary(UnaryOp.CTZ, mask)
        after = [
            ir.if_(
                mask.ne(0),
                [
                    ir.let("vyre_room", ir.unary(UnaryOp.POPCOUNT, mask)),
                    ir.let("vyre_base", ir.atomic(AtomicOp.ADD, COUNT, _value(SLOT), room)),
                    ir.loop(
                        "vyre_place",
                        ir.u32(0),
                        room,
                        [
                            ir.store(HITS, base + Var("vyre_place"), self._item_at(lowest)),
                            ir.assign("vyre_mask", mask & (mask - 1)),
                        ],
                    ),
                ],
            )
        ]
        # The other slot is for the next launch; the one before has been read by now.
        reset = ir.if_(_GID.eq(0), [ir.store(COUNT, ir.u32(1) - _value(SLOT), ir.u32(0))])
        return (reset, *self._over_items("vyre_mask", found, after))

    def gathered(self) -> Nodes:
        """All invocations share the hits evenly, as many as there are."""
        count, share, width = Var("vyre_found"), Var("vyre_share"), ir.extent()
        blocked = self.order is Order.BLOCKED
        index = _GID * share + _TURN if blocked else _GID + _TURN * width
        body = [
            ir.let("vyre_index", index),
            ir.if_(
                Var("vyre_index") < count,
                [ir.let("vyre_item", ir.load(HITS, Var("vyre_index"))), *self._confirmed()],
            ),
        ]
        counts = [
            *_signed_nodes(),
            _more_of(COMMITTED, count),
            _more_of(ROLLED_BACK, _value(NUMBER) - count),
        ]
        return (
            ir.let("vyre_found", ir.load(COUNT, _value(SLOT))),
            ir.if_(_GID.eq(0), counts),
            ir.let("vyre_share", (count + width - 1) // width),
            ir.loop("vyre_turn", ir.u32(0), share, body),
        )

    def _asked(self) -> Nodes:
        """The prefilter's statements; `vyre_yes` says what it said."""

        def say(nodes: Nodes) -> Nodes:
            return tuple(_answered(node, self.flag) for node in nodes)

        body = item_body(self.prefilter, _ITEM, _value(ITEMS), self._prefix("p_"))
        return (
            ir.let("vyre_yes", ir.bool_(False)),
            *say((rebuild_node(Block(body), _same, say),)),
        )

    def _confirmed(self) -> Nodes:
        return item_body(self.confirm, _ITEM, _value(ITEMS), self._prefix("c_"))

    def _prefix(self, word: str) -> str:
        """A beginning that no parameter has, so that no name hides one."""
        names = [param.name for kernel in (self.prefilter, self.confirm) for param in kernel.params]
        while any(name.startswith(word) for name in names):
            word = word[0] + word
        return word

    def _index_at(self, turn: Expr) -> Expr:
        """The place of an item among those of this launch."""
        if self.order is Order.BLOCKED:
            return _GID * self.per + turn
        return _GID + turn * ir.extent()

    def _item_at(self, turn: Expr) -> Expr:
        """The item at that place; those that an invocation takes in a row are in one stripe."""
        if self.order is Order.BLOCKED:
            return Var("vyre_begin") + turn
        return _item(self._index_at(turn))

    def _over_items(self, kept: str, body: Iterable[Node], after: Iterable[Node]) -> Nodes:
        """`body` for each item of this invocation, then `after`; both use `kept`, at first 0."""
        blocked = self.order is Order.BLOCKED
        return (
            *([ir.let("vyre_begin", _item(_GID * self.per))] if blocked else []),
            ir.let(kept, ir.u32(0)),
            ir.loop(
                "vyre_turn",
                ir.u32(0),
                ir.u32(self.per),
                [
                    ir.if_(
                        self._index_at(_TURN) < _value(NUMBER),
                        [ir.let("vyre_item", self._item_at(_TURN)), *body],
                    )
                ],
            ),
            *after,
        )


_GID = ir.gid()
_ITEM, _YES, _TURN = Var("vyre_item"), Var("vyre_yes"), Var("vyre_turn")
_COMMITTED = "vyre_committed"


def _value(name: str) -> Expr:
    return ir.load(name, 0)


def _item(index: Expr) -> Expr:
    run = index // STRIPE_ITEMS
    return (
        _value(FIRST)
        + (run * _value(STRIPES) + _value(STRIPE)) * STRIPE_ITEMS
        + (index & (STRIPE_ITEMS - 1))
    )


def _same(expr: Expr) -> Expr:
    return expr


def _bit(place: Expr) -> Expr:
    return ir.binary(BinaryOp.SHL, 1, place)


def _more(name: str, by: int) -> Node:
    return ir.assign(name, Var(name) + by)


def _more_of(word: int, by: Expr) -> Node:
    """Adds to a counter that no other invocation of the launch touches."""
    return ir.store(TAIL, word, ir.load(TAIL, word) + by)


def _answered(node: Node, flag: Param) -> Node:
    match node:
        case Store(buffer, _, value) if buffer == flag.name:
            return ir.assign("vyre_yes", value.ne(ir.lit(flag.dtype, 0)))
        case _:
            return node


def _signed_nodes() -> list[Node]:
    return [ir.store(TAIL, 0, ir.u32(TAIL_MAGIC)), ir.store(TAIL, 1, ir.u32(TAIL_VERSION))]


def _signed() -> Nodes:
    """The first invocation signs the tail, and counts every item as rolled back for now."""
    first = [*_signed_nodes(), _added("vyre_all", ROLLED_BACK, _value(NUMBER))]
    return (ir.if_(_GID.eq(0), first),)


def _counted() -> Nodes:
    """Move what this invocation committed from the one counter to the other."""
    committed = Var(_COMMITTED)
    moved = [
        _added("vyre_in", COMMITTED, committed),
        _added("vyre_out", ROLLED_BACK, ir.u32(0) - committed),
    ]
    return (ir.if_(committed.ne(0), moved),)


def _added(name: str, word: int, by: Expr) -> Let:
    return Let(name, ir.atomic(AtomicOp.ADD, TAIL, word, by))
