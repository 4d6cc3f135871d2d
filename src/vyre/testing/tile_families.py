"""What generated programs of tiles compute of what they read, and how it is spread over loops."""

from __future__ import annotations

from collections.abc import Callable

from vyre.ir.declare import Access
from vyre.ir.expr import Binary, BinaryOp, Expr, FlatIndex, Fma, Lit, Select, Var
from vyre.ir.node import Assign, If, Let, Loop, Node, Store, While
from vyre.ir.types import DataType
from vyre.testing.drafts import F32, I32, U32, Draft

_DEPTHS = (1, 2, 3, 5, 7, 8, 16, 17, 31, 33, 40)
_WINDOWS = (0, 1, 2, 3, 3, 3, 4, 5)

Part = tuple[list[Node], Expr]
"""Statements, and a value of the draft's type that they give."""


def _stencil(draft: Draft) -> Part:
    """Elements near the position, of one array or of several."""
    rng = draft.rng
    axes = list(range(draft.rank))[::-1]
    names = [draft.source(draft.lengths(axes)) for _ in range(rng.choice((1, 1, 2, 3)))]
    if draft.rank > 1 and rng.random() < 0.2:
        x, y, z = draft.extent
        names.append(draft.source([max(1, x * y * z + rng.choice((0, 0, -2, 7)))]))
    nodes: list[Node] = []
    loads: list[Expr] = []
    for _ in range(rng.choice((1, 2, 3, 5, 5, 7, 9))):
        if loads and rng.random() < 0.12:
            loads.append(rng.choice(loads))
            continue
        name = rng.choice(names)
        flat = len(draft.arrays[name].shape) < draft.rank
        load = draft.in_line(name) if flat else draft.near(name, axes)
        if rng.random() < 0.3:
            bound = draft.name()
            nodes.append(Let(bound, load))
            load = Var(bound)
        loads.append(load)
    return _gathered(draft, nodes, loads)


def in_rows(draft: Draft) -> Part:
    """An element of one's own and others of its row, which neighbouring lanes load as well."""
    rng = draft.rng
    axes = list(range(draft.rank))[::-1]
    loads: list[Expr] = []
    for _ in range(rng.choice((1, 1, 2))):
        name = draft.source(draft.lengths(axes))
        outer = [_beside(draft, axis) for axis in axes[:-1]]
        signed = rng.random() < 0.3
        here, dtype = (draft.signed if signed else draft.at)[0], I32 if signed else U32
        steps = rng.sample(range(-4, 9), rng.choice((1, 2, 2, 3)))
        for step in (0, *steps):
            moved = here + Lit.of(dtype, step) if step >= 0 else here - Lit.of(dtype, -step)
            loads.append(draft.load(name, [*outer, moved]))
    rng.shuffle(loads)
    return _gathered(draft, [], loads)


def _gathered(draft: Draft, nodes: list[Node], loads: list[Expr]) -> Part:
    """Loads as one value: in one expression, statement by statement, or under a condition."""
    rng = draft.rng
    total = draft.shaped(loads[0])
    if rng.random() < 0.6:
        for load in loads[1:]:
            total = draft.mixed(total, draft.shaped(load))
        return nodes, total
    name = draft.name("acc")
    nodes.append(Let(name, total))
    for load in loads[1:]:
        more = Assign(name, draft.mixed(Var(name), draft.shaped(load)))
        kind = rng.random()
        if kind < 0.15:
            nodes.append(If(draft.test(rng.choice(loads)), (more,)))
        elif kind < 0.25:
            other = Assign(name, draft.mixed(Var(name), draft.literal()))
            nodes.append(If(draft.here(), (more,), (other,)))
        else:
            nodes.append(more)
    return nodes, Var(name)


