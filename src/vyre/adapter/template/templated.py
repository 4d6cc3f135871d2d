"""`vyre.template`: a kernel of a source with macros, launched with the best configuration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from vyre import settings as environment
from vyre.adapter.alike import alike, elements_in, sizes_in, traits_in
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.kind import Kind
from vyre.adapter.template.arguments import (
    Bound,
    Value,
    arguments_in,
    described,
    taken,
    written,
)
from vyre.adapter.template.copies import copies_of
from vyre.adapter.template.recipe import Recipe, launch_of, texts_of
from vyre.adapter.template.short import Short
from vyre.adapter.template.signature import Unread
from vyre.adapter.template.sizes import Size, Sizes, size_given
from vyre.adapter.template.source import (
    asks_for_grid,
    macros_in,
    read_signature,
    refuse_defined,
    refuse_names,
    source_of,
    text_for,
)
from vyre.adapter.template.space import Space, space_of
from vyre.adapter.template.variants import Compiled, Loaded, OnTexts
from vyre.adapter.trial.copying import refuse_to_copy_much
from vyre.adapter.trial.trials import Check
from vyre.adapter.tuned import plain_key
from vyre.errors import InvalidInput
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs
from vyre.plain import shown
from vyre.policy.contest import Progress
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.arrays.foreign import stream_for
from vyre.runtime.arrays.lending import Loan
from vyre.runtime.call.streams import Order
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import open as open_device

Key = Callable[..., Any]


class Template:
    """A kernel that is called with its arguments; Vyre sets its macros, block and grid."""

    def __init__(
        self,
        recipe: Recipe,
        space: Space,
        *,
        device: Device | None = None,
        key: Key | None = None,
        check: Check | None = None,
    ) -> None:
        self.name, self.space, self._recipe = recipe.name, space, recipe
        self._device, self._key = device, key
        self._usual: Device | None = None  # where no array says another
        self._identity = recipe.identity
        self._exact = asks_for_grid(recipe.source) or recipe.sizes.block_follows_size
        self._calls = Calls(self.name, check=check)
        self._checked = check is not None
        self._loaded: Loaded = {}
        asked = None if key is None else self._asked
        self._short = Short(recipe, self._about, self._is_empty, asked)
        self._able: dict[Hashable, tuple[tuple[Knobs, ...], tuple[str, ...]]] = {}

    def __call__(
        self, *args: Any, size: int | Sequence[int] | None = None, stream: Any = None
    ) -> None:
        """Launch once, with one configuration.

        Arrays of Vyre, CuPy and torch are used where they are, on the current stream of the library
        they are of, and the call does not wait. NumPy arrays are copied to the device and, unless
        the source declares them const, back; such a call waits.

        Args:
            args: the kernel's arguments, in its order.
            size: of the problem, one to three numbers, where the template does not fix it.
            stream: to launch on: CUDA's, of any library.
        """
        if not self._short.launch(args, size, stream):
            self._launch(args, size, stream)

    def _launch(self, args: tuple[Any, ...], size: int | Sequence[int] | None, stream: Any) -> None:
        """The same for what is not like any earlier call."""
        held, given = taken(self._recipe, args), self._size(size)
        device = self._where(held)
        if self._is_empty(given):
            return
        if any(isinstance(one, np.ndarray) for one in held):
            device.loans.during(lambda loan: self._on_host(loan, device, args, held, given, stream))
            return
        where = self._stream(device, held, stream)
        asked = self._asked(args)
        entry = self._entry(device, asked, held, given, where)
        entry.launch(Bound(given, arguments_in(held), held), where)
        self._short.add(args, held, given, asked, entry, backend=device.backend)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def decision(self, *args: Any, size: int | Sequence[int] | None = None) -> Decision:
        """What is decided for such a call, which is not made."""
        return self._known(args, size, None)[0].decision

    def tune(
        self,
        *args: Any,
        size: int | Sequence[int] | None = None,
        stream: Any = None,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest configuration at once, on copies of the arrays, and remember it.

        Raises:
            DeviceFailed: the first one does not compile.
        """
        entry, bound, where = self._known(args, size, stream)
        entry.made(None)
        device = self._where(bound.held)
        refuse_to_copy_much(bound.held, f"tuning {self.name}")

        def on_copies(_: Sequence[Any]) -> Sequence[Any]:
            copies = copies_of(device, bound.held)
            device.synchronize()  # whatever stream they were made on
            return Bound(bound.size, arguments_in(copies), copies)

        return entry.tune(
            bound, copies=on_copies, stream=where, budget_s=budget_s, progress=progress
        )

    def source(
        self,
        config: Knobs | Mapping[str, Any] | None = None,
        *,
        size: int | Sequence[int] | None = None,
    ) -> str:
        """What is compiled for a configuration; by default the first.

        Args:
            config: one of the space.
            size: of the problem, where the source asks for the grid.
        """
        knobs = self.space.configs[0] if config is None else config
        if not isinstance(knobs, Knobs):
            knobs = Knobs.of(knobs)
        if knobs not in self.space.configs:
            raise InvalidInput(
                f"{knobs.text} is no config of {self.name}",
                f"give one of its space, such as {dict(self.space.configs[0].settings)}",
            )
        sizes, chosen = self._recipe.sizes, dict(knobs.settings)
        if not self._exact:
            return text_for(self._recipe.source, chosen, sizes.alone(chosen, ()))
        whole = sizes.size_of(chosen, self._size(size), self.name)
        return text_for(self._recipe.source, chosen, sizes.launch(chosen, whole))

    @property
    def device(self) -> Device:
        """Where it runs, where no array says another."""
        if self._device is not None:
            return self._device
        if self._usual is None:
            self._usual = _device_for(self._recipe)
        return self._usual

    def __repr__(self) -> str:
        return f"<template {self.name}, {len(self.space.configs):,} configs>"

    # -- one call

    def _size(self, size: object) -> Size | None:
        return None if size is None else size_given(size, self.name)

    def _asked(self, args: Sequence[Any]) -> tuple[str, ...] | None:
        """What `key=` says of a call."""
        return None if self._key is None else plain_key(self._key(*args), self.name)

    def _about(self, size: Size | None) -> Size | None:
        """What of a size tells calls apart."""
        return size if size is None or self._exact else tuple(map(_doubled, size))

    def _is_empty(self, size: Size | None) -> bool:
        """Whether a call has nothing to do, by the first configuration's word."""
        if size is not None and 0 in size:
            return True
        first = dict(self.space.configs[0].settings)
        return 0 in launch_of(self._recipe, first, size).grid

    def _where(self, held: Iterable[Value]) -> Device:
        """The device that a call's arrays are on; where none is on any, the template's own."""
        here: Device | None = None
        for one in held:
            if isinstance(one, DeviceArray):
                if here is not None and one.device is not here:
                    raise InvalidInput(
                        f"arrays of {self.name} are on {here.name} and {one.device.name}",
                        "bring them to one device",
                    )
                here = one.device
        if here is None:
            here = self.device
        elif self._device is not None and here is not self._device:
            raise InvalidInput(
                f"arrays of {self.name} are on {here.name}, and it runs on {self._device.name}",
                "bring them there, or leave device= out",
            )
        return here

    def _stream(self, device: Device, held: Sequence[Value], stream: Any) -> int:
        """Where a call runs, which then follows what was done to its arrays elsewhere."""
        backend = device.backend
        if backend.streams is None:
            if stream is not None:
                raise InvalidInput(
                    f"stream= of {self.name} on {device.name}, which has one", "leave it out"
                )
            return 0
        arrays = [one for one in held if isinstance(one, DeviceArray)]
        order = Order(backend, arrays)
        where = order.where(stream)
        if where is None:  # which is then said
            named = {f"argument {n}": one for n, one in enumerate(arrays)}
            where = stream_for(named, stream, where=self.name)
        order.follow([arrays[n].memory for n in order.own], where)
        return where

    def _on_host(
        self,
        loan: Loan,
        device: Device,
        args: Sequence[Any],
        held: tuple[Value, ...],
        size: Size | None,
        stream: Any,
    ) -> None:
        """The same with arrays of the host among the arguments: it is over when this returns."""
        self._refuse_overlap(held)
        backend = device.backend
        where = self._stream(device, held, stream)
        entry = self._entry(device, self._asked(args), held, size, where)
        lent: dict[int, Any] = {}
        values: list[Any] = []
        for one in held:
            if not isinstance(one, np.ndarray):
                values.append(one.argument if isinstance(one, DeviceArray) else one)
                continue
            if id(one) not in lent:
                lent[id(one)] = loan.lend(backend.borrow(one, read=True), one)
            memory = lent[id(one)]
            if backend.streams is not None:
                backend.streams.use_on(memory, where)
            values.append(backend.typed(memory, one.dtype))
        entry.launch(Bound(size, tuple(values), held), where)
        back = {
            id(one): one
            for n, one in enumerate(held)
            if isinstance(one, np.ndarray) and written(self._recipe, n) and one.flags.writeable
        }
        for place, array in back.items():
            backend.return_to(lent[place], array)
        if not back:
            backend.synchronize()

    def _refuse_overlap(self, held: Sequence[Value]) -> None:
        """Two copies of one memory would come back, and one be lost."""
        arrays = [(n, one) for n, one in enumerate(held) if isinstance(one, np.ndarray)]
        for k, (n, one) in enumerate(arrays):
            for m, other in arrays[:k]:
                writes = written(self._recipe, n) or written(self._recipe, m)
                if writes and one is not other and np.may_share_memory(one, other):
                    raise InvalidInput(
                        f"arguments {m} and {n} of {self.name} share memory, and may be written",
                        "pass copies, or arrays of the device",
                    )

    # -- kinds of calls

    def _known(self, args: Sequence[Any], size: object, stream: Any) -> tuple[Entry, Bound, int]:
        held, given = taken(self._recipe, args), self._size(size)
        device = self._where(held)
        where = self._stream(device, held, stream)
        entry = self._entry(device, self._asked(args), held, given, where)
        return entry, Bound(given, (), held), where

    def _entry(
        self,
        device: Device,
        asked: tuple[str, ...] | None,
        held: tuple[Value, ...],
        size: Size | None,
        where: int,
    ) -> Entry:
        """Where such calls are launched from."""
        common = alike(held)
        key = (device.name, common, self._about(size), asked)
        entry = self._calls.find(key)
        if entry is not None:
            return entry
        recipe = self._recipe
        place = OnTexts(device, texts_of(device, recipe))
        if self._checked and place.is_capturing(where):
            raise InvalidInput(
                f"{self.name} has had no such call, and what is launched now is captured",
                "call it once before the capture, or leave check= out",
            )
        first = dict(self.space.configs[0].settings)
        whole = recipe.sizes.size_of(first, size, self.name)
        able, left_out = self._able_on(device, whole)
        kind = Kind(
            name=self.name,
            text=self._identity,
            place=place,
            configs=able,
            sizes=(*whole, *sizes_in(common)) if asked is None else (),
            traits=traits_in(common) if asked is None else asked,
            size=prod(whole) or 1 if whole else elements_in(common),
            left_out=left_out,
        )
        variants = Compiled(recipe, place, size, described(held), self._loaded)
        return self._calls.add(key, kind, variants, Bound(size, (), held))

    def _able_on(self, device: Device, size: Size) -> tuple[tuple[Knobs, ...], tuple[str, ...]]:
        """The configurations that a device can launch, and what is left out, and why."""
        key = device.name, size if self._recipe.sizes.block_follows_size else None
        known = self._able.get(key)
        if known is not None:
            return known
        sizes, limits = self._recipe.sizes, device.info.limits
        able, refused = [], dict[str, int]()
        for one in self.space.configs:
            why = sizes.alone(dict(one.settings), size).refusal(limits)
            if why is None:
                able.append(one)
            else:
                refused[why] = refused.get(why, 0) + 1
        if not able:
            why = next(iter(refused))
            raise InvalidInput(
                f"no config of {self.name} can be launched on {device.name}: {why}",
                "offer smaller blocks, or less workgroup memory",
            )
        whole = self.space.whole
        by_word = {f"restriction {text}": n for text, n in self.space.left_out.items() if n}
        left_out = tuple(f"{n:,} of {whole:,}: {why}" for why, n in (by_word | refused).items())
        self._able[key] = tuple(able), left_out
        return self._able[key]


