"""Hashes of a program's structure: one without names, for transfer, and one of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Protocol

from blake3 import blake3

from vyre.ir.declare import BufferDecl, Dim3, Options
from vyre.ir.expr import Call, Expr, OpaqueExpr, Var
from vyre.ir.node import Assign, Block, Let, Loop, Node, OpaqueNode, Reduce, Region
from vyre.ir.types import DataType
from vyre.ir.walk import bodies, operands, post_order


class Encodable(Protocol):
    """What the bytes and the hashes of a program are made of."""

    @property
    def buffers(self) -> tuple[BufferDecl, ...]: ...
    @property
    def workgroup_size(self) -> Dim3: ...
    @property
    def entry(self) -> tuple[Node, ...]: ...
    @property
    def entry_op_id(self) -> str | None: ...
    @property
    def non_composable(self) -> bool: ...
    @property
    def options(self) -> Options: ...


def structural_hash(program: Encodable) -> bytes:
    """32 bytes that renaming leaves alone and another operation, type or access changes.

    Buffers, variables, operation ids and tokens count by order of first appearance in the entry as
    it is written; regions and blocks only scope names; the workgroup and all counts are left out.
    It serves transfer between similar programs, never identity.
    """
    names = _Names(program)
    hasher = blake3(b"vyre.py structure 1\0")
    hasher.update(_token((program.options.fast_math, program.non_composable)))
    stack: list[Node | _List | _End | bytes] = [_List(program.entry)]
    while stack:
        match stack.pop():
            case bytes(data):
                hasher.update(data)
            case _List(body, var, after):
                names.enter()
                if var is not None:
                    names.bind(var)
                stack.append(_End(after))
                stack.extend(reversed(body))
            case _End(after):
                names.leave()
                if after is not None:
                    names.bind(after)
            case Region(body=body) | Block(body=body):
                # no bracket of their own: moving code into a region is not an edit
                stack.append(_List(body))
            case node:
                hasher.update(_statement(node, names))
                if isinstance(node, Let):
                    names.bind(node.name)
                var = node.var if isinstance(node, (Loop, Reduce)) else None
                after = node.name if isinstance(node, Reduce) else None
                for part in reversed(bodies(node)):
                    stack.extend((b")", _List(part, var, after)))
    hasher.update(names.unused())
    return hasher.digest()


def exact_hash(program: Encodable) -> bytes:
    """32 bytes of everything in a program, for one that has no wire form."""
    digests: dict[int, bytes] = {}
    for item in post_order(program.entry):
        digests[id(item)] = blake3(_fields(item, digests)).digest()
    hasher = blake3(b"vyre.py exact 1\0")
    for decl in program.buffers:
        hasher.update(_fields(decl, digests))
    hasher.update(_token((*program.workgroup_size, program.entry_op_id, program.non_composable)))
    hasher.update(_fields(program.options, digests))
    for node in program.entry:
        hasher.update(digests[id(node)])
    return hasher.digest()


@dataclass(frozen=True, slots=True)
class _List:
    """A list to go into, with the names that are bound in it and after it."""

    body: tuple[Node, ...]
    var: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a list, where its names end and the one that comes of it is bound."""

    after: str | None


class _Names:
    """The numbers that stand for names, given out as the names appear."""

    def __init__(self, program: Encodable) -> None:
        self._unique = frozenset(program.options.unique_writes)
        self._decls: dict[str, BufferDecl] = {}
        for decl in program.buffers:
            self._decls.setdefault(decl.name, decl)
        self._order: dict[tuple[str, str], int] = {}
        self._bound: dict[str, list[int]] = {}
        self._scopes: list[list[str]] = []
        self._count = 0

    def enter(self) -> None:
        self._scopes.append([])

    def leave(self) -> None:
        for name in self._scopes.pop():
            self._bound[name].pop()

    def bind(self, name: str) -> None:
        self._bound.setdefault(name, []).append(self._count)
        self._count += 1
        self._scopes[-1].append(name)

    def variable(self, name: str) -> bytes:
        if bound := self._bound.get(name):
            return _token(bound[-1])
        return self._ordinal("free name", name)

    def other(self, role: str, name: str) -> bytes:
        return self._ordinal(role, name)

    def buffer(self, name: str) -> bytes:
        decl = self._decls.get(name)
        return self._ordinal("buffer", name) + (_token(None) if decl is None else self._what(decl))

    def unused(self) -> bytes:
        """The buffers that nothing mentions, in an order that their names have no part in."""
        rest = (decl for name, decl in self._decls.items() if ("buffer", name) not in self._order)
        return b"".join(sorted(self._what(decl) for decl in rest))

    def _ordinal(self, role: str, name: str) -> bytes:
        return _token(role) + _token(self._order.setdefault((role, name), len(self._order)))

    def _what(self, decl: BufferDecl) -> bytes:
        unique = decl.name in self._unique
        return _token((decl.access, decl.kind, decl.element, decl.rank, decl.is_output, unique))


def _statement(node: Node, names: _Names) -> bytes:
    """One statement without its lists; an expression counts with the names in force here."""
    digests: dict[int, bytes] = {}
    for item in post_order(operands(node)):
        digests[id(item)] = blake3(_fields(item, digests, names)).digest()
    return _fields(node, digests, names)


_BUFFER_FIELDS = frozenset({"buffer", "count_buffer", "source", "destination"})
_LIST_FIELDS = frozenset({"then", "otherwise", "body"})


def _fields(item: object, digests: Mapping[int, bytes], names: _Names | None = None) -> bytes:
    """The fields of one value in order; with `names`, lists are left out and names are numbers."""
    parts = [_token(type(item).__name__)]
    for field in fields(item):  # type: ignore[arg-type]  # every value of the IR is a dataclass
        value = getattr(item, field.name)
        if isinstance(value, (Expr, Node)):
            parts.append(digests[id(value)])
        elif names is not None and field.name in _LIST_FIELDS:
            continue
        elif isinstance(value, tuple) and value and isinstance(value[0], (Expr, Node)):
            parts.append(_token(len(value)))
            parts.extend(digests[id(part)] for part in value)
        elif names is not None and isinstance(value, str):
            parts.append(_name(item, field.name, value, names))
        elif hasattr(value, "__dataclass_fields__") and not isinstance(value, DataType):
            parts.append(_fields(value, digests, names))
        else:
            parts.append(_token(value))
    return b"".join(parts)


def _name(item: object, field: str, value: str, names: _Names) -> bytes:
    match item:
        case OpaqueExpr() | OpaqueNode():
            return _token(value)  # the kind is an operation, not a name
        case Let() | Loop() | Reduce():
            return b""  # binds a name; its number follows from its place
        case Var() | Assign():
            return names.variable(value)
        case Call():
            return names.other("operation", value)
        case _ if field in _BUFFER_FIELDS:
            return names.buffer(value)
        case _:
            return names.other(field, value)


def _token(value: object) -> bytes:
    """A self-delimiting spelling of a plain value; no two values share one."""
    match value:
        case Enum():
            return _token((type(value).__name__, value.name))
        case DataType(tag, element, params):
            chain_of = [tag.name, params]
            while element is not None:
                chain_of += [element.tag.name, element.params]
                element = element.element
            return b"t" + _token(tuple(chain_of))
        case tuple():
            return b"(%d:" % len(value) + b"".join(_token(part) for part in value)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            return b"s%d:" % len(data) + data
        case bytes():
            return b"b%d:" % len(value) + value
        case _:
            assert value is None or isinstance(value, int), f"{type(value).__name__} in a program"
            return f"{value};".encode()
