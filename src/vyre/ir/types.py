"""The types a buffer can hold and an expression can have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from vyre.errors import InvalidInput


class Tag(IntEnum):
    """The byte that stands for a type on the wire."""

    U32 = 0x01
    I32 = 0x02
    U64 = 0x03
    VEC2_U32 = 0x04
    VEC4_U32 = 0x05
    BOOL = 0x06
    BYTES = 0x07
    ARRAY = 0x08
    F16 = 0x09
    BF16 = 0x0A
    F32 = 0x0B
    F64 = 0x0C
    TENSOR = 0x0D
    U8 = 0x0E
    U16 = 0x0F
    I8 = 0x10
    I16 = 0x11
    I64 = 0x12
    HANDLE = 0x13
    VEC = 0x14
    TENSOR_SHAPED = 0x15
    SPARSE_CSR = 0x16
    SPARSE_COO = 0x17
    SPARSE_BSR = 0x18
    F8E4M3 = 0x19
    F8E5M2 = 0x1A
    I4 = 0x1B
    FP4 = 0x1C
    NF4 = 0x1D
    DEVICE_MESH = 0x1E
    QUANTIZED = 0x1F
    OPAQUE = 0x80


_UNSIGNED = {Tag.U8: 8, Tag.U16: 16, Tag.U32: 32, Tag.U64: 64}
_SIGNED = {Tag.I8: 8, Tag.I16: 16, Tag.I32: 32, Tag.I64: 64}
_FLOAT = {Tag.F16: 16, Tag.BF16: 16, Tag.F32: 32, Tag.F64: 64}
_SUB_BYTE = (Tag.I4, Tag.FP4, Tag.NF4)
_FIXED_BYTES = {
    Tag.BOOL: 4,
    Tag.HANDLE: 4,
    Tag.VEC2_U32: 8,
    Tag.VEC4_U32: 16,
    Tag.F8E4M3: 1,
    Tag.F8E5M2: 1,
    Tag.I4: 1,
    Tag.FP4: 1,
    Tag.NF4: 1,
} | {tag: bits // 8 for tag, bits in (_UNSIGNED | _SIGNED | _FLOAT).items()}


@dataclass(frozen=True, slots=True)
class DataType:
    """One type: its wire tag, and what a parametrised one needs beside it.

    `params` holds, in wire order, the whole numbers of a parametrised type: the element size of an
    array, the lanes of a vector, the axes of a shape or mesh, the block of a sparse matrix, the
    scale and zero point of a quantised type, the id of a handle or an extension.

    >>> DataType.F32.size_bytes, DataType.vec(DataType.F32, 4).size_bytes
    (4, 16)
    """

    tag: Tag
    element: DataType | None = None
    params: tuple[int, ...] = ()

    BOOL: ClassVar[DataType]
    U8: ClassVar[DataType]
    U16: ClassVar[DataType]
    U32: ClassVar[DataType]
    U64: ClassVar[DataType]
    I8: ClassVar[DataType]
    I16: ClassVar[DataType]
    I32: ClassVar[DataType]
    I64: ClassVar[DataType]
    F16: ClassVar[DataType]
    BF16: ClassVar[DataType]
    F32: ClassVar[DataType]
    F64: ClassVar[DataType]
    VEC2_U32: ClassVar[DataType]
    VEC4_U32: ClassVar[DataType]
    BYTES: ClassVar[DataType]
    TENSOR: ClassVar[DataType]
    F8E4M3: ClassVar[DataType]
    F8E5M2: ClassVar[DataType]
    I4: ClassVar[DataType]
    FP4: ClassVar[DataType]
    NF4: ClassVar[DataType]

    @classmethod
    def vec(cls, element: DataType, count: int) -> DataType:
        return cls(Tag.VEC, element, (count,))

    @classmethod
    def array(cls, element_size: int) -> DataType:
        return cls(Tag.ARRAY, None, (element_size,))

    @classmethod
    def shaped(cls, element: DataType, shape: tuple[int, ...]) -> DataType:
        return cls(Tag.TENSOR_SHAPED, element, shape)

    @property
    def is_shaped(self) -> bool:
        """Whether it is the type of an array of fixed extents, which are its `params`."""
        return self.tag is Tag.TENSOR_SHAPED

    @property
    def is_unsigned(self) -> bool:
        return self.tag in _UNSIGNED

    @property
    def is_signed(self) -> bool:
        return self.tag in _SIGNED

    @property
    def is_int(self) -> bool:
        return self.is_unsigned or self.is_signed

    @property
    def is_float(self) -> bool:
        return self.tag in _FLOAT

    @property
    def is_bool(self) -> bool:
        return self.tag is Tag.BOOL

    @property
    def is_scalar(self) -> bool:
        """Whether an expression can have this type, or be rounded to it."""
        return self.is_int or self.is_float or self.is_bool

    @property
    def computed(self) -> DataType:
        """The type a value of this one is computed in: f16 and bf16 are storage for f32."""
        return DataType.F32 if self.tag in (Tag.F16, Tag.BF16) else self

    @property
    def bits(self) -> int:
        """The width of a scalar; a bool counts as the 32-bit word that holds it."""
        if self.is_bool:
            return 32
        widths = _UNSIGNED | _SIGNED | _FLOAT
        if self.tag not in widths:
            raise InvalidInput(f"type {self} has no scalar width", "ask a scalar type for its bits")
        return widths[self.tag]

    @property
    def min_bytes(self) -> int:
        """The bytes one element takes at least; 0 where only the run time knows."""
        if self.tag is Tag.VEC and self.element is not None:
            return self.element.min_bytes * self.params[0]
        return _FIXED_BYTES.get(self.tag, 0)

    @property
    def size_bytes(self) -> int | None:
        """The bytes one element takes, or None for a type without a fixed size."""
        match self.tag:
            case Tag.BYTES:
                return 1
            case Tag.ARRAY:
                return self.params[0]
            case Tag.DEVICE_MESH:
                return 4
            case Tag.VEC:
                return self.min_bytes
            case _:
                return _FIXED_BYTES.get(self.tag)

    @property
    def bit_width(self) -> int | None:
        """The bits one element takes when packed, or None for a type without a fixed size."""
        if self.tag in _SUB_BYTE:
            return 4
        return None if self.size_bytes is None else self.size_bytes * 8

    def __str__(self) -> str:
        name = self.tag.name.lower().replace("_", "")
        inner = [str(self.element)] if self.element else []
        inner += [str(n) for n in self.params]
        return f"{name}<{', '.join(inner)}>" if inner else name

    def __repr__(self) -> str:
        return f"DataType({self})"


for _tag in Tag:
    if _tag.name in DataType.__annotations__:
        setattr(DataType, _tag.name, DataType(_tag))

SCALARS = tuple(DataType(tag) for tag in (Tag.BOOL, *_UNSIGNED, *_SIGNED, *_FLOAT))
"""Every type a literal, a cast or a scalar buffer can have."""


def int_range(dtype: DataType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    if dtype.is_signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1