def _doubled(number: int) -> int:
    return (1 << number.bit_length()) - 1


def _device_for(recipe: Recipe) -> Device:
    """The device that `VYRE_DEVICE` names, if it runs such a source, else the first that does."""
    language, wanted = recipe.source.language, environment.load().device
    if wanted is not None:
        device = open_device(wanted)
        texts = device.backend.texts
        if texts is not None and texts.language == language:
            return device
    return open_device(language)


def template(
    source: str | Path,
    name: str,
    *,
    params: Mapping[str, Iterable[Any]],
    restrictions: object = (),
    size: object = None,
    grid: object = None,
    block: object = None,
    grid_div_x: object = None,
    grid_div_y: object = None,
    grid_div_z: object = None,
    shared: object = None,
    options: Sequence[str] = (),
    language: str | None = None,
    device: Device | str | None = None,
    key: Key | Sequence[str] | None = None,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Template:
    """Let Vyre set the macros of a kernel's source, by what is fastest: each call launches it once.

    That all configurations compute the same is the author's word; `check=True` compares them on
    copies.

    Args:
        source: a text, or the path of a file, in CUDA C++ or OpenCL C.
        name: the kernel's; what stands in `<...>` may name parameters.
        params: choices for each macro; the first of each is the default.
        restrictions: what a configuration has to keep to: expressions as Python writes them, or
            functions, one or a list.
        size: of the problem, for all calls: numbers, expressions or a function of a configuration;
            left out, each call gives it.
        grid: of blocks: numbers, expressions over parameters and `size_x`, `size_y`, `size_z`, or a
            function of a configuration, and of the size; left out, the size divided, rounded up.
        block: of threads, in the same forms; left out, what `block_size_x`, `_y` and `_z` say.
        grid_div_x: what the size along x is divided by, each a number, an expression or a function;
            left out, the block's size.
        grid_div_y: the same along y.
        grid_div_z: the same along z.
        shared: bytes of workgroup memory, in the same forms.
        options: for the compiler.
        language: `cuda` or `opencl`; left out, by the file's name or what the text says.
        device: where it runs: by default where the arrays are.
        key: what tells kinds of calls apart, exactly: names of the kernel's arguments, or a
            function of them; left out, types count, and sizes by doublings.
        check: try each configuration on copies, in another process, before it serves, and compare
            what it wrote with what the first did: bitwise, or within `rtol` and `atol`.
        rtol: how close, relative to the first's.
        atol: how close, absolutely.

    >>> text = '''__kernel void add(__global float *c, __global const float *a, int n) {
    ...     int i = get_global_id(0);
    ...     if (i < n) c[i] += a[i];
    ... }'''
    >>> template(text, "add", params={"block_size_x": [64, 128]}, language="opencl")
    <template add, 2 configs>
    """
    given: object = name
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"a kernel's name that is {shown(name)}", "give it as the source does")
    given_to = _options(options, name)
    read = source_of(source, name, language, given_to)
    space = space_of(params, restrictions, name)
    signature = read_signature(read, name, (*space.names, *macros_in(given_to)))
    refuse_names(read, name, space.names, signature)
    refuse_defined(read, space.names)
    sizes = Sizes.of(
        space.names,
        name,
        size=size,
        grid=grid,
        divisors=(grid_div_x, grid_div_y, grid_div_z),
        block=block,
        shared=shared,
    )
    recipe = Recipe(
        name=name.strip(),
        source=read,
        signature=signature,
        sizes=sizes,
        options=given_to,
    )
    _refuse_opencl(recipe)
    text_for(read, dict(space.configs[0].settings), None)  # or it says which value is no macro
    where = open_device(device) if isinstance(device, str) else device
    if where is not None:
        texts_of(where, recipe)
    return Template(
        recipe,
        space,
        device=where,
        key=_key_of(key, recipe),
        check=Check.of(check, rtol, atol),
    )


