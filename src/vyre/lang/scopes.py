"""What the names of a kernel stand for, line by line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from vyre.ir.declare import Access, BufferDecl
from vyre.lang.source import Location, Source
from vyre.lang.values import Key, Value, Variable


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array parameter or workgroup memory, and what the author calls its kind."""

    decl: BufferDecl

    @property
    def name(self) -> str:
        return self.decl.name

    @property
    def is_readable(self) -> bool:
        return self.decl.access is not Access.WRITE_ONLY

    @property
    def is_writable(self) -> bool:
        return self.decl.is_written or self.decl.is_shared

    @property
    def extents(self) -> tuple[int, ...]:
        """The size along each axis; 0 where it comes at run time."""
        return self.decl.shape or (self.decl.count,)


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that has a value here."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable bound before the statement that gives it a value, and not given one yet."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class Alias:
    """A parameter of a function that stands for the caller's value itself."""

    value: Value


@dataclass(frozen=True, slots=True)
class Hoistable:
    """Given a value in every branch of a statement; whoever reads it binds it before that one."""

    statement: Key
    depth: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that may have no value here, and why."""

    reason: str
    fix: str


Entry = Buffer | Bound | Declared | Alias | Hoistable | Missing
Env = dict[str, Entry]


@dataclass(slots=True, eq=False)
class Frame:
    """One function being translated: the kernel, or a function put in place of a call."""

    source: Source
    env: Env
    assigned: frozenset[str]
    path: tuple[int, ...] = ()  # the calls that led here
    called_from: Location | None = None

    def key(self, node: ast.AST, name: str = "") -> Key:
        return (*self.path, id(node), name)


@dataclass(slots=True)
class Names:
    """IR names: the author's where free, else with a number behind."""

    open: list[set[str]] = field(default_factory=lambda: [set()])
    used: set[str] = field(default_factory=set)

    @property
    def depth(self) -> int:
        return len(self.open)

    def fresh(self, name: str, *, anywhere: bool = False) -> str:
        """`name`, or `name_2` and so on where it is visible; `anywhere`, where it ever was."""
        taken = self.used if anywhere else set().union(*self.open)
        found, number = name, 1
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        self.open[-1].add(found)
        self.used.add(found)
        return found

    def take(self, names: Sequence[str]) -> bool:
        """Make names of an ended scope visible in this one, unless two of them clash."""
        if len({*names}) < len(names) or not set().union(*self.open).isdisjoint(names):
            return False
        self.open[-1].update(names)
        return True

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.open.append(set())
        try:
            yield
        finally:
            self.open.pop()


def assigned_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Every name that the statements give a value to."""
    return frozenset(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def join(base: Env, branches: Sequence[Env], statement: Key, depth: int, line: int) -> Env:
    """What the names stand for after one of `branches`, all of which started from `base`."""
    joined: Env = {}
    for name in dict.fromkeys(name for env in branches for name in env):
        entries = [env.get(name) for env in branches]
        first = entries[0]
        if first is not None and all(entry == first for entry in entries):
            joined[name] = first
        elif isinstance(base.get(name), (Bound, Declared)):
            joined[name] = base[name] if isinstance(base[name], Declared) else _maybe(name, line)
        elif all(isinstance(entry, (Bound, Hoistable)) for entry in entries):
            joined[name] = Hoistable(statement, depth)
        else:
            joined[name] = _maybe(name, line)
    # What the branches bind themselves ends with their lists, unless it is bound before them.
    for name, entry in joined.items():
        if _is_own(entry, base.get(name)):
            joined[name] = Hoistable(statement, depth)
    return joined


def _is_own(entry: Entry, before: Entry | None) -> bool:
    match entry:
        case Bound(variable):
            return before not in (entry, Declared(variable))
        case Hoistable():
            return before != entry
        case _:
            return False


def after_loop(base: Env, body: Mapping[str, Entry], line: int) -> Env:
    """What the names stand for after a loop that may run no round."""
    after = dict(base)
    for name in body.keys() - base.keys():
        after[name] = Missing(
            f"{name!r} may have no value here: it is first assigned inside the loop of line {line}",
            f"give {name} a value before that loop",
        )
    return after


def _maybe(name: str, line: int) -> Missing:
    return Missing(
        f"{name!r} may have no value here: not every path through the if of line {line} assigns it",
        f"give {name} a value before that if, or in its else",
    )
