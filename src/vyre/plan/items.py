"""What a kernel does to one item, taken out of the kernel: statements over a given item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vyre.errors import InvalidInput
from vyre.ir import build as ir
from vyre.ir.expr import Atomic, Call, Expr, FlatIndex, Id, IdKind, OpaqueExpr, Subgroup, Var
from vyre.ir.node import (
    Assign,
    Block,
    Break,
    Continue,
    If,
    Let,
    Loop,
    Node,
    Region,
    Return,
    Store,
    While,
)
from vyre.ir.walk import all_expressions, rebuild_node, statements
from vyre.lang import Role, Translation

Nodes = tuple[Node, ...]

_PLAIN = (Let, Assign, Store, If, Loop, While, Break, Continue, Return, Block, Region)
_SHARING = (Atomic, Call, Subgroup, OpaqueExpr)


def refuse_shared_work(kernel: Translation) -> None:
    """Refuse a kernel whose items are not each on their own.

    Raises:
        InvalidInput: it has more axes than one, works together with other items, or writes
            anywhere but at its own item.
    """
    for why, fix in _objections(kernel):
        raise InvalidInput(f"{kernel.name} cannot be speculated on: {why}", fix)


def _objections(kernel: Translation) -> Iterator[tuple[str, str]]:
    if kernel.rank == 0:
        yield "it asks for no position, and runs once", "let one invocation do one item: use gid()"
    elif kernel.rank != 1:
        yield f"it covers {kernel.rank} axes", "use gid(0) alone, and compute the rest from it"
    for param in kernel.params:
        if param.role is Role.INOUT:
            yield f"{param.name} is InOut", "read it as In, and write another array as Out"
    entry = kernel.program.entry
    for node in statements(entry):
        if not isinstance(node, _PLAIN):
            word = type(node).__name__.lower()
            yield f"it has a {word}, which other items take part in", "leave it out"
    for expr in all_expressions(entry):
        if isinstance(expr, _SHARING):
            word = type(expr).__name__.lower()
            yield f"it has a {word}, which other items can see", "write an Out array instead"
        if isinstance(expr, Id) and expr.kind not in (IdKind.INVOCATION, IdKind.EXTENT):
            yield f"it uses {expr.kind.value}, which depends on the launch", "use gid() alone"
    own = _own_names(entry)
    for node in statements(entry):
        if isinstance(node, Store) and not _is_own(node.index, own):
            yield (
                f"it writes {node.buffer} elsewhere than at its own item",
                f"write {node.buffer}[vyre.gid()]",
            )


def _own_names(entry: Nodes) -> frozenset[str]:
    """The names that hold the item and nothing else."""
    own, other = set(), set()
    for node in statements(entry):
        match node:
            case Let(name, Id(IdKind.INVOCATION, 0)):
                own.add(name)
            case Let(name) | Assign(name) | Loop(name):
                other.add(name)
            case _:
                pass
    return frozenset(own - other)


def _is_own(index: Expr, own: frozenset[str]) -> bool:
    match index:
        case Id(IdKind.INVOCATION, 0):
            return True
        case Var(name):
            return name in own
        case FlatIndex(indices=(first, *_)):
            return _is_own(first, own)
        case _:
            return False


def item_body(kernel: Translation, item: Expr, items: Expr, prefix: str) -> Nodes:
    """The kernel's statements over `item` of `items`; its names get a prefix.

    They hold no Return, so that others may follow.
    """

    def change(expr: Expr) -> Expr:
        match expr:
            case Id(IdKind.INVOCATION):
                return item
            case Id(IdKind.EXTENT):
                return items
            case Var(name):
                return Var(prefix + name)
            case _:
                return expr

    def rename(nodes: Nodes) -> Nodes:
        return tuple(_renamed(node, prefix) for node in nodes)

    body = rename(tuple(rebuild_node(node, change, rename) for node in kernel.program.entry))
    return _without_returns(body, prefix)


def _renamed(node: Node, prefix: str) -> Node:
    match node:
        case Let(name) | Assign(name):
            return replace(node, name=prefix + name)
        case Loop(var):
            return replace(node, var=prefix + var)
        case Region(body=body):
            return Block(body)
        case _:
            return node


def _without_returns(body: Nodes, prefix: str) -> Nodes:
    """The same statements in a loop of one round, which a Return breaks out of."""
    if not any(isinstance(node, Return) for node in statements(body)):
        return body
    names = {node.name for node in statements(body) if isinstance(node, Let)}
    names |= {node.var for node in statements(body) if isinstance(node, Loop)}
    done, once = _fresh(prefix + "done", names), _fresh(prefix + "once", names)
    rounds = Loop(once, ir.u32(0), ir.u32(1), _leaving(body, done, inner=False))
    return (Let(done, ir.bool_(False)), rounds)


def _leaving(nodes: Nodes, done: str, *, inner: bool) -> Nodes:
    """`nodes` with breaks for returns; inside an inner loop, a flag tells the loops around it."""
    made: list[Node] = []
    for node in nodes:
        match node:
            case Return():
                made += [Assign(done, ir.bool_(True)), Break()] if inner else [Break()]
            case If(cond, then, otherwise):
                then = _leaving(then, done, inner=inner)
                made.append(If(cond, then, _leaving(otherwise, done, inner=inner)))
            case Block(body):
                made.append(Block(_leaving(body, done, inner=inner)))
            case Loop(body=body) | While(body=body):
                made.append(replace(node, body=_leaving(body, done, inner=True)))
                if any(isinstance(part, Return) for part in statements(body)):
                    made.append(If(Var(done), (Break(),)))
            case _:
                made.append(node)
    return tuple(made)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