def _window(draft: Draft) -> Part:
    """Small loops around the position, one for each of the innermost axes, with weights."""
    rng = draft.rng
    depth = min(draft.rank, rng.choice((1, 2, 2)))
    axes = list(range(draft.rank))[::-1]
    name = draft.source(draft.lengths(axes))
    sizes = [rng.choice(_WINDOWS) for _ in range(depth)]
    weights = draft.source([max(1, size + rng.choice((0, 0, -1))) for size in sizes])
    total = draft.name("acc")
    dtype = rng.choice((U32, I32))
    counters = [f"k{step}" for step in range(depth)]
    back = Lit.of(dtype, rng.choice((0, 1, 1, 2)))
    first = Lit.of(dtype, 0 if dtype == U32 else rng.choice((0, 0, -1)))
    with draft.scope():
        indices = [
            (draft.at if dtype == U32 else draft.signed)[axis] + Var(counters[-1 - axis]) - back
            if axis < depth
            else draft.index(axis, length)
            for axis, length in zip(axes, draft.arrays[name].shape, strict=True)
        ]
        load = draft.load(name, indices)
        factor = draft.load(weights, [Var(counter) for counter in counters])
        value = draft.mixed(draft.shaped(load), factor if rng.random() < 0.6 else draft.literal())
        inner: list[Node] = [*draft.leaving(Var(counters[-1]), dtype, load)]
        inner.append(Assign(total, draft.mixed(Var(total), value)))
    for counter, size in zip(counters[::-1], sizes[::-1], strict=True):
        inner = [Loop(counter, first, Lit.of(dtype, size), tuple(inner))]
    return [Let(total, draft.literal()), *inner], Var(total)


def _turned(draft: Draft) -> Part:
    """Reads across: the array's axes follow those of the launch in another order."""
    rng = draft.rng
    loads: list[Expr] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        axes = list(range(draft.rank)) if rng.random() < 0.8 else list(range(draft.rank))[::-1]
        if rng.random() < 0.2:
            rng.shuffle(axes)
        if draft.rank == 1:
            axes = [0, 0] if rng.random() < 0.5 else [0]
        loads.append(draft.near(draft.source(draft.lengths(axes)), axes))
    return _gathered(draft, [], loads)


def _product(draft: Draft) -> Part:
    """A sum over what two or three arrays share: rows times columns, in any layout."""
    rng = draft.rng
    depth = rng.choice(_DEPTHS)
    operands: list[tuple[str, tuple[int | None, ...]]] = []
    for number in range(rng.choice((2, 2, 2, 3))):
        axis = (1 if number == 0 else 0) if draft.rank > 1 else rng.choice((0, None))
        order: tuple[int | None, ...] = rng.choice(((axis, None), (None, axis)))
        if axis is None or rng.random() < 0.08:
            order = (None,)  # the same for all
        elif draft.rank == 3 and rng.random() < 0.6:
            order = (2, *order)
        shape = [depth if one is None else draft.lengths([one])[0] for one in order]
        operands.append((draft.source(shape), order))
    name, order = operands[0]
    start, stop, dtype = draft.rounds(depth, name, order.index(None))
    counter = draft.counter()
    loads = []
    for name, order in operands:
        indices = [
            draft.along(Var(counter), dtype, stop) if one is None else _beside(draft, one)
            for one in order
        ]
        loads.append(draft.load(name, indices))
    return _summed(draft, counter, (start, stop, dtype), loads)


def _beside(draft: Draft, axis: int) -> Expr:
    """The position along an axis, at times moved."""
    rng = draft.rng
    if rng.random() < 0.85:
        return draft.at[axis] if rng.random() < 0.7 else draft.signed[axis]
    return draft.index(axis, draft.extent[axis])


def _summed(
    draft: Draft, counter: str, rounds: tuple[Expr, Expr, DataType], loads: list[Expr]
) -> Part:
    """A loop that adds up products of loads; inside a condition now and then."""
    rng, start, stop, dtype = draft.rng, *rounds
    total = draft.name("acc")
    with draft.scope():
        value = _added(draft, Var(total), loads)
        body: list[Node] = []
        if rng.random() < 0.2:
            bound = draft.name()
            body.append(Let(bound, loads[-1]))
            value = draft.mixed(value, Var(bound))
        if draft.is_functional and rng.random() < 0.5:
            value = draft.mixed(value, draft.function(Var(counter), dtype))
        body += draft.leaving(Var(counter), dtype, loads[0])
        assign = Assign(total, value)
        body.append(If(draft.test(loads[-1]), (assign,)) if rng.random() < 0.08 else assign)
    loop: Node = Loop(counter, start, stop, tuple(body))
    if rng.random() < 0.12:
        loop = If(draft.here(), (loop,))
    return [Let(total, draft.literal()), loop], Var(total)


