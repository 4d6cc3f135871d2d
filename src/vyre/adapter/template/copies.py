"""Copies of a template's arguments: arrays that share memory do so there as well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vyre.adapter.template.arguments import Value
from vyre.adapter.trial.around import lies_at
from vyre.adapter.trial.together import Form, Together, begins, groups
from vyre.backend.base import Texts
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign import ForeignArray
from vyre.runtime.devices.device import Device


def forms_of(held: Sequence[Value]) -> dict[int, Form]:
    """How arrays among a call's arguments lie on the device, or will where they are brought."""
    return {
        number: _form_of(one)
        for number, one in enumerate(held)
        if not isinstance(one, np.generic) and one.size
    }


def _form_of(array: DeviceArray | np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Form:
    where, at = id(array), 0
    if isinstance(array, ForeignArray):
        where, at = -1, array.seen.pointer
    elif isinstance(array, DeviceArray):
        where = id(array.memory)
    return Form.rows(array.shape, array.dtype, where, at)


def part_of(texts: Texts, memory: DeviceArray, form: Form) -> DeviceArray:
    """An array in one of bytes."""
    part = memory.memory
    if form.at:
        part = texts.part(part, form.at, form.bounds[1] - form.bounds[0])
    return DeviceArray(memory.device, part, form.shape, form.dtype)


def copies_of(device: Device, held: Sequence[Value]) -> tuple[DeviceArray | np.generic, ...]:
    """The same on a device, where nothing is the caller's."""
    forms = forms_of(held)
    made: dict[int, DeviceArray | np.generic] = {}
    for group in groups(forms):
        shared = {number: forms[number] for number in group}
        if len({*shared.values()}) == 1:
            made |= dict.fromkeys(group, _copied(device, held[group[0]]))
            continue
        texts = device.backend.texts
        assert texts is not None, "or nothing would run there"
        lies = lies_at(begins([*shared.values()]))
        together = Together.of(shared, {n: np.asarray(held[n]) for n in group}, lies)
        whole = device.array(together.held)
        made |= together.within(whole, partial(part_of, texts))
    return tuple(made[n] if n in made else _copied(device, one) for n, one in enumerate(held))


def _copied(device: Device, value: Value) -> DeviceArray | np.generic:
    if isinstance(value, np.ndarray):
        return device.array(value)
    return value.copy() if isinstance(value, DeviceArray) else value
