"""How NumPy holds the elements of each scalar type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vyre.ir.types import DataType

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
