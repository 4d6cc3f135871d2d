"""How NumPy holds the elements of each scalar type, and the values computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vyre.ir.types import DataType, Tag

STORAGE: Mapping[DataType, np.dtype[Any]] = {
    DataType.BOOL: np.dtype(np.uint32),  # one 32-bit word each
    DataType.U8: np.dtype(np.uint8),
    DataType.U16: np.dtype(np.uint16),
    DataType.U32: np.dtype(np.uint32),
    DataType.U64: np.dtype(np.uint64),
    DataType.I8: np.dtype(np.int8),
    DataType.I16: np.dtype(np.int16),
    DataType.I32: np.dtype(np.int32),
    DataType.I64: np.dtype(np.int64),
    DataType.F16: np.dtype(np.float16),
    DataType.BF16: np.dtype(np.uint16),  # its pattern: NumPy has no bfloat16
    DataType.F32: np.dtype(np.float32),
    DataType.F64: np.dtype(np.float64),
}

COMPUTED: Mapping[Tag, np.dtype[Any]] = {
    Tag.BOOL: np.dtype(np.bool_),
    Tag.U8: np.dtype(np.uint8),
    Tag.U16: np.dtype(np.uint16),
    Tag.U32: np.dtype(np.uint32),
    Tag.U64: np.dtype(np.uint64),
    Tag.I8: np.dtype(np.int8),
    Tag.I16: np.dtype(np.int16),
    Tag.I32: np.dtype(np.int32),
    Tag.I64: np.dtype(np.int64),
    Tag.F16: np.dtype(np.float32),
    Tag.BF16: np.dtype(np.float32),
    Tag.F32: np.dtype(np.float32),
    Tag.F64: np.dtype(np.float64),
}
"""The NumPy type a value of each scalar type is computed in."""
