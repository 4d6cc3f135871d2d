"""A program: buffers, a declared workgroup, and what each invocation runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from vyre.errors import InvalidInput
from vyre.ir.canonical import canonical_buffers, canonical_entry
from vyre.ir.declare import BufferDecl, Dim3, Options
from vyre.ir.encode import encode, fingerprint
from vyre.ir.node import ROOT_GENERATOR, Barrier, Node, Region
from vyre.ir.walk import statements


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One kernel: its buffers, its declared workgroup and what each invocation runs.

    Two programs are equal when they have the same structure; the order in which buffers are
    declared does not count.

    >>> Program.empty().fingerprint().hex()[:16]
    'e9c73a19370c3ab4'
    """

    buffers: tuple[BufferDecl, ...]
    workgroup_size: Dim3
    entry: tuple[Node, ...]
    entry_op_id: str | None = None
    non_composable: bool = False
    options: Options = field(default_factory=Options)
    _memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def wrapped(
        cls,
        buffers: Iterable[BufferDecl],
        workgroup_size: Iterable[int],
        entry: Iterable[Node],
        options: Options | None = None,
    ) -> Program:
        """A program whose entry holds regions only: anything else is put into one root region."""
        nodes = tuple(entry)
        if not nodes or not all(isinstance(node, Region) for node in nodes):
            nodes = (Region(ROOT_GENERATOR, nodes),)
        x, y, z = workgroup_size
        return cls(tuple(buffers), (x, y, z), nodes, options=options or Options())

    @classmethod
    def empty(cls) -> Program:
        return cls.wrapped((), (1, 1, 1), ())

    @property
    def is_explicit_noop(self) -> bool:
        match self.entry:
            case (Region(body=()),):
                return not self.buffers
            case _:
                return False

    @property
    def runs_whole_workgroups(self) -> bool:
        """Whether lanes beyond the extent run too.

        They do where lanes work together, because a barrier waits for every lane of its workgroup
        and workgroup memory is filled by all of them; everywhere else such lanes do nothing.
        """
        return any(decl.is_shared for decl in self.buffers) or any(
            isinstance(node, Barrier) for node in statements(self.entry)
        )

    def buffer(self, name: str) -> BufferDecl:
        """The first buffer declared under `name`."""
        for decl in self.buffers:
            if decl.name == name:
                return decl
        raise InvalidInput(
            f"no buffer {name!r}; declared: {', '.join(b.name for b in self.buffers) or 'none'}",
            "use a declared buffer's name",
        )

    @property
    def output_buffer_indices(self) -> tuple[int, ...]:
        return tuple(i for i, decl in enumerate(self.buffers) if decl.is_written)

    def with_workgroup_size(self, size: Dim3) -> Program:
        return replace(self, workgroup_size=size)

    def canonical(self) -> Program:
        """The one spelling that all programs of the same meaning by the wire's rules share."""
        return replace(
            self, buffers=canonical_buffers(self.buffers), entry=canonical_entry(self.entry)
        )

    def to_wire(self) -> bytes:
        """The canonical bytes, wire revision 4.

        Raises:
            WireError: the program cannot be written down, for the reason it says.
        """
        return encode(self.canonical())

    def fingerprint(self) -> bytes:
        """The 32 bytes that name this program: BLAKE3 of its canonical wire form."""
        if "fingerprint" not in self._memo:
            self._memo["fingerprint"] = fingerprint(self.canonical())
        return bytes(self._memo["fingerprint"])

    def fingerprint_words(self) -> tuple[int, ...]:
        """The fingerprint as eight little-endian 32-bit words."""
        digest = self.fingerprint()
        return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self._structure() == other._structure()

    def __hash__(self) -> int:
        return hash(self.fingerprint())  # which is made once, however parts are shared or nested

    def _structure(self) -> tuple[object, ...]:
        return (
            frozenset(self.buffers),
            len(self.buffers),
            self.workgroup_size,
            self.entry,
            self.entry_op_id,
            self.non_composable,
            self.options,
        )
