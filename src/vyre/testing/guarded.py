"""Arrays between pages that nobody may touch: a read or write outside one ends the process."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache

import numpy as np
from numpy.typing import NDArray

_PAGE = mmap.PAGESIZE


def guarded(array: NDArray[np.generic], *, at_end: bool) -> NDArray[np.generic]:
    """A copy that ends where forbidden memory begins, or begins where it ends.

    It needs a system that has `mprotect`.
    """
    pages = -(-array.nbytes // _PAGE) or 1
    whole = mmap.mmap(-1, (pages + 2) * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(whole))
    for page in (0, pages + 1):
        if _libc().mprotect(address + page * _PAGE, _PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect refuses to guard a page")
    first = (1 + pages) * _PAGE - array.nbytes if at_end else _PAGE
    place = np.frombuffer(whole, array.dtype, array.size, first) if array.size else None
    if place is None:  # at a forbidden address, which is where nothing can be read
        edge = {"data": (address, False), "shape": (0,), "typestr": array.dtype.str, "version": 3}
        place = np.asarray(_Lying(edge, whole))
    found = place.reshape(array.shape)
    found[...] = array
    return found


class _Lying:
    """No elements, but somewhere."""

    def __init__(self, interface: dict[str, object], kept: mmap.mmap) -> None:
        self.__array_interface__ = interface
        self.kept = kept


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc
