"""The lanes of one vector, and where in their workgroup they stand."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.emit.llvm.arithmetic import Instructions, quotient
from vyre.emit.llvm.builder import U32, Builder
from vyre.emit.llvm.frame import Frame
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import IdKind

PLACE = "i32 %gx, i32 %gy, i32 %gz"
"""Which workgroup of the grid a function runs."""


@dataclass(slots=True)
class Chunk:
    """A vector of a workgroup's lanes from number `base` on, which moves as they are walked."""

    b: Builder
    frame: Frame
    sizes: tuple[str, str, str]  # of the workgroup
    in_rows: bool  # each vector lies in one row of it
    base: str = "0"

    def id(self, kind: IdKind, axis: int) -> Value:
        b = self.b
        if kind is IdKind.EXTENT:
            return self.frame.word(b, self.frame.layout.extent(axis))
        if kind is IdKind.WORKGROUP_SIZE:
            return Value(U32, Shape.UNIFORM, (self.sizes[axis],))
        group = Value(U32, Shape.UNIFORM, (("%gx", "%gy", "%gz")[axis],))
        if kind is IdKind.WORKGROUP:
            return group
        local = self.local(axis)
        if kind is IdKind.LOCAL:
            return local
        start = b.op(f"mul i32 {group.registers[0]}, {self.sizes[axis]}")
        if local.shape is Shape.VECTOR:
            first = Value(U32, Shape.UNIFORM, (start,))
            return Instructions(b).plain("add", local, first)
        whole = b.op(f"add i32 {start}, {local.registers[0]}")
        return Value(U32, local.shape, (whole,), never_wraps=True)

    def local(self, axis: int) -> Value:
        """A lane's place in its workgroup along one axis."""
        b = self.b
        x, y, _ = self.sizes
        if self.in_rows:
            row = b.op(f"udiv i32 {self.base}, {x}")
            if axis == 0:
                at = b.op(f"urem i32 {self.base}, {x}")
                return Value(U32, Shape.LINEAR, (at,), never_wraps=True)
            name = "urem" if axis == 1 else "udiv"
            return Value(U32, Shape.UNIFORM, (b.op(f"{name} i32 {row}, {y}"),), never_wraps=True)
        do = Instructions(b)
        lane = Value(U32, Shape.LINEAR, (self.base,))
        across, down = (Value(U32, Shape.UNIFORM, (size,)) for size in (x, y))
        row_of = quotient(do, lane, across)
        if axis == 0:
            return do.plain("sub", lane, do.plain("mul", row_of, across))
        plane_of = quotient(do, row_of, down)
        if axis == 2:
            return plane_of
        return do.plain("sub", row_of, do.plain("mul", plane_of, down))
