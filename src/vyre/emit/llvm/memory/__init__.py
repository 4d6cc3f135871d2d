"""Loads, stores and atomics of the lanes of one builder.

An index outside gives 0 or does nothing, as everywhere. What is proved, or holds in the interior of
a tile, is not checked.
"""

from vyre.emit.llvm.memory.arrays import Cells, element, fill, new_cells, put, table
from vyre.emit.llvm.memory.atomics import Change, atomic
from vyre.emit.llvm.memory.buffers import Buffer, Place, element_bytes, held_as
from vyre.emit.llvm.memory.loads import load
from vyre.emit.llvm.memory.places import address, flat_number, flat_place, place, reached
from vyre.emit.llvm.memory.rows import copy_row, load_staged, row_bytes
from vyre.emit.llvm.memory.stores import store

__all__ = [
    "Buffer",
    "Cells",
    "Change",
    "Place",
    "address",
    "atomic",
    "copy_row",
    "element",
    "element_bytes",
    "fill",
    "flat_number",
    "flat_place",
    "held_as",
    "load",
    "load_staged",
    "new_cells",
    "place",
    "put",
    "reached",
    "row_bytes",
    "store",
    "table",
]
