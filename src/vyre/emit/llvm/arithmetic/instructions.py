"""Instructions on values: once for all lanes and rows, or once for each row.

None carries a fast-math flag, so nothing is contracted or reassociated.
"""

from __future__ import annotations

from vyre.emit.llvm.builder import BOOL, Builder, scalar_type
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.expr import float_bits
from vyre.ir.types import DataType


class Instructions:
    """Writes instructions on values of one builder."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    def plain(self, name: str, a: Value, b: Value, dtype: DataType | None = None) -> Value:
        """One instruction of two operands of one type."""
        shape, (x, y) = self.b.alike(a, b)
        kind = self.b.type(x.dtype, shape)
        return self.b.map(
            dtype or x.dtype, shape, lambda p, q: self.b.op(f"{name} {kind} {p}, {q}"), x, y
        )

    def compare(self, name: str, a: Value, b: Value) -> Value:
        return self.plain(f"{'fcmp' if a.dtype.is_float else 'icmp'} {name}", a, b, BOOL)

    def select(self, test: Value, yes: Value, no: Value) -> Value:
        """Lane by lane; one test for all chooses whole vectors."""
        b = self.b
        if test.shape is Shape.UNIFORM:
            shape, (x, y) = b.alike(yes, no)
            choose = "i1"
        else:
            shape, (test, x, y) = b.alike(test, yes, no)
            choose = b.type(BOOL, shape)
        kind = b.type(x.dtype, shape)
        return b.map(
            x.dtype,
            shape,
            lambda t, p, q: b.op(f"select {choose} {t}, {kind} {p}, {kind} {q}"),
            test,
            x,
            y,
        )

    def number(self, dtype: DataType, value: float) -> Value:
        if dtype.is_float:
            return self.b.literal(dtype, float_bits(dtype, value))
        return self.b.literal(dtype, int(value) & ((1 << dtype.bits) - 1))

    def intrinsic(self, name: str, *values: Value, extra: str = "") -> Value:
        """An overloaded function of LLVM on values of one type."""
        b = self.b
        shape, given = b.alike(*values)
        kind = b.type(given[0].dtype, shape)
        full = f"llvm.{name}.{b.suffix(scalar_type(given[0].dtype), shape)}"
        types = [kind] * len(given) + (["i1"] if extra else [])

        def make(*registers: str) -> str:
            return b.call(kind, full, types, [*registers, *([extra] if extra else [])])

        return b.map(given[0].dtype, shape, make, *given)

    def convert(self, name: str, value: Value, target: DataType) -> Value:
        """A conversion by one instruction."""
        b = self.b
        value = b.vectors(value) if value.shape is Shape.LINEAR else value
        source, kind = b.type(value.dtype, value.shape), b.type(target, value.shape)
        return b.map(target, value.shape, lambda r: b.op(f"{name} {source} {r} to {kind}"), value)

    def bits(self, a: Value, target: DataType) -> Value:
        """The same bits as another type."""
        if a.dtype == target:
            return a
        if a.dtype.is_int and target.is_int:
            return Value(target, a.shape, a.registers, a.is_constant, a.never_wraps)
        return self.convert("bitcast", a, target)

    def whole(self, value: Value, target: DataType) -> Value:
        """A whole number in another width; what is cut off is lost."""
        source = value.dtype
        if source.bits == target.bits:
            return self.bits(value, target)
        if value.is_constant:
            bits = _number(value) & ((1 << target.bits) - 1)
            return self.b.literal(target, bits)
        longer = "sext" if source.is_signed else "zext"
        name = "trunc" if target.bits < source.bits else longer
        if value.shape is Shape.LINEAR and value.never_wraps and target.bits > source.bits:
            kind, to = scalar_type(source), scalar_type(target)
            moved = self.b.map(
                target, Shape.LINEAR, lambda r: self.b.op(f"{name} {kind} {r} to {to}"), value
            )
            return Value(target, Shape.LINEAR, moved.registers, never_wraps=True)
        return self.convert(name, value, target)

    def saturated(self, value: Value, target: DataType) -> Value:
        """A float made a whole number: toward zero, saturating, 0 for NaN."""
        b = self.b
        source, kind = b.type(value.dtype, value.shape), b.type(target, value.shape)
        from_, to = (b.suffix(scalar_type(dtype), value.shape) for dtype in (value.dtype, target))
        sign = "s" if target.is_signed else "u"
        name = f"llvm.fpto{sign}i.sat.{to}.{from_}"
        return b.map(target, value.shape, lambda r: b.call(kind, name, [source], [r]), value)


def _number(constant: Value) -> int:
    """What a constant is as its type has it; the text may be another type's of the same bits."""
    bits = constant.dtype.bits
    found = int(constant.registers[0]) & ((1 << bits) - 1)
    return found - (1 << bits) if constant.dtype.is_signed and found >> (bits - 1) else found