def _added(draft: Draft, total: Expr, loads: list[Expr]) -> Expr:
    """A running value after one more round: plus a product, fused with it, or otherwise."""
    rng, dtype = draft.rng, draft.dtype
    if dtype.is_float and rng.random() < 0.35:
        return Fma(loads[0], loads[1] if len(loads) > 1 else draft.literal(), total)
    product = loads[0]
    for load in loads[1:]:
        times = BinaryOp.AND if dtype.is_bool else BinaryOp.MUL
        product = Binary(times, product, load) if rng.random() < 0.8 else draft.mixed(product, load)
    if rng.random() < 0.7 and not dtype.is_bool:
        return total + draft.shaped(product)
    return draft.mixed(total, draft.shaped(product))


def _pairs(draft: Draft) -> Part:
    """Every invocation against a range that all of them walk."""
    rng = draft.rng
    count = rng.choice((*_DEPTHS, draft.extent[0], draft.extent[0]))
    columns = rng.choice((1, 2, 3))
    names: list[tuple[str, int | None]]
    if rng.random() < 0.5:  # the coordinates of one body side by side, or one array for each
        name = draft.source([count, columns])
        names = [(name, column) for column in range(columns)]
    else:
        names = [(draft.source([count]), None) for _ in range(columns)]
    start, stop, dtype = draft.rounds(count, names[0][0], 0)
    counter = draft.counter()
    nodes: list[Node] = []
    loads: list[Expr] = []
    for name, place in names:
        more = [] if place is None else [Lit.of(U32, place)]
        own = draft.load(name, [draft.at[0], *more])
        if rng.random() < 0.6:
            mine = draft.name("mine")
            nodes.append(Let(mine, own))
            own = Var(mine)
        theirs = draft.load(name, [draft.along(Var(counter), dtype, stop), *more])
        loads.append(draft.mixed(theirs, own))
    summed, value = _summed(draft, counter, (start, stop, dtype), loads)
    return [*nodes, *summed], value


def _rows(draft: Draft) -> Part:
    """Invocations that each walk a row, keeping a sum, a maximum or more as they go."""
    rng = draft.rng
    depth = rng.choice(_DEPTHS)
    axes = list(range(draft.rank))[::-1] if draft.rank < 3 else [1, 0]
    name = draft.source([*draft.lengths(axes), depth])
    start, stop, dtype = draft.rounds(depth, name, len(axes))
    here = [_beside(draft, axis) for axis in axes]
    counter = draft.counter()
    load = draft.load(name, [*here, draft.along(Var(counter), dtype, stop)])
    nodes, value = _summed(draft, counter, (start, stop, dtype), [load])
    if rng.random() < 0.5:
        return nodes, value
    # Another walk over the same row, of what the first one found: as a softmax does.
    counter = draft.counter()
    again = draft.load(name, [*here, Var(counter)])
    more, second = _summed(draft, counter, (start, stop, dtype), [draft.mixed(again, value)])
    if draft.rank < 3 and rng.random() < 0.4:  # a plane below would write the same row
        more.append(_row_written(draft, axes, depth, counter, draft.mixed(again, value)))
    return [*nodes, *more], second


def _row_written(draft: Draft, axes: list[int], depth: int, counter: str, value: Expr) -> Node:
    """A loop that writes a row of the invocation's own."""
    element = draft.element
    name = draft.declare(Access.WRITE_ONLY, element, [*draft.lengths(axes), depth])
    index = FlatIndex(name, (*(draft.at[axis] for axis in axes), Var(counter)))
    given = draft.converted(draft.dtype, value, element.computed)
    return Loop(counter, Lit.of(U32, 0), Lit.of(U32, depth), (Store(name, index, given),))


def _scan(draft: Draft) -> Part:
    """A row of the invocation's own, each element made of what was written before it."""
    rng = draft.rng
    depth = rng.choice(_DEPTHS)
    if draft.rank == 3:
        return _rows(draft)
    axes = list(range(draft.rank))[::-1]
    name = draft.declare(Access.READ_WRITE, draft.element, [*draft.lengths(axes), depth])
    here = [draft.at[axis] for axis in axes]
    other = draft.source([*draft.lengths(axes), depth])
    step = Lit.of(U32, rng.choice((1, 1, 2)))
    with draft.scope():
        total = draft.mixed(
            draft.load(name, [*here, Var("k0") - step]), draft.load(name, [*here, Var("k0")])
        )
        total = draft.mixed(total, draft.load(other, [*here, Var("k0")]))
        given = draft.converted(draft.dtype, total, draft.element.computed)
        store = Store(name, FlatIndex(name, (*here, Var("k0"))), given)
        body = [*draft.leaving(Var("k0"), U32, total), store]
    loop = Loop("k0", Lit.of(U32, rng.choice((0, 1))), Lit.of(U32, depth), tuple(body))
    return [loop], draft.load(name, [*here, Lit.of(U32, rng.randrange(depth))])


