"""Loads that each round of a reduction does again, kept in an array of the invocation's own.

The distance of a point from many centres reads the point again for every centre. Invocations that
are lanes of a vector read points that lie apart, one lane after the other: that is most of their
time. Once read, the elements of a point stand side by side for all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vyre.ir.expr import (
    Array,
    Binary,
    BinaryOp,
    Element,
    Expr,
    FlatIndex,
    Id,
    Lit,
    Load,
    Put,
    Var,
)
from vyre.ir.node import Assign, If, Let, Loop, Node, Reduce, Yield
from vyre.ir.program import Program
from vyre.ir.serial import Alone, Fresh
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import expressions, names_of, rebuild

MOST_KEPT = 32
"""Elements of a load that are kept; those behind them are loaded again."""

MOST_ARRAYS = 4
"""Loads of a program that are kept."""


def keeping(program: Program) -> Alone:
    """The same program, whose reductions in rounds of others keep what they would load again."""
    work = Keeping(program, Fresh(program))
    entry = work.entry()
    return Alone(replace(program, entry=entry) if work.arrays else program, work.texts)


@dataclass(slots=True)
class Keeping:
    """Rewrites the reductions of a program so that they keep what they would load again."""

    program: Program
    fresh: Fresh
    arrays: list[Node] = field(default_factory=list)  # what the program begins with
    texts: dict[str, list[str]] = field(default_factory=dict)
    """What statements that read memory are called now, by what they were called."""

    def entry(self) -> tuple[Node, ...]:
        """The statements of the program."""
        made = self.listed(self.program.entry)
        return (*self.arrays, *made)

    def listed(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Reduce):
                made += self.reduction(node)
            else:
                parts = {
                    name: self.listed(getattr(node, name))
                    for name in ("then", "otherwise", "body")
                    if hasattr(node, name)
                }
                made.append(replace(node, **parts) if parts else node)  # type: ignore[type-var]  # every Node is a dataclass
        return tuple(made)

    def reduction(self, outer: Reduce) -> Iterator[Node]:
        """A reduction, behind what its rounds would load again."""
        changing = {outer.var, *names_of(outer.body)}
        first: list[Node] = []
        body: list[Node] = []
        for inner in outer.body:
            if isinstance(inner, Reduce) and not _uses(inner.rounds, changing):
                body.append(self.kept(inner, changing, first))
            else:
                body.append(inner)
        if first:
            # What no round comes by is not read: nothing was proved of it.
            some = If(Binary(BinaryOp.NE, outer.rounds, _u32(0)), tuple(first), ())
            self.note(outer, outer)
            self.note(outer, some)
            yield some
        yield replace(outer, body=tuple(body))

    def kept(self, inner: Reduce, changing: set[str], first: list[Node]) -> Reduce:
        """A reduction in the rounds of another, whose loads are done in `first`."""
        if isinstance(inner.rounds, Lit):
            return inner  # written out, it leaves nothing to find
        body: list[Node] = []
        for node in inner.body:
            loads = []
            if isinstance(node, (Let, Yield)):
                parts = dict.fromkeys(expressions(node.value))
                loads = [
                    part
                    for part in parts
                    if isinstance(part, Load) and self.is_repeated(part, inner, changing)
                ]
            names: dict[Load, str] = {}
            for load in loads:
                if len(self.arrays) < MOST_ARRAYS:
                    names[load] = self.fresh("again")
                    body += self.taken(node, load, inner, names[load], first)
            if not names:
                body.append(node)
                continue
            assert isinstance(node, (Let, Yield))
            value = rebuild(
                node.value,
                lambda part, names=names: (  # type: ignore[misc]  # a default that is of this round
                    Var(names[part]) if isinstance(part, Load) and part in names else part
                ),
            )
            new = replace(node, value=value)
            self.note(node, new)
            body.append(new)
        return replace(inner, body=tuple(body))

    def is_repeated(self, load: Load, inner: Reduce, changing: set[str]) -> bool:
        """Whether a load is the same in all rounds around, and lies apart for lanes."""
        decl = self.program.buffer(load.buffer)
        if decl.element != decl.element.computed or decl.is_scalar_argument:
            return False
        last = load.index.indices[-1] if isinstance(load.index, FlatIndex) else load.index
        others = any(
            isinstance(part, Id) or (isinstance(part, Var) and part.name != inner.var)
            for part in expressions(load.index)
        )
        nested = any(isinstance(part, Load) for part in expressions(load.index))
        fixed = not _uses(load.index, changing - {inner.var})
        return fixed and others and not nested and _uses(last, {inner.var})

    def taken(
        self, node: Node, load: Load, inner: Reduce, name: str, first: list[Node]
    ) -> Iterator[Node]:
        """Loads elements in `first`, and binds `name` to that of a round."""
        dtype = self.program.buffer(load.buffer).element
        array, loaded = self.fresh("kept"), self.fresh("loaded")
        self.arrays.append(Let(array, Array(dtype, (MOST_KEPT,))))
        few = Binary(BinaryOp.MIN, inner.rounds, _u32(MOST_KEPT))
        at = Var(inner.var)
        reading = Let(loaded, load)
        fill = Loop(
            inner.var,
            _u32(0),
            few,
            (reading, Assign(array, Put(Var(array), (at,), Var(loaded)))),
        )
        first.append(fill)
        beyond = Assign(name, load)
        for now in (reading, beyond):
            self.note(node, now)
        self.note(inner, inner)
        self.note(inner, fill)
        yield Let(name, Lit.of(dtype, 0))
        near = Assign(name, Element(Var(array), (at,)))
        yield If(Binary(BinaryOp.LT, at, _u32(MOST_KEPT)), (near,), (beyond,))

    def note(self, before: Node, now: Node) -> None:
        found = self.texts.setdefault(statement_text(before), [])
        if statement_text(now) not in found:
            found.append(statement_text(now))


def then(
    first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """What statements are called after two rewritings, by what they were called before both.

    >>> then({"a": ["b", "c"]}, {"b": ["d"], "e": ["f"]})
    {'a': ['d', 'c'], 'b': ['d'], 'e': ['f']}
    """
    found = {
        text: [last for now in news for last in second.get(now, (now,))]
        for text, news in first.items()
    }
    return found | {text: list(news) for text, news in second.items() if text not in found}


def _uses(expr: Expr, names: set[str]) -> bool:
    return any(isinstance(part, Var) and part.name in names for part in expressions(expr))


def _u32(number: int) -> Expr:
    return Lit.of(DataType.U32, number)
