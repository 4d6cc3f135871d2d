"""What the names of a kernel stand for, line by line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from vyre.ir.declare import Access, BufferDecl
from vyre.ir.types import DataType
from vyre.lang.params import Edge, Param, Role
from vyre.lang.source import Location, Source
from vyre.lang.tables import Table
from vyre.lang.values import Form, Key, Value, Variable


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array parameter or workgroup memory, and what the author calls its kind."""

    decl: BufferDecl
    by_workgroup: tuple[tuple[int, ...], ...] = ()  # its extents in each that is named
    edge: Edge = Edge.ZERO  # of loads; stores beyond the edge are dropped

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
    def rank(self) -> int:
        return self.decl.rank

    @property
    def element(self) -> DataType:
        return self.decl.element

    @property
    def extents(self) -> tuple[int, ...]:
        """The size along each axis; 0 where it comes at run time, or goes by the workgroup."""
        if self.by_workgroup:
            axes = zip(*self.by_workgroup, strict=True)
            return tuple(sizes[0] if len(set(sizes)) == 1 else 0 for sizes in axes)
        return self.decl.shape or (self.decl.count,)

    @property
    def as_inout(self) -> str:
        """How a parameter like it is declared that is read and written."""
        fixed = self.extents if all(self.extents) else ()
        # Calls take out= for what they hand back, so an InOut cannot have that name.
        name = "result" if self.name == "out" else self.name
        return str(
            Param(
                name=name,
                role=Role.INOUT,
                dtype=self.element,
                rank=self.rank,
                shape=fixed,
                edge=self.edge,
            )
        )


@dataclass(frozen=True, slots=True)
class Local:
    """An array of the invocation's own."""

    name: str  # the author's
    ir_name: str
    dtype: DataType
    shape: tuple[int, ...]
    within: str | None = None  # the reduction of whose elements it is

    @property
    def extents(self) -> tuple[int, ...]:
        return self.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element(self) -> DataType:
        return self.dtype


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
    """Given a value in every branch of a statement; whoever reads it binds it before that one.

    `variable` is what one of the branches bound. It stands in for the rest of this pass.
    """

    statement: Key
    depth: int
    variable: Variable = field(compare=False)


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that may have no value here, and why."""

    reason: str
    fix: str


Held = Buffer | Local | Table
"""What is indexed."""

Entry = Buffer | Local | Table | Bound | Declared | Alias | Hoistable | Missing


class Env(dict[str, Entry]):
    """What names stand for here; what a branch or a loop changes can be taken back."""

    def __init__(self) -> None:
        super().__init__()
        self._changes: list[tuple[str, Entry | None]] = []

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._changes.append((name, self.get(name)))
        super().__setitem__(name, entry)

    def mark(self) -> int:
        return len(self._changes)

    def taken_back(self, mark: int) -> dict[str, Entry]:
        """Undo what was changed since `mark`; what each of those names stood for last."""
        last: dict[str, Entry] = {}
        while len(self._changes) > mark:
            name, before = self._changes.pop()
            last.setdefault(name, self[name])
            if before is None:
                del self[name]
            else:
                super().__setitem__(name, before)
        return last


@dataclass(slots=True, eq=False)
class Frame:
    """One function being translated: the kernel, or a function put in place of a call."""

    source: Source
    env: Env
    assigned: frozenset[str]
    growing: frozenset[str]
    path: tuple[int, ...] = ()  # the calls that led here, and the rounds of loops spelled out
    called_from: Location | None = None
    call: Key = ()  # the path without rounds
    result: Form = None  # how a function arranges what it returns

    def key(self, node: ast.AST, name: str = "") -> Key:
        return (*self.path, id(node), name)


@dataclass(slots=True)
class Names:
    """IR names: the author's where free, else with a number behind."""

    open: list[list[str]] = field(default_factory=lambda: [[]])
    visible: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    # For each name, a number below which all are taken, so that nobody counts from 1 every time.
    lowest_hidden: dict[str, int] = field(default_factory=dict)
    lowest_unused: dict[str, int] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return len(self.open)

    def fresh(self, name: str, *, anywhere: bool = False) -> str:
        """`name`, or `name_2` and so on where it is visible; `anywhere`, where it ever was."""
        taken, lowest = (
            (self.used, self.lowest_unused) if anywhere else (self.visible, self.lowest_hidden)
        )
        number = lowest.get(name, 1)
        while (found := _numbered(name, number)) in taken:
            number += 1
        lowest[name] = number + 1
        self.show(found)
        return found

    def take(self, names: Sequence[str]) -> bool:
        """Make names of an ended scope visible in this one, unless two of them clash."""
        if len({*names}) < len(names) or not self.visible.isdisjoint(names):
            return False
        for name in names:
            self.show(name)
        return True

    def show(self, name: str) -> None:
        self.open[-1].append(name)
        self.visible.add(name)
        self.used.add(name)

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.open.append([])
        try:
            yield
        finally:
            for name in self.open.pop():
                self.hide(name)

    def hide(self, name: str) -> None:
        self.visible.discard(name)
        self.lowest_hidden.pop(name, None)
        base, _, number = name.rpartition("_")
        if base in self.lowest_hidden and number.isdecimal():
            self.lowest_hidden[base] = min(self.lowest_hidden[base], max(int(number[-9:]), 1))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}_{number}"


