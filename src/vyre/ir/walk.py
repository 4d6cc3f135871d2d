"""Walking programs: the parts of an expression or statement, and all of them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, TypeVar

from vyre.ir.expr import Expr
from vyre.ir.node import Assign, Let, Loop, Node, Reduce

_Item = TypeVar("_Item", Expr, Node)


def operands(item: Expr | Node) -> tuple[Expr, ...]:
    """The expressions directly inside an expression or a statement, in evaluation order."""
    found: list[Expr] = []
    for name in _names(type(item)):
        value = getattr(item, name)
        if isinstance(value, Expr):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(part for part in value if isinstance(part, Expr))
    return tuple(found)


def bodies(node: Node) -> tuple[tuple[Node, ...], ...]:
    """The statement lists directly inside a statement."""
    return tuple(
        getattr(node, name) for name in ("then", "otherwise", "body") if hasattr(node, name)
    )


def expressions(item: Expr | Node) -> Iterator[Expr]:
    """Every expression inside `item`, itself included, parents before children."""
    stack = [item] if isinstance(item, Expr) else list(reversed(operands(item)))
    while stack:
        expr = stack.pop()
        yield expr
        stack.extend(reversed(operands(expr)))


def statements(nodes: Iterable[Node]) -> Iterator[Node]:
    """Every statement of the lists and of the lists inside them, in source order."""
    stack = list(reversed(tuple(nodes)))
    while stack:
        node = stack.pop()
        yield node
        for body in reversed(bodies(node)):
            stack.extend(reversed(body))


def all_expressions(nodes: Iterable[Node]) -> Iterator[Expr]:
    """Every expression of every statement."""
    for node in statements(nodes):
        yield from expressions(node)


def names_of(nodes: Sequence[Node]) -> Iterator[str]:
    """Every name that statements bind or change."""
    for node in statements(nodes):
        match node:
            case Let(name) | Assign(name):
                yield name
            case Loop(var):
                yield var
            case Reduce(name=name, var=var):
                yield name
                yield var
            case _:
                pass


def post_order(items: Iterable[Expr | Node]) -> Iterator[Expr | Node]:
    """Every object in `items`, children first, each one once however often it is shared.

    Neither depth nor sharing costs anything here: `x = x ^ (x >> 1)` forty times over is a tree of
    2**40 leaves made of eighty objects, nested eighty deep.
    """
    seen: set[int] = set()
    stack = [(item, False) for item in reversed(tuple(items))]
    while stack:
        item, expanded = stack.pop()
        if id(item) in seen:
            continue
        if expanded:
            seen.add(id(item))
            yield item
            continue
        inner = chain.from_iterable(bodies(item)) if isinstance(item, Node) else ()
        stack.append((item, True))
        stack.extend((part, False) for part in reversed((*operands(item), *inner)))


MAX_DEPTH = 200
"""How deep statements and expressions may nest together.

The Rust project decodes 64 levels; a sum of a hundred terms needs more, and every recursive reader
here stays well inside Python's own limit of 1000 frames.
"""

MAX_PARTS = 1_000_000
"""How many statements and expressions a program may have, shared ones counted wherever they stand.

Readers walk every path to a part, and emitted source spells it out each time.
"""


@dataclass(frozen=True, slots=True)
class Size:
    """How many levels something nests, itself included, and how many parts it has in all."""

    depth: int
    parts: int


def size_of(items: Iterable[Expr | Node]) -> Size:
    """The size of a list, found in as many steps as there are objects in it."""
    roots = tuple(items)
    known: dict[int, Size] = {}
    for item in post_order(roots):
        inner = chain.from_iterable(bodies(item)) if isinstance(item, Node) else ()
        whole = _together(known[id(part)] for part in (*operands(item), *inner))
        known[id(item)] = Size(whole.depth + 1, whole.parts + 1)
    return _together(known[id(root)] for root in roots)


def _together(sizes: Iterable[Size]) -> Size:
    depth = parts = 0
    for size in sizes:
        depth, parts = max(depth, size.depth), parts + size.parts
    return Size(depth, parts)


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`expr` with `change` applied to each part, children before parents."""
    parts: dict[str, object] = {}
    for name in _names(type(expr)):
        value = getattr(expr, name)
        if isinstance(value, Expr):
            parts[name] = rebuild(value, change)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            parts[name] = tuple(rebuild(part, change) for part in value)
    return change(replace(expr, **parts) if parts else expr)  # type: ignore[type-var]  # every Expr is a dataclass


def rebuild_node(
    node: Node,
    change: Callable[[Expr], Expr],
    change_list: Callable[[tuple[Node, ...]], tuple[Node, ...]] = tuple,
) -> Node:
    """`node` with its expressions and its lists changed, inside out."""
    parts: dict[str, object] = {}
    for name in _names(type(node)):
        value = getattr(node, name)
        if isinstance(value, Expr):
            parts[name] = rebuild(value, change)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            parts[name] = tuple(rebuild(part, change) for part in value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            parts[name] = change_list(
                tuple(rebuild_node(part, change, change_list) for part in value)
            )
    return replace(node, **parts) if parts else node  # type: ignore[type-var]  # every Node is a dataclass


def outermost(item: Expr | Node, wanted: Callable[[Expr], bool]) -> Iterator[Expr]:
    """The parts of an expression or a statement that are wanted, but for what is inside another."""
    if isinstance(item, Expr) and wanted(item):
        yield item
        return
    for part in operands(item):
        yield from outermost(part, wanted)
    for node in chain.from_iterable(bodies(item)) if isinstance(item, Node) else ():
        yield from outermost(node, wanted)


def exchanged(item: _Item, other: Callable[[Expr], Expr | None]) -> _Item:
    """An expression or a statement whose outermost parts that have another have given way to it."""

    def now(part: Any) -> Any:
        if isinstance(part, Expr) and (found := other(part)) is not None:
            return found
        return exchanged(part, other)

    parts: dict[str, object] = {}
    for name in _names(type(item)):
        value = getattr(item, name)
        if isinstance(value, (Expr, Node)):
            parts[name] = now(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], (Expr, Node)):
            parts[name] = tuple(map(now, value))
    return replace(item, **parts) if parts else item  # type: ignore[type-var]  # every one is a dataclass


_NAMES: dict[type, tuple[str, ...]] = {}


def _names(kind: type) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind))
    return _NAMES[kind]
