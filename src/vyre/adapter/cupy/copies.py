"""Launches of CuPy on copies of their arrays, here and in another process."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import cloudpickle
import cupy
import numpy as np

from vyre.adapter.kind import Portable
from vyre.adapter.trial import copying
from vyre.adapter.trial.around import BESIDE, Given, lies_at, surrounded
from vyre.adapter.trial.laid import array_in, cupy_form
from vyre.adapter.trial.together import taken_together
from vyre.adapter.trial.trials import pickled
from vyre.errors import InvalidInput
from vyre.plain import shown

_VALUES = (np.generic, int, float, complex, type(None))


def is_array(argument: Any) -> bool:
    """Whether it is an array of CuPy's."""
    return isinstance(argument, cupy.ndarray)


def copied_at(number: int, argument: Any, *, whole: bool = True) -> Any:
    """A copy of an array, that lies in memory as it does where a kernel sees its memory alone."""
    if isinstance(argument, _VALUES):
        return argument
    if not is_array(argument):
        raise InvalidInput(
            f"argument {number}, {shown(argument)}, cannot be copied",
            "pass arrays and plain values, or call it and let it learn",
        )
    if whole:
        _refuse_strided(number, argument)
    return argument.copy(order="K")


def copied_together(args: Sequence[Any], *, whole: bool = True) -> tuple[Any, ...]:
    """Copies of a launch's arguments: arrays that share memory do so in the copy as well."""
    shared: dict[int, Any] = copying.shared_copies(args)
    made: list[Any] = []
    for number, one in enumerate(args):
        if is_array(one) and whole:
            _refuse_strided(number, one)
        if id(one) not in shared:
            shared[id(one)] = copied_at(number, one, whole=whole)
        made.append(shared[id(one)])
    return tuple(made)


def _refuse_strided(number: int, array: Any) -> None:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise InvalidInput(
            f"argument {number} is a part of an array, {array.shape} with strides {array.strides}, "
            "and a raw kernel may see what lies between",
            "pass a contiguous array, or call it and let it learn without check=",
        )


def portable_launch(
    entry: str,
    kernel: Any,
    args: Sequence[Any],
    on: Any,
    more: Mapping[str, Any],
    *,
    whole: bool,
) -> Portable:
    """A kernel and its arguments as another process can have them.

    Args:
        entry: what runs it there.
        kernel: it.
        args: what it is launched with.
        on: the stream of the launch; None for the thread's.
        more: what `entry` is told besides.
        whole: whether it sees the memory of its arrays, with what lies between their elements.
    """
    copying.refuse_to_copy_much(tuple(args), "check=", BESIDE)
    values: list[Any] = []
    with on or nullcontext():
        for number, one in enumerate(args):
            if is_array(one):
                if whole:
                    _refuse_strided(number, one)
                values.append(one.get(order="A"))
            elif isinstance(one, _VALUES):
                values.append(one)
            else:
                raise InvalidInput(
                    f"argument {number}, {shown(one)}, cannot be had in another process",
                    "leave check= out, or pass arrays and plain values",
                )
    arrays = {number: one for number, one in enumerate(args) if is_array(one)}
    taken = {
        "kernel": base64.b64encode(pickled(kernel)).decode(),
        "device": int(cupy.cuda.runtime.getDevice()),
        "arrays": [[number, lies_at(int(one.data.ptr))] for number, one in arrays.items()],
        **more,
    }
    names = tuple(f"argument {number}" for number in arrays)
    forms = {n: cupy_form(one) for n, one in arrays.items() if one.size}
    shared = taken_together(values, forms, dict(taken["arrays"]))
    return Portable(entry=entry, kernel=taken, arguments=shared, names=names)


def unpacked(kernel: Mapping[str, Any]) -> Any:
    """A kernel as it was taken along, on the device that it was launched on."""
    cupy.cuda.runtime.setDevice(kernel["device"])
    return cloudpickle.loads(base64.b64decode(kernel["kernel"]))


def on_device(kernel: Mapping[str, Any], values: Sequence[Any]) -> Given:
    """What a kernel is launched with, its arrays on the device again."""
    surround = partial(surrounded, to_device=cupy.asarray, to_host=cupy.asnumpy)
    return Given.of(values, dict(kernel["arrays"]), surround, cupy.asarray, array_in)


def left_in(kernel: Mapping[str, Any], given: Given) -> list[Any]:
    """What a launch left in its arrays."""
    return [given.values[number].get() for number, _ in kernel["arrays"]]