def _options(given: object, name: str) -> tuple[str, ...]:
    listed = (given,) if isinstance(given, str) else given
    if isinstance(listed, Iterable):
        options = tuple(listed)
        if all(isinstance(one, str) and one for one in options):
            return options
    raise InvalidInput(f"options of {name} are {shown(given)}", 'give texts, such as ["-DN=1"]')


def _refuse_opencl(recipe: Recipe) -> None:
    """Refuse what OpenCL has no place for."""
    if recipe.source.language != "opencl":
        return
    if "<" in recipe.name:
        raise InvalidInput(f"{recipe.name} in OpenCL C, which has no templates", "name a function")
    if recipe.source.included and " " in recipe.source.folder:
        raise InvalidInput(
            f"{recipe.source.where} includes files of {recipe.source.folder}, and OpenCL takes no "
            "folder with a space in its name",
            "move them",
        )
    if isinstance(recipe.signature, Unread):
        return
    local = [one.name for one in recipe.signature.parameters if one.is_local]
    if len(local) > 1 or bool(local) != (recipe.sizes.shared is not None):
        said = f"{', '.join(local) or 'none'} of its arguments are workgroup memory"
        raise InvalidInput(
            f"{said.replace('none of its arguments are', 'no argument is')} of {recipe.name}, and "
            f"shared= is {'left out' if recipe.sizes.shared is None else 'given'}",
            "give shared= its bytes, for one argument; others can be arrays in the kernel, as "
            "large as macros say",
        )


def _key_of(key: Key | Sequence[str] | None, recipe: Recipe) -> Key | None:
    if key is None or callable(key):
        return key
    names = (key,) if isinstance(key, str) else tuple(key)
    if recipe.parameters is None:
        raise InvalidInput(
            f"key={shown(key)} of {recipe.name}, whose arguments have no names that could be read",
            "give a function of them",
        )
    known = [one.name for one in recipe.parameters]
    for one in names:
        if one not in known:
            raise InvalidInput(
                f"key= of {recipe.name} names {shown(one)}, which is no argument of it",
                f"name one of {', '.join(known)}",
            )
    places = [known.index(one) for one in names]
    return lambda *args: tuple(args[n] for n in places)
