"""Arguments of Numba's launches: how they are looked at, and copies of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import numba.cuda as cuda
import numpy as np

from vyre.adapter.alike import alike
from vyre.adapter.looks import Arrays
from vyre.adapter.numba.device import SIMULATED
from vyre.adapter.trial.copying import copied, shared_copies
from vyre.adapter.trial.parts import as_numpy
from vyre.adapter.trial.together import Form, Together, groups, sliced
from vyre.errors import InvalidInput
from vyre.runtime.arrays.foreign_kinds import kind_of

_OWN = ("numba", "numba_cuda")
"""Where Numba's own arrays are from."""

_SAID = ("dtype", "size", "strides")
"""What they say, and those of the libraries that it takes them for."""

_COPIED = (np.ndarray, np.void, bytes, bytearray, memoryview)

_WRAPPED = (cuda.In, cuda.Out, cuda.InOut)
"""What says of an array which way it is to be copied, where it is of the host."""


def is_copied(argument: Any) -> bool:
    """Whether the library brings an argument to the device for each launch."""
    if isinstance(argument, tuple):
        return any(map(is_copied, argument))
    if isinstance(argument, _WRAPPED):
        return is_copied(argument.value)
    return isinstance(argument, _COPIED) and not hasattr(argument, "__cuda_array_interface__")


def is_array(argument: Any) -> bool:
    """Whether Numba takes an argument for an array."""
    return kind_of(argument) is not None or isinstance(argument, np.ndarray) or _is_fake(argument)


def is_plain(argument: Any) -> bool:
    """Whether it is a number, an array, or a tuple of such: what others do is not known."""
    if isinstance(argument, tuple):
        return all(map(is_plain, argument))
    if isinstance(argument, _WRAPPED):
        return is_plain(argument.value)
    if argument is None or isinstance(argument, (bool, int, float, complex, np.generic, Enum)):
        return True
    return is_array(argument) or hasattr(argument, "__cuda_array_interface__")


def _is_fake(argument: Any) -> bool:
    return SIMULATED and hasattr(argument, "copy_to_host")


def look_at(kind: type) -> Arrays | None:
    """How arrays of a type are looked at: by what its library is known to say of them."""
    library = kind.__module__.partition(".")[0]
    if library in ("cupy", "numpy") and kind.__name__ == "ndarray":
        return Arrays(_look_at_array, _SAID)
    if issubclass(kind, _WRAPPED):
        return Arrays(_look_within)
    if not hasattr(kind, "__cuda_array_interface__"):
        return None
    if any(one.__module__.partition(".")[0] in _OWN for one in kind.__mro__):
        return Arrays(_look_at_array, _SAID)
    return Arrays(_look_at_tensor if library == "torch" else lambda x: alike((x,)))


def _look_within(x: Any) -> Any:
    kind = type(x.value)
    arrays = look_at(kind)
    return type(x), kind if arrays is None else arrays.look(x.value)


def _look_at_tensor(x: Any) -> Any:
    try:
        contiguous = x.is_contiguous()
    except RuntimeError:  # its layout has no such thing
        return alike((x,))
    return type(x), str(x.dtype), x.dim(), x.numel().bit_length(), contiguous


def _look_at_array(x: Any) -> Any:
    # Numba compiles for the order of axes; the last axis tells most of it.
    dtype, strides = x.dtype, x.strides
    last = strides[-1] == dtype.itemsize if strides else True
    return type(x), dtype, x.ndim, int(x.size).bit_length(), last


def refuse_strided(number: int, array: Any) -> None:
    """Refuse to copy a part of an array, whose copy has other steps."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None and interface.get("strides") is not None:
        raise InvalidInput(
            f"argument {number} is a part of an array, of shape {tuple(array.shape)}, and its copy "
            "would be another kind of array",
            "pass a contiguous array, or call it and let it learn without check=",
        )


def address_of(array: Any) -> int:
    """Where an array's elements begin, for how it is aligned; 0 where it does not say."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return int(interface["data"][0] or 0)
    return int(getattr(getattr(array, "ctypes", None), "data", 0))


def on_host(array: Any) -> Any:
    """A copy of an array for a process that is started."""
    if isinstance(array, np.ndarray):
        return array.copy()
    return array.copy_to_host() if hasattr(array, "copy_to_host") else as_numpy(array)


def on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    """The same launch on copies of its arrays."""
    launching, args, stated = arguments
    for number, one in enumerate(args):
        for array in _arrays_in(one):
            if hasattr(array, "copy_to_host"):
                refuse_strided(number, array)
    held = [*_arrays_in(args)]
    made = {**shared_copies(held), **_own_shared(held)}
    copies = tuple(_copied(one, made) for one in args)
    cuda.synchronize()  # its stream may be another one
    return launching, copies, stated


def _arrays_in(argument: Any) -> Iterator[Any]:
    if isinstance(argument, tuple):
        for one in argument:
            yield from _arrays_in(one)
    elif isinstance(argument, _WRAPPED):
        yield from _arrays_in(argument.value)
    elif is_array(argument):
        yield argument


def _own_shared(arrays: Sequence[Any]) -> dict[int, Any]:
    """Copies of Numba's own arrays that share memory with another, by their numbers."""
    found: dict[int, Any] = {}
    own = [*{id(one): one for one in arrays if hasattr(one, "copy_to_host") and one.size}.values()]
    forms = {n: form_of(one, one) for n, one in enumerate(own)}
    for group in groups(forms):
        hosts = {n: own[n].copy_to_host() for n in group}
        together = Together.of({n: forms[n] for n in group}, hosts, 0)
        copies = together.within(cuda.to_device(together.held), sliced)
        found |= {id(own[n]): one for n, one in copies.items()}
    return found


def form_of(array: Any, said: Any) -> Form:
    """How an array lies, which says what another does; as memory of its own where it tells none."""
    on_device = hasattr(array, "__cuda_array_interface__")
    address = address_of(array) if on_device else 0
    return Form.of(said, "the device" if address else id(array), address)


def _copied(argument: Any, made: dict[int, Any]) -> Any:
    """A copy, of which `made` has those that were made before: what was one stays one."""
    if isinstance(argument, tuple):
        parts = [_copied(one, made) for one in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    if isinstance(argument, _WRAPPED):
        return type(argument)(_copied(argument.value, made))
    if not is_array(argument):
        return argument
    if id(argument) not in made:
        made[id(argument)] = _copy_of(argument)
    return made[id(argument)]


def _copy_of(array: Any) -> Any:
    if not hasattr(array, "copy_to_host"):
        return copied(array)
    made = cuda.device_array_like(array)
    made.copy_to_device(array)
    return made
