"""What other processes do for a template: compile a configuration, and run one on copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from vyre.adapter.kind import Job, Portable
from vyre.adapter.template.arguments import (
    Bound,
    Value,
    arguments_in,
    described,
    name_of,
    types_in,
    written,
)
from vyre.adapter.template.copies import forms_of, part_of
from vyre.adapter.template.recipe import (
    Recipe,
    Settings,
    launch_of,
    loaded,
    not_built,
    refuse_unfit,
    rehearsal_of,
    texts_of,
)
from vyre.adapter.template.sizes import Launch
from vyre.adapter.template.source import refuse_changed
from vyre.adapter.trial.around import MARGIN, UNTOUCHED, Given, Surrounded, start_of
from vyre.adapter.trial.portable import unpacked
from vyre.adapter.trial.together import taken_together
from vyre.adapter.trial.trials import packed
from vyre.backend.base import Array, Rehearsal, Text, Texts, Unbuilt
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.in_place import WIDEST
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import open as open_device

LIMIT_S = 60.0
"""For one compile, before its process is ended."""


def job_of(
    device: Device, recipe: Recipe, settings: Settings, launch: Launch, rehearsal: Rehearsal
) -> Job:
    """What another process is asked to compile."""
    given = {
        "device": device.name,
        "text": asdict(recipe.text(settings, launch)),
        "rehearsal": asdict(rehearsal),
        "name": recipe.name,
        "where": recipe.source.where,
        "files": recipe.source.files,
        "settings": dict(settings),
    }
    return Job(entry="vyre.adapter.template.compiling:compiled", given=given, limit_s=LIMIT_S)


def compiled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Compile a text where whoever asked finds it.

    Raises:
        DeviceFailed: the compiler refused it, or it is no longer the same.
    """
    refuse_changed(given["files"], given["name"])
    texts = open_device(given["device"]).backend.texts
    assert texts is not None, "whoever asks has it on the same device"
    text, plan = given["text"], given["rehearsal"]
    made = texts.compile(
        Text(**{**text, "options": tuple(text["options"])}),
        Rehearsal(
            grid=tuple(plan["grid"]),
            block=tuple(plan["block"]),
            arguments=tuple(tuple(one) for one in plan["arguments"]),
        ),
    )
    if isinstance(made, Unbuilt):
        raise not_built(made, given["name"], given["where"], given["settings"])
    return {}


def portable_of(device: Device, recipe: Recipe, bound: Bound) -> Portable:
    """A template and copies of a call's arguments, as another process can have them."""
    held = bound.held
    lies = {n: _lies(one) for n, one in _arrays_in(held)}
    hosts = [one if isinstance(one, np.generic) else np.asarray(one) for one in held]
    return Portable(
        entry="vyre.adapter.template.compiling:runs",
        # Functions beside what holds them, so that their modules are found.
        kernel={
            "device": device.name,
            "function": packed((recipe, bound.size, recipe.sizes.functions)),
            "arrays": [*lies.items()],
        },
        arguments=taken_together(
            hosts, forms_of(held), {n: _lies(one) for n, one in _arrays_in(held)}
        ),
        names=tuple(name_of(recipe, n) for n in _written_in(recipe, held)),
    )


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a configuration on copies, and gives what it wrote."""
    recipe, size, _ = unpacked(kernel)
    device = open_device(kernel["device"])
    texts, lies = texts_of(device, recipe), dict(kernel["arrays"])
    surround = partial(_surrounded, device, texts)

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = Given.of(values, lies, surround, device.array, partial(part_of, texts))
        held = given.values
        launch = launch_of(recipe, settings, size)
        if 0 not in launch.grid:
            said = described(held)
            rehearsal = rehearsal_of(launch, recipe, said)
            found = loaded(texts, recipe, settings, launch, rehearsal)
            refuse_unfit(found, recipe, rehearsal)
            start = texts.bind(found, types_in(said))
            arguments = recipe.whole(arguments_in(held), launch)
            start(launch.grid, launch.block, launch.shared_bytes, arguments, 0)
            device.synchronize()
        written = [np.asarray(held[n]) for n in _written_in(recipe, held)]
        return [*written, *given.beside(partial(name_of, recipe))]

    return run


def _surrounded(device: Device, texts: Texts, host: Array, lies: int) -> Surrounded:
    """A copy of an array that is a part of a larger buffer."""
    start = -(-start_of(lies) // texts.parts_at) * texts.parts_at
    end, backend = start + host.nbytes, device.backend
    whole = backend.alloc(end + MARGIN)

    def read(first: int, last: int) -> Array:
        skipped = first % texts.parts_at
        piece = np.empty(last - first + skipped, np.uint8)
        backend.download(texts.part(whole, first - skipped, piece.nbytes), piece)
        return piece[skipped:]

    # The array last, because what follows it is filled from where a part can begin.
    for first, last in ((0, start), (end - end % texts.parts_at, end + MARGIN)):
        untouched = np.full(last - first, UNTOUCHED, np.uint8)
        backend.upload(texts.part(whole, first, untouched.nbytes), untouched)
    part = texts.part(whole, start, host.nbytes)
    backend.upload(part, host)
    made = DeviceArray(device, part, host.shape, host.dtype)
    return Surrounded(made, start, host.nbytes, read)


def _lies(array: Value) -> int:
    """How an array is aligned; one of the host is copied to where a device aligns its own."""
    return array.alignment % WIDEST if isinstance(array, DeviceArray) else 0


def _arrays_in(held: Sequence[Value]) -> list[tuple[int, Value]]:
    return [(n, one) for n, one in enumerate(held) if not isinstance(one, np.generic)]


def _written_in(recipe: Recipe, held: Sequence[Value]) -> list[int]:
    """Which arguments are arrays that the kernel may write to."""
    return [n for n, _ in _arrays_in(held) if written(recipe, n)]