def _left(draft: Draft) -> Part:
    """As many rounds as there are positions from here on; one beyond the extent has 2**32."""
    length = draft.extent[0]
    counter, stop = draft.counter(), Lit.of(U32, length) - draft.at[0]
    load = draft.load(draft.source([length]), [Var(counter)])
    return _summed(draft, counter, (Lit.of(U32, 0), stop, U32), [load])


def _constant(draft: Draft) -> Part:
    """A function of what a compiler may know, chosen by the position."""
    rng = draft.rng
    draft.is_functional = True
    found, rounds = draft.name("acc"), rng.choice((1, 3, 5, 9))
    value = draft.function(Var("k0"), U32)
    mine = Var("k0").eq(draft.at[0] % Lit.of(U32, rounds))
    body = If(mine, (Assign(found, draft.mixed(Var(found), value)),))
    nodes: list[Node] = [
        Let(found, draft.function(Lit.of(F32, rng.uniform(-3, 3)), F32)),
        Loop("k0", Lit.of(U32, 0), Lit.of(U32, rounds), (body,)),
    ]
    return nodes, Select(draft.here(), Var(found), draft.literal())


def _colours(draft: Draft) -> Part:
    """Elements of a record for each position, some of them, and some of the record beside it."""
    rng = draft.rng
    apart = rng.choice((2, 2, 3, 3, 4, 5))
    axes = list(range(draft.rank))[::-1]
    *outer, across = draft.lengths(axes)
    name = draft.source([*outer, max(1, apart * across + rng.choice((0, 0, 0, -1, 1)))])
    rows = [_beside(draft, axis) for axis in axes[:-1]]
    signed = rng.random() < 0.3
    here, dtype = (draft.signed if signed else draft.at)[0], I32 if signed else U32
    places = list(range(apart)) if rng.random() < 0.5 else rng.sample(range(-1, apart + 2), 2)
    loads = []
    for place in places:
        first = here * Lit.of(dtype, apart)
        moved = first + Lit.of(dtype, place) if place >= 0 else first - Lit.of(dtype, -place)
        loads.append(draft.load(name, [*rows, moved]))
    return _gathered(draft, [], loads)


def _escape(draft: Draft) -> Part:
    """Rounds until a number is as it should be, or there were enough of them."""
    rng = draft.rng
    axes = list(range(draft.rank))[::-1]
    own = draft.load(draft.source(draft.lengths(axes)), [draft.at[axis] for axis in axes])
    value, count = draft.name("acc"), draft.name("n")
    most = Lit.of(U32, rng.choice((0, 1, 3, 7, 8, 9, 20)))
    with draft.scope():
        body: list[Node] = [Assign(count, Var(count) + Lit.of(U32, 1))]
        for _ in range(rng.choice((1, 1, 2, 4))):
            more = draft.literal() if rng.random() < 0.6 else own
            if rng.random() < 0.3:
                bound = draft.name()
                body.append(Let(bound, draft.mixed(Var(value), more)))
                more = Var(bound)
            body.append(Assign(value, draft.mixed(Var(value), draft.shaped(more))))
    enough = Binary(BinaryOp.LT, Var(count), most)
    going = Binary(BinaryOp.AND, enough, draft.test(Var(value)))
    loop = While(going if rng.random() < 0.8 else enough, tuple(body))
    return [Let(value, own), Let(count, Lit.of(U32, 0)), loop], Var(value)


FAMILIES: dict[Callable[[Draft], Part], int] = {
    _stencil: 28,
    _window: 18,
    _turned: 12,
    _product: 24,
    _pairs: 9,
    _rows: 12,
    _colours: 9,
    _escape: 6,
    _scan: 4,
    _left: 3,
    _constant: 2,
}
"""By how often they are drawn."""
