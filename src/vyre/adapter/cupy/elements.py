"""Kernels that CuPy makes of what is done with an element."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import cupy

from vyre.adapter import grids
from vyre.adapter.alike import alike, elements_in, sizes_in, traits_in
from vyre.adapter.blocks import Shape, block_of
from vyre.adapter.calls import Calls, Entry
from vyre.adapter.cupy import device
from vyre.adapter.cupy.copies import copied_together, left_in, on_device, portable_launch, unpacked
from vyre.adapter.cupy.device import CURRENT, REFUSED, is_whole, versions
from vyre.adapter.failure import Raised
from vyre.adapter.grids import Launch
from vyre.adapter.identity import digest_of
from vyre.adapter.kind import Job, Kind, Portable, Start
from vyre.adapter.looks import NOT_SEEN, Arrays, Looks
from vyre.adapter.reading.cuda_text import sign_in
from vyre.adapter.reading.sources import bare
from vyre.adapter.trial import copying
from vyre.adapter.trial.trials import Check
from vyre.errors import InvalidInput
from vyre.learn import rules
from vyre.learn.explain import Explanation
from vyre.model import Decision, Knobs
from vyre.policy.contest import Progress

_USUAL = 128
"""What CuPy launches an ElementwiseKernel with where nobody says."""

_LOOP = ("CUPY_FOR", "i", "n", "_ind")
"""What the loop is made of in which CuPy has a kernel of elements."""


def _of_elements(kind: type) -> Arrays | None:
    """Arrays whose elements CuPy finds for a kernel."""
    if not issubclass(kind, cupy.ndarray):
        return None
    # Shapes and strides are made anew for whoever asks; this says as much, in CuPys that have it.
    quick = hasattr(kind, "_c_contiguous")
    return Arrays(
        lambda x: (kind, x.dtype, x.ndim, x.size.bit_length(), x.flags.c_contiguous),
        ("dtype", "ndim", "size", "_c_contiguous") if quick else ("dtype", "shape", "strides"),
    )


class TunedElementwiseKernel:
    """A kernel that is called as before; the block that CuPy has for it is the default."""

    __slots__ = (
        "_again",
        "_calls",
        "_device",
        "_looks",
        "_named",
        "_sign",
        "_text",
        "kernel",
        "name",
    )

    def __init__(self, kernel: Any, named: tuple[Shape, ...] | None, check: Check | None) -> None:
        self.kernel, self.name = kernel, str(kernel.name)
        self._named = named
        self._calls = Calls(self.name, check=check)
        self._looks = Looks(_of_elements)
        self._again = self._calls.again
        self._device = device.Current()
        self._sign = _sign_in(kernel)
        self._text: str | None = None

    def __call__(
        self, *args: Any, size: int = -1, stream: Any = None, block_size: int = _USUAL
    ) -> Any:
        """Launch it once, and give what it gives."""
        entry: Entry | None = None
        try:
            by = rules.usual or rules.rule()
            key = (by, self._device.number(), block_size, size, self._looks.latest(args))
            entry = self._again[key]
            if type(block_size) is not int:  # 128.0 is found where 128 was
                entry = None
        except NOT_SEEN:
            pass
        if entry is None:
            entry = self._seen(args, size, block_size)
        if entry is None:
            return self._first(args, size, stream, block_size)
        return entry.launch((args, size, stream), CURRENT if stream is None else stream.ptr)

    def explain(self) -> Explanation:
        """What runs, why, and what is known besides."""
        return self._calls.explain()

    def decision(
        self, *args: Any, size: int = -1, stream: Any = None, block_size: int = _USUAL
    ) -> Decision:
        """What is decided for such a call, which is not made."""
        return self._known(args, size, stream, block_size).decision

    def tune(
        self,
        *args: Any,
        size: int = -1,
        stream: Any = None,
        block_size: int = _USUAL,
        budget_s: float = 2.0,
        progress: Callable[[Progress], None] | None = None,
    ) -> Decision:
        """Look for the fastest block at once, on copies of the arrays, and remember it."""
        entry = self._known(args, size, stream, block_size)
        copying.refuse_to_copy_much(args, f"tuning {self.name}")
        return entry.tune(
            (args, size, stream),
            copies=_on_copies,
            stream=CURRENT if stream is None else stream.ptr,
            budget_s=budget_s,
            progress=progress,
        )

    def __repr__(self) -> str:
        return f"<tuned {self.name}>"

    def _first(self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any) -> Any:
        """A call of a new kind: the library compiles for it, so its time tells nothing."""
        if self._calls.check is not None:
            entry = self._entry(args, size, stream, block_size)
            if entry is not None:
                return entry.launch((args, size, stream), CURRENT if stream is None else stream.ptr)
        device.place()  # or what is missing would be said after the launch
        given = self.kernel(*args, size=size, stream=stream, block_size=block_size)
        if self._calls.check is None:
            self._entry(args, size, stream, block_size)
        return given

    def _known(self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any) -> Entry:
        entry = self._entry(args, size, stream, block_size)
        if entry is None:
            raise InvalidInput(
                f"such a call of {self.name} is not for learning",
                "ask with arrays that have elements, and outside of a capture",
            )
        return entry

    def _entry(
        self, args: tuple[Any, ...], size: Any, stream: Any, block_size: Any
    ) -> Entry | None:
        """Where such calls are made from; None where there is nothing to learn from them."""
        if not (is_whole(size) and size and is_whole(block_size) and block_size > 0):
            return None
        if any(hasattr(one, "__cupy_override_elementwise_kernel__") for one in args):
            return None
        if any(isinstance(one, cupy.ndarray) and not one.size for one in args):
            return None
        exactly = (self._device.number(), block_size, size, self._looks.exactly(args))
        doublings = -1 if size == -1 else int(size).bit_length()
        key = (self._device.number(), block_size, doublings, *self._looks.at(args))
        found = self._calls.find(key)
        if found is not None:
            return self._calls.keep(exactly, found)
        place = device.place()
        if place.is_capturing(CURRENT if stream is None else stream.ptr):
            return None
        if self._text is None:
            self._text = digest_of((self.name, versions(), _described(self.kernel)))
        common = alike(args)
        count = int(size) if size > 0 else elements_in(common)
        limits = place.info.limits
        # As many blocks as it takes, and more threads than elements do nothing.
        launch = Launch.of((-(-count // block_size),), (block_size,), (count,))
        able, left_out = grids.able(launch, self._named, self._sign, limits.max_threads, limits)
        kind = Kind(
            name=self.name,
            text=self._text,
            place=place,
            configs=able,
            sizes=(count, *sizes_in(common)),
            traits=(f"default {able[0].text}", *traits_in(common)),
            size=count,
            left_out=left_out,
            warm=True,
        )
        variants = _Elementwise(self.kernel, frozenset(able))
        entry = self._calls.add(key, kind, variants, (args, size, stream))
        return self._calls.keep(exactly, entry)

    def _seen(self, args: tuple[Any, ...], size: Any, block_size: Any) -> Entry | None:
        """Where such calls are made from, if there were any with arguments of these types."""
        looked = self._looks.exactly(args)
        if not is_whole(block_size):
            return None
        try:
            return self._again.get((rules.rule(), self._device.number(), block_size, size, looked))
        except TypeError:  # of what the library refuses
            return None


@dataclass(frozen=True, slots=True)
class _Elementwise:
    """How a kernel of elements is launched under each block: nothing is compiled for it."""

    kernel: Any
    able: frozenset[Knobs]

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        kernel = self.kernel
        (block,) = block_of(config)

        def start(arguments: Sequence[Any], stream: int) -> Any:
            del stream  # a call has its own, or the thread's
            args, size, on = arguments
            try:
                if on is None and size == -1:  # which is quicker said
                    return kernel(*args, block_size=block)
                return kernel(*args, size=size, stream=on, block_size=block)
            except REFUSED as error:
                raise Raised(error) from error

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The kernel with its source, and its arrays as NumPy's."""
        args, size, on = arguments
        return portable_launch(
            "vyre.adapter.cupy.elements:runs",
            self.kernel,
            args,
            on,
            {"size": int(size)},
            whole=False,
        )


