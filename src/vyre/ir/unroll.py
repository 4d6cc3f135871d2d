"""Small counted loops over windows of arrays, written out round by round; every name bound once.

A window such as `x[i + k - 1]` for `k` in `range(3)` is then three places next to each other, which
neighbouring positions have in common. What is found out of a name holds of all that it stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from vyre.ir.expr import Expr, FlatIndex, Lit, Load, Var
from vyre.ir.node import Assign, Break, Continue, Let, Loop, Node, Reduce, Return, While
from vyre.ir.program import Program
from vyre.ir.text import statement_text
from vyre.ir.types import DataType
from vyre.ir.walk import all_expressions, expressions, rebuild, rebuild_node, size_of, statements

MOST_ROUNDS = 32
"""Of a loop and those around it together."""

MOST_PARTS = 4_096
"""Statements and expressions that may come of one loop."""

_COUNTED = (DataType.U32, DataType.I32)


@dataclass(frozen=True, slots=True)
class Before:
    """What was what before loops were written out, and names that were bound twice had others."""

    names: Mapping[str, str]  # of names that only the new program has
    texts: Mapping[str, Collection[str]]
    """What statements were called that are called so now; several where some read alike now."""


def written_out(program: Program) -> Program:
    """The same program without small loops over windows, no name bound twice."""
    return _written_out(program)[0]


def before(program: Program) -> Before:
    """What `written_out` of a program made of what."""
    return _written_out(program)[1]


@lru_cache(maxsize=256)
def _written_out(program: Program) -> tuple[Program, Before]:
    writer = _Writer(program)
    entry = writer.list(program.entry, MOST_ROUNDS)
    names, texts = writer.before, writer.texts
    bound = Counter(name for node in statements(entry) for name in _bound(node))
    if any(times > 1 for times in bound.values()):
        renamer = _Renamer()
        entry = renamer.list(entry, {})
        names = names | {now: names.get(old, old) for now, old in renamer.before.items()}
        texts = {
            now: {first for old in olds for first in texts[old]}
            for now, olds in renamer.texts.items()
        }
    made = program if entry == program.entry else replace(program, entry=entry)
    return made, Before(names, texts)


class _Renamer:
    """Gives a name that was bound before another one."""

    def __init__(self) -> None:
        self.before: dict[str, str] = {}
        self.texts: dict[str, set[str]] = {}

    def list(self, nodes: tuple[Node, ...], outer: Mapping[str, str]) -> tuple[Node, ...]:
        """The statements of a list; the names bound in it end with it."""
        names, made = dict(outer), []
        for node in nodes:
            inside = names
            if isinstance(node, (Loop, Reduce)):
                inside = {**names, node.var: self.fresh(node.var)}
            made.append(self.node(node, names, inside))
            if isinstance(node, (Let, Reduce)):
                names[node.name] = self.fresh(node.name)
                made[-1] = replace(made[-1], name=names[node.name])  # type: ignore[type-var]
            self.texts.setdefault(statement_text(made[-1]), set()).add(statement_text(node))
        return tuple(made)

    def node(self, node: Node, names: Mapping[str, str], inside: Mapping[str, str]) -> Node:
        def renamed(expr: Expr) -> Expr:
            return Var(names.get(expr.name, expr.name)) if isinstance(expr, Var) else expr

        parts: dict[str, object] = {}
        for field in fields(node):  # type: ignore[arg-type]  # every Node is a dataclass
            value = getattr(node, field.name)
            if isinstance(value, Expr):
                parts[field.name] = rebuild(value, renamed)
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                parts[field.name] = self.list(value, inside)
        if isinstance(node, Assign):
            parts["name"] = names.get(node.name, node.name)
        if isinstance(node, (Loop, Reduce)):
            parts["var"] = inside[node.var]
        return replace(node, **parts) if parts else node  # type: ignore[type-var]

    def fresh(self, name: str) -> str:
        found = name
        while found in self.before:
            found += "_"
        self.before[found] = name
        return found


class _Writer:
    """Writes loops out, each name of a round as one of its own."""

    def __init__(self, program: Program) -> None:
        self.taken = {name for node in statements(program.entry) for name in _bound(node)}
        self.before: dict[str, str] = {}
        self.texts = {text: {text} for text in map(statement_text, statements(program.entry))}

    def list(self, nodes: tuple[Node, ...], most: int) -> tuple[Node, ...]:
        return tuple(made for node in nodes for made in self.node(node, most))

    def node(self, node: Node, most: int) -> Iterator[Node]:
        rounds = _rounds(node) if isinstance(node, Loop) and _is_window(node) else None
        if isinstance(node, Loop) and rounds is not None and len(rounds) <= most:
            inner = self.list(node.body, most // max(len(rounds), 1))
            if size_of(inner).parts * len(rounds) <= MOST_PARTS:
                for count in rounds:
                    yield from self.round(inner, node, count)
                return
        parts = {
            name: self.list(getattr(node, name), most)
            for name in ("then", "otherwise", "body")
            if hasattr(node, name)
        }
        yield replace(node, **parts) if parts else node  # type: ignore[type-var]  # every Node is a dataclass

    def round(self, body: tuple[Node, ...], loop: Loop, count: int) -> tuple[Node, ...]:
        """The statements of one round."""
        assert isinstance(loop.start, Lit)
        number = Lit.of(loop.start.dtype, count)
        own = {name for node in statements(body) for name in _bound(node)}
        names = {name: self.fresh(f"{name}.{count}") for name in sorted(own)}
        self.before |= {now: self.before.get(old, old) for old, now in names.items()}

        def counted(expr: Expr) -> Expr:
            if isinstance(expr, Var):
                return number if expr.name == loop.var else Var(names.get(expr.name, expr.name))
            return expr

        def named(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
            return tuple(_renamed(node, names) for node in nodes)

        made = named(tuple(rebuild_node(node, counted, named) for node in body))
        for old, now in zip(statements(body), statements(made), strict=True):
            texts = self.texts[statement_text(old)]
            self.texts.setdefault(statement_text(now), set()).update(texts)
        return made

    def fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _bound(node: Node) -> tuple[str, ...]:
    match node:
        case Let(name) | Loop(name):
            return (name,)
        case Reduce(name, var=var):
            return (name, var)
        case _:
            return ()


def _renamed(node: Node, names: dict[str, str]) -> Node:
    match node:
        case Let(name) | Assign(name) if name in names:
            return replace(node, name=names[name])
        case Loop(var) if var in names:
            return replace(node, var=names[var])
        case Reduce(name, var=var):
            return replace(node, name=names.get(name, name), var=names.get(var, var))
        case _:
            return node


def _rounds(loop: Loop) -> range | None:
    """What a loop counts, where that can be read; nothing inside may leave it."""
    start, stop = loop.start, loop.stop
    if not (isinstance(start, Lit) and isinstance(stop, Lit) and start.dtype in _COUNTED):
        return None
    leaving = (Break, Continue, Return, While)
    if any(isinstance(node, leaving) for node in statements(loop.body)):
        return None
    rounds = range(int(start.value), int(stop.value))
    return None if rounds.start < 0 and _is_place(loop) else rounds


def _is_place(loop: Loop) -> bool:
    """Whether its counter itself is an index, which no program may say is negative."""
    loads = (part for part in all_expressions(loop.body) if isinstance(part, Load))
    indices = (load.index for load in loads)
    return any(
        Var(loop.var) in (index.indices if isinstance(index, FlatIndex) else (index,))
        for index in indices
    )


def _is_window(loop: Loop) -> bool:
    """Whether an index of a load counts with it, by itself or by names made of it."""
    moved = {loop.var}
    for node in statements(loop.body):
        if isinstance(node, Assign) and node.name in moved:
            return False
        if isinstance(node, (Let, Assign)) and _uses(node.value, moved):
            moved.add(node.name)
        if isinstance(node, Reduce) and any(_uses(e, moved) for e in all_expressions([node])):
            moved.add(node.name)
    return any(
        isinstance(expr, Load) and _uses(expr.index, moved) for expr in all_expressions(loop.body)
    )


def _uses(expr: Expr, names: set[str]) -> bool:
    return any(isinstance(part, Var) and part.name in names for part in expressions(expr))
