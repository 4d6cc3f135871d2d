"""A program while it is being written: its buffers and arrays, the names in scope, small choices.

What is drawn here is what schedules of several positions act on: indices near a position along each
axis, loops over a range that many invocations share, values of every element type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

import numpy as np
from numpy.typing import NDArray

from vyre.ir.declare import Access, BufferDecl, Dim3
from vyre.ir.expr import (
    Binary,
    BinaryOp,
    BufDim,
    BufLen,
    Cast,
    Expr,
    FlatIndex,
    Fma,
    Id,
    IdKind,
    Lit,
    Load,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import Break, Continue, If, Let, Node, Return
from vyre.ir.storage import STORAGE
from vyre.ir.types import SCALARS, DataType, int_range
from vyre.ir.typing import TRANSCENDENTAL
from vyre.testing.values import array

U32, I32, I64, BOOL = DataType.U32, DataType.I32, DataType.I64, DataType.BOOL
F32, F64 = DataType.F32, DataType.F64

_NUMBERS = (BinaryOp.ADD, BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX)
_WHOLE = (*_NUMBERS, BinaryOp.BIT_XOR, BinaryOp.ABS_DIFF, BinaryOp.WRAP_SUB)
_TRUTHS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.BIT_XOR, BinaryOp.BIT_XOR)
_ROUNDED = (UnaryOp.SQRT, UnaryOp.FLOOR, UnaryOp.ABS, UnaryOp.RECIPROCAL, UnaryOp.INVERSE_SQRT)
_FUNCTIONS: tuple[UnaryOp | BinaryOp, ...] = (
    *sorted(TRANSCENDENTAL, key=lambda op: op.value),
    *(BinaryOp.POW, BinaryOp.ATAN2, BinaryOp.HYPOT),
)
_NEAR = (-2, -1, -1, 0, 0, 0, 1, 1, 2, 3)
_ELEMENTS = (
    *SCALARS,
    F32,
    F32,
    F32,
    F32,
    F64,
    F64,
    I32,
    DataType.F16,
)  # more of those that kernels are written in
_WORDS = (F32, F32, I32, U32)


class Draft:
    """One program being written over an extent, along as many axes as it has ranks.

    A `neat` one has mostly arrays of words, as long as the extent.
    """

    def __init__(self, rng: Random, extent: Dim3, rank: int, *, neat: bool = False) -> None:
        self.rng, self.extent, self.rank, self.neat = rng, extent, rank, neat
        self.buffers: list[BufferDecl] = []
        self.arrays: dict[str, NDArray[np.generic]] = {}
        self.element = rng.choice(_WORDS if neat and rng.random() < 0.6 else _ELEMENTS)
        common = rng.random() < 0.8
        self.dtype = self.element.computed if common else rng.choice(_ELEMENTS).computed
        self.is_calm = rng.random() < 0.85  # no NaN and no infinity, which hide what they meet
        self.is_functional = rng.random() < 0.15
        self.scopes = [0]  # how many names each scope has bound, the outermost first
        self.heads: list[Node] = []
        self.at = tuple(self._place(axis) for axis in range(3))
        self.signed = tuple(self._signed(axis) for axis in range(3))

    # -- names and positions

    def name(self, stem: str = "t") -> str:
        """A name that nothing in scope has; lists side by side use the same ones."""
        self.scopes[-1] += 1
        return f"{stem}{len(self.scopes)}_{self.scopes[-1]}"

    def counter(self) -> str:
        """A name for a loop's counter: the same as other loops' beside it, or its own."""
        return "k0" if self.rng.random() < 0.4 else self.name("k")

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A list of its own."""
        self.scopes.append(0)
        yield
        self.scopes.pop()

    def _place(self, axis: int) -> Expr:
        here = Id(IdKind.INVOCATION, axis)
        if axis >= self.rank or self.rng.random() < 0.4:
            return here
        self.heads.append(Let(f"at{axis}", here))
        return Var(f"at{axis}")

    def _signed(self, axis: int) -> Expr:
        here = Cast(I32, self.at[axis])
        if axis >= self.rank or self.rng.random() < 0.5:
            return here
        self.heads.append(Let(f"signed{axis}", here))
        return Var(f"signed{axis}")

    # -- buffers

    def declare(self, access: Access, dtype: DataType, shape: Sequence[int]) -> str:
        """A buffer and its array."""
        name = f"b{len(self.buffers)}"
        decl = BufferDecl.storage(name, len(self.buffers), access, dtype)
        if len(shape) > 1:
            decl = decl.with_shape(*([0] * len(shape)))
        self.buffers.append(decl)
        if access is Access.WRITE_ONLY:
            self.arrays[name] = np.zeros(tuple(shape), STORAGE[dtype])
        elif self.is_calm:
            self.arrays[name] = _calm(self.rng, dtype, tuple(shape))
        else:
            self.arrays[name] = array(self.rng, dtype, tuple(shape))
        return name

    def source(self, shape: Sequence[int], dtype: DataType | None = None) -> str:
        """A buffer that is only read; at times of another type than the others."""
        if dtype is None:
            dtype = self.element if self.rng.random() < 0.8 else self.rng.choice(_ELEMENTS)
        return self.declare(Access.READ_ONLY, dtype, shape)

    def scalar(self, dtype: DataType, value: float) -> Expr:
        """An argument that is passed by value."""
        name = f"b{len(self.buffers)}"
        decl = BufferDecl.uniform(name, len(self.buffers), dtype).with_count(1)
        self.buffers.append(decl)
        self.arrays[name] = np.array([value]).astype(STORAGE[dtype])
        return Load(name, Lit.of(U32, 0))

    def lengths(self, axes: Sequence[int]) -> list[int]:
        """The shape of an array over axes of the launch, often not quite as long."""
        rng = self.rng
        if rng.random() < (0.9 if self.neat else 0.6):
            return [self.extent[axis] for axis in axes]
        found = []
        for axis in axes:
            n = self.extent[axis]
            found.append(max(1, rng.choice((n, n, n - 1, n - 3, n + 1, n + 5, 2 * n, 2, 7))))
        return found

    # -- values

    def decl(self, name: str) -> BufferDecl:
        return self.buffers[int(name[1:])]

    def load(self, name: str, indices: Sequence[Expr]) -> Expr:
        """One element, in the type that is computed in."""
        index = indices[0] if len(indices) == 1 else FlatIndex(name, tuple(indices))
        return self.converted(self.decl(name).element.computed, Load(name, index))

    def converted(self, dtype: DataType, value: Expr, target: DataType | None = None) -> Expr:
        wanted = target or self.dtype
        return value if dtype == wanted else Cast(wanted, value)

    def literal(self) -> Expr:
        """A small number of the type that is computed in."""
        rng, dtype = self.rng, self.dtype
        if dtype.is_bool:
            return Lit.of(dtype, rng.random() < 0.5)
        if dtype.is_float:
            return Lit.of(dtype, rng.choice((0.0, 1.0, 0.5, -1.25, 2.0, 0.1, -0.3)))
        return Lit.of(dtype, max(int_range(dtype)[0], rng.randint(-2, 5)))

    def mixed(self, a: Expr, b: Expr) -> Expr:
        """Two values as one, in an order that matters to floats."""
        rng, dtype = self.rng, self.dtype
        if dtype.is_bool:
            return Binary(rng.choice(_TRUTHS), a, b)
        if dtype.is_float:
            if rng.random() < 0.15:
                return Fma(a, self.literal(), b)
            if rng.random() < 0.08:
                return Binary(BinaryOp.DIV, a, b)
            return Binary(rng.choice(_NUMBERS), a, b)
        return Binary(rng.choice(_WHOLE), a, b)

    def shaped(self, value: Expr) -> Expr:
        """A value as it is, or through a function or a choice."""
        rng = self.rng
        if self.is_functional and rng.random() < 0.5:
            return self.function(value)
        if rng.random() < 0.85:
            return value
        if self.dtype.is_float and rng.random() < 0.6:
            return Unary(rng.choice(_ROUNDED), value)
        return Select(self.test(value), value, self.literal())

    def function(self, value: Expr, dtype: DataType | None = None) -> Expr:
        """A function of a value of `dtype`, whose last bits are the device's own."""
        rng = self.rng
        kind = rng.choice((F32, F32, F64))
        given = self.converted(dtype or self.dtype, value, kind)
        scaled = given * Lit.of(kind, rng.uniform(-2, 2)) + Lit.of(kind, rng.uniform(-2, 2))
        op = rng.choice(_FUNCTIONS)
        if isinstance(op, UnaryOp):
            return self.converted(kind, Unary(op, scaled))
        return self.converted(kind, Binary(op, scaled, Lit.of(kind, rng.uniform(-2, 2))))

    def test(self, value: Expr) -> Expr:
        """A condition on a value of the type that is computed in."""
        if self.dtype.is_bool:
            return value
        op = self.rng.choice((BinaryOp.LT, BinaryOp.GT, BinaryOp.LE, BinaryOp.NE))
        return Binary(op, value, self.literal())

    def here(self) -> Expr:
        """A condition on the position, or on nothing that invocations differ in."""
        rng = self.rng
        at = self.at[rng.randrange(self.rank)]
        match rng.randrange(4):
            case 0:
                return (at % Lit.of(U32, rng.choice((2, 3)))).eq(0)
            case 1:
                return at < Lit.of(U32, rng.choice((1, 5, 16, 40)))
            case 2:
                return self.scalar(I32, rng.randint(0, 1)).eq(Lit.of(I32, 1))
            case _:
                return self.signed[0] > Lit.of(I32, rng.choice((-1, 0, 3)))

    def leaving(self, counter: Expr, dtype: DataType, value: Expr) -> list[Node]:
        """Now and then a way out of a loop's round, or of the loop, or of the invocation."""
        rng = self.rng
        if rng.random() < 0.85:
            return []
        leave = rng.choices((Break(), Continue(), Return()), (5, 5, 1))[0]
        cond = rng.choice((counter.eq(Lit.of(dtype, 2)), self.test(value), self.here()))
        return [If(cond, (leave,))]

    # -- indices

    def index(self, axis: int, length: int) -> Expr:
        """An index near the position along an axis of the launch, into an array of that length."""
        rng, at, signed = self.rng, self.at[axis], self.signed[axis]
        far = (length, -length, length - 1, 1 - length, 1000, -1000, 17)
        step = rng.choice(_NEAR) if rng.random() < 0.93 else rng.choice(far)
        moved = at + Lit.of(U32, step) if step >= 0 else at - Lit.of(U32, -step)
        moved_signed = signed + Lit.of(I32, step)
        last = Lit.of(I32, length - 1)
        ways: list[tuple[Expr, int]] = [
            (moved, 40),
            (moved_signed, 34),
            (at, 4),
            (Cast(I64, at) + Lit.of(I64, step), 2),
            (Binary(BinaryOp.MIN, Binary(BinaryOp.MAX, moved_signed, Lit.of(I32, 0)), last), 6),
            (moved % Lit.of(U32, length), 3),
            (Id(IdKind.EXTENT, axis) - Lit.of(U32, 1) - at, 3),
            (at * Lit.of(U32, rng.choice((2, 3))) + Lit.of(U32, abs(step)), 4),
            (at // Lit.of(U32, rng.choice((2, 3))), 2),
            (at ^ Lit.of(U32, 1), 2),
        ]
        if rng.random() < 0.06:
            kind = rng.choice((U32, I32))
            value = max(step, 0) if kind == U32 else step
            return (at if kind == U32 else signed) + self.scalar(kind, value)
        return rng.choices([way for way, _ in ways], [often for _, often in ways])[0]

    def near(self, name: str, axes: Sequence[int]) -> Expr:
        """An element near the position; each axis of the array follows one of the launch."""
        shape = self.arrays[name].shape
        indices = [self.index(axis, n) for axis, n in zip(axes, shape, strict=True)]
        return self.load(name, indices)

    def in_line(self, name: str) -> Expr:
        """An element of a flat array in which the launch lies row after row."""
        rng = self.rng
        step = Lit.of(U32, rng.choice((0, 0, 1, 2, self.extent[0])))
        flat = self.own_number()
        return self.load(name, [flat + step if rng.random() < 0.6 else flat - step])

    def own_number(self) -> Expr:
        """A number that no other invocation has."""
        x, y, z = self.at
        w, h = (Id(IdKind.EXTENT, axis) for axis in range(2))
        return {1: x, 2: y * w + x, 3: (z * h + y) * w + x}[self.rank]

    # -- ranges

    def rounds(self, length: int, name: str, axis: int) -> tuple[Expr, Expr, DataType]:
        """From where to where a loop counts: about the length of an array's axis."""
        rng = self.rng
        dtype = rng.choice((U32, U32, I32))
        low = 0 if dtype == U32 else -2
        if rng.random() < 0.7:
            start: Expr = Lit.of(dtype, 0)
        else:
            first = max(low, rng.choice((1, 2, 3, length, -1, -2)))
            start = self.scalar(dtype, first) if rng.random() < 0.3 else Lit.of(dtype, first)
        shaped = len(self.arrays[name].shape) > 1
        whole = BufDim(name, axis) if shaped else BufLen(name)
        count = max(0, rng.choice((length, length, length, length - 1, length + 3, 0)))
        known = self.converted(U32, whole, dtype)
        stop = rng.choices(
            (
                Lit.of(dtype, count),
                self.scalar(dtype, count) if rng.random() < 0.5 else known,
                known,
                Binary(BinaryOp.MIN, known, Lit.of(dtype, count)),
                self.converted(U32, self.at[0] % Lit.of(U32, length + 1), dtype),
            ),
            (8, 5, 6, 1, 1),
        )[0]
        return start, stop, dtype

    def along(self, counter: Expr, dtype: DataType, stop: Expr) -> Expr:
        """An index that a loop's counter walks."""
        rng = self.rng
        match rng.randrange(12):
            case 0:
                return counter + Lit.of(dtype, rng.choice((1, 2, 5)))
            case 1:
                return counter - Lit.of(dtype, rng.choice((1, 2)))
            case 2:
                return stop - Lit.of(dtype, 1) - counter
            case 3:
                return counter * Lit.of(dtype, 2)
            case _:
                return counter


def _calm(rng: Random, dtype: DataType, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """Ordinary numbers that differ, so that an element from elsewhere is seen."""
    random = np.random.default_rng(rng.getrandbits(32))
    storage = STORAGE[dtype]
    if dtype.is_bool:
        return random.integers(0, 2, shape).astype(storage)
    if dtype == DataType.BF16:
        values = random.normal(0, 20, shape).astype(np.float32)
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    if dtype.is_float:
        return random.normal(0, 20, shape).astype(storage)
    low, high = int_range(dtype)
    return random.integers(max(low, -100), min(high, 120), shape).astype(storage)