def runs(
    kernel: Mapping[str, Any],
) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a kernel of elements on copies of its arrays, in the process that may die."""
    function = unpacked(kernel)

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = on_device(kernel, values)
        made = function(*given.values, size=kernel["size"], block_size=settings["block"])
        listed = made if isinstance(made, tuple) else (made,)
        results = [one.get() for one in listed if one is not None]
        return [*left_in(kernel, given), *results, *given.beside()]

    return run


def _on_copies(arguments: Sequence[Any]) -> Sequence[Any]:
    args, size, on = arguments
    with on or nullcontext():
        return copied_together(args, whole=False), size, on


def _sign_in(kernel: Any) -> str | None:
    """What may make what a kernel of elements gives depend on the block."""
    parts = {name: str(kernel.kwargs.get(name, "")) for name in ("loop_prep", "after_loop")}
    beyond = "which threads without an element run as well"
    if bare(parts["after_loop"]).strip():
        return f"it has an after_loop, {beyond}"
    before = bare(parts["loop_prep"])
    if "atomic" in before:
        return f"its loop_prep has atomics, {beyond}"
    if any(not _is_closed(one) for one in (before, bare(str(kernel.operation)))):
        return "it closes braces that it does not open, and so the loop of its elements"
    whole = (str(kernel.preamble), parts["loop_prep"], str(kernel.operation))
    if before.strip() and "blockIdx" in bare("\n".join(whole)):
        return f"it has a loop_prep and says blockIdx, {beyond}"
    for name in re.findall(r"#\s*(?:define|undef)\s+(\w+)", bare("\n".join(whole))):
        if name in _LOOP:
            return f"its source defines {name}, by which its elements are found"
    return sign_in("\n".join(whole), kernel.kwargs.get("options", ()), steps=False)


def _is_closed(code: str) -> bool:
    """Whether what stands in braces is opened and closed within a piece of code."""
    depth = 0
    for one in re.findall(r"[{}]|<%|%>", code):
        depth += 1 if one in ("{", "<%") else -1
        if depth < 0:
            return False
    return not depth


def _described(kernel: Any) -> str:
    """All of a kernel of elements."""
    parameters = (*kernel.in_params, *kernel.out_params)
    more = (f"{name} {value!r}" for name, value in sorted(kernel.kwargs.items()))
    return "\n".join(
        (
            *map(repr, parameters),
            str(kernel.operation),
            str(kernel.preamble),
            f"reduce_dims {kernel.reduce_dims}",
            *more,
        )
    )
