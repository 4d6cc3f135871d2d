"""A call that was bound once: only the launch is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vyre.backend.base import Fixed
from vyre.errors import InvalidInput, VyreError
from vyre.learn.site import Site
from vyre.runtime.arrays.array import AnyArray, DeviceArray
from vyre.runtime.arrays.foreign import ForeignArray, handle_of, result_of
from vyre.runtime.arrays.in_place import address_of, change_of
from vyre.runtime.call.arguments import unpacked
from vyre.runtime.call.streams import streams_of
from vyre.runtime.devices.launcher import Launcher, Prepared


class Launch:
    """What `kernel.prepare` returns; calling it launches on the arrays it was prepared with.

    It goes on learning like any call. What the arrays hold may change, the arrays may not: one of
    another library that lies elsewhere since then is refused, because its memory may be gone, and
    so is one of NumPy's that was resized, or changed in place otherwise.
    """

    __slots__ = (
        "_arguments",
        "_fix",
        "_name",
        "_own",
        "_results",
        "_site",
        "_start",
        "_step",
        "_stream",
        "_told",
        "_use_on",
        "_watched",
        "arrays",
    )

    def __init__(
        self,
        launcher: Launcher,
        site: Site | None,
        arrays: Mapping[str, AnyArray],
        scalars: Mapping[str, np.generic],
        stream: object,
        results: Sequence[AnyArray],
        told: Callable[[VyreError], VyreError] = VyreError.at_caller,
    ) -> None:
        """Launch at a site; `told` is an error of it as its author should see it."""
        self.arrays = arrays  # and so their memory is kept
        backend = launcher.device.backend
        self._fix = backend.fix
        self._site = site
        self._arguments = [
            scalars[name] if name in scalars else _argument(arrays[name]) for name in launcher.order
        ]
        self._own: tuple[DeviceArray, ...] = ()
        if backend.streams is not None:
            self._use_on = backend.streams.use_on
            self._own = tuple(
                array
                for array in arrays.values()
                if isinstance(array, DeviceArray) and not isinstance(array, ForeignArray)
            )
        self._name = launcher.kernel.name
        self._told = told
        watched = [(name, *_watched(array)) for name, array in arrays.items()]
        self._watched = tuple(watch for watch in watched if watch[1] is not None)
        self._stream = _where(arrays, stream)
        self._results = unpacked(
            [result_of(one) if isinstance(one, DeviceArray) else one for one in results]
        )
        self._step: Prepared | None = None
        self._start: Fixed = lambda _: None

    def __reduce__(self) -> str:
        raise InvalidInput(
            f"a prepared launch of {self._name} cannot be pickled: its arrays are on a device",
            "prepare it in the other process",
        )

    def __call__(self) -> Any:
        """Launch once; returns the outputs, which may still be under way."""
        try:
            site = self._site
            if site is None:  # there is nothing to cover
                return self._results
            for name, place, source, before in self._watched:
                if place(source) != before:
                    how = "was changed" if isinstance(source, np.ndarray) else "lies elsewhere"
                    raise InvalidInput(
                        f"{name} of {self._name} {how} since it was prepared",
                        "prepare the call again",
                    )
            stream = self._stream() if self._stream is not None else 0
            for array in self._own:
                if array.memory.stream != stream:
                    self._use_on(array.memory, stream)
            site.tick()
            if site.asked and site.launched_asked(self._arguments, stream):
                return self._results
            step = site.best or site.refreshed()
            if step is self._step:
                self._start(stream)
            else:
                self._start = self._fix(
                    step.binary, step.grid, step.workgroup, step.words, self._arguments
                )
                self._step, chosen = step, site.chosen
                try:
                    self._start(stream)
                except VyreError as error:
                    if not site.is_guess(chosen):
                        raise
                    arguments = self._arguments
                    site.fall_back(
                        chosen, error, lambda usual: usual.start(arguments, stream), asked=False
                    )
            return self._results  # noqa: TRY300  # errors of all of it are told alike
        except VyreError as error:
            raise self._told(error) from error.__cause__


def _argument(array: AnyArray) -> Any:
    return array.argument if isinstance(array, DeviceArray) else address_of(array)


def _watched(array: AnyArray) -> tuple[Any, Any, Any]:
    """What to ask of an array that somebody else may change, whom, and what the answer was."""
    if isinstance(array, ForeignArray):
        return array.kind.place, array.source, array.seen.pointer
    if isinstance(array, np.ndarray):
        return change_of(array), array, False
    return None, None, None


def _where(arrays: Mapping[str, AnyArray], stream: object) -> Callable[[], int] | None:
    """How to find the stream of a launch; None for the default one."""
    if stream is not None:
        handle = handle_of(stream)
        return lambda: handle
    streams = streams_of(arrays.values())
    return streams[0] if streams else None