def assigned_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Every name that the statements give a value to; those of a generator are its own."""
    found, of_generators = list[ast.Name](), set[ast.AST]()
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.comprehension):
            of_generators.update(ast.walk(node.target))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node)
    return frozenset(node.id for node in found if node not in of_generators)


def growing_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Every name that is counted with, or given a number computed from others."""
    found: set[str] = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.AugAssign(target=ast.Name(id=name), op=op) if isinstance(op, _GROWING):
                found.add(name)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    found |= _given_computed(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                found |= _given_computed(target, value)
            case _:
                pass
    return frozenset(found)


_GROWING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)


def _given_computed(target: ast.expr, value: ast.expr) -> set[str]:
    match target, value:
        case (ast.Tuple(elts=names), ast.Tuple(elts=values)):
            return {
                name
                for one, given in zip(names, values, strict=False)
                for name in _given_computed(one, given)
            }
        case (ast.Name(id=name), _) if _is_computed(value):
            return {name}
        case _:
            return set()


def _is_computed(value: ast.expr) -> bool:
    """Whether a number may come out that none of the literals and names in `value` is."""
    match value:
        case ast.BinOp(left=left, op=op, right=right):
            named = any(isinstance(part, ast.Name) for part in ast.walk(value))
            return (isinstance(op, _GROWING) and named) or _is_computed(left) or _is_computed(right)
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            return any(isinstance(part, ast.Name) for part in ast.walk(operand))
        case ast.IfExp(body=body, orelse=orelse):
            return _is_computed(body) or _is_computed(orelse)
        case ast.Call(args=args):
            return any(_is_computed(argument) for argument in args)
        case _:
            return False


def join(
    env: Env, branches: Sequence[Mapping[str, Entry]], statement: Key, depth: int, line: int
) -> None:
    """Let names stand for what they do after one of `branches`, which are what each changes."""
    for name in dict.fromkeys(name for changes in branches for name in changes):
        base = env.get(name)
        entries = [changes.get(name, base) for changes in branches]
        first = entries[0]
        found: Entry = _maybe(name, line)
        if first is not None and all(entry == first for entry in entries):
            found = first
        elif isinstance(base, Declared):
            found = base
        elif not isinstance(base, Bound) and all(
            isinstance(entry, (Bound, Hoistable)) for entry in entries
        ):
            found = Hoistable(statement, depth, _typed_one(entries))
        # What the branches bind themselves ends with their lists, unless it is bound before them.
        if _is_own(found, base):
            found = Hoistable(statement, depth, _typed_one([found]))
        if isinstance(found, Local) and found != base:
            found = _ended(name, line)
        env[name] = found


def _typed_one(entries: Sequence[Entry | None]) -> Variable:
    """A variable of these entries, one with a type if there is one."""
    found = [entry.variable for entry in entries if isinstance(entry, (Bound, Hoistable))]
    return next((variable for variable in found if variable.dtype is not None), found[0])


def _is_own(entry: Entry, before: Entry | None) -> bool:
    match entry:
        case Bound(variable):
            return before not in (entry, Declared(variable))
        case Hoistable():
            return before != entry
        case _:
            return False


def after_loop(env: Env, changes: Iterable[str], line: int) -> None:
    """Let names stand for what they do after a loop that may run no round."""
    for name in changes:
        if name not in env:
            env[name] = Missing(
                f"{name!r} may have no value here: it is first assigned inside the loop of line "
                f"{line}",
                f"give {name} a value before that loop",
            )


def _ended(name: str, line: int) -> Missing:
    return Missing(
        f"the array {name!r} ends with the branch of the if of line {line} that declares it",
        f"write {name} = vyre.local(...) before that if",
    )


def _maybe(name: str, line: int) -> Missing:
    return Missing(
        f"{name!r} may have no value here: not every path through the if of line {line} assigns it",
        f"give {name} a value before that if, or in its else",
    )
