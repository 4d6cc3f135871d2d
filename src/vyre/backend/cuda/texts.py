"""Kernels of others from their source: NVRTC, a folder of cubins, the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vyre.backend.base import LoadedText, Rehearsal, StartText, Taken, Text, Unbuilt
from vyre.backend.binaries import Binaries, name_of
from vyre.backend.cuda import nvrtc
from vyre.backend.cuda.build import Builder
from vyre.backend.cuda.context import Context
from vyre.backend.cuda.events import TimedTicket
from vyre.backend.cuda.frame import Frames
from vyre.backend.cuda.memory import CudaMemory, CudaPart
from vyre.ir.declare import Dim3


class CudaTexts:
    """Texts for one device. Compiling needs no context; loading does.

    Nothing is told to the compiler beside the architecture: what a source means, NVRTC's own
    defaults say.

    Args:
        context: the device's.
        builder: what loads machine code there.
        architecture: what to compile for, such as `sm_90`.
        folder: where cubins are kept, if anywhere.
        legacy: the stream that launches go to where no other is said.
        again: makes a launch that the driver refused once more, with the context current.
        time: what times launches on a stream.
    """

    language = "cuda"
    parts_at = 1

    def __init__(
        self,
        context: Context,
        builder: Builder,
        architecture: str,
        folder: Path | None,
        *,
        legacy: Any,
        again: Callable[[partial[Any], Any, int, tuple[Any, ...]], None],
        time: Callable[[int, Callable[[], Any]], TimedTicket | None],
    ) -> None:
        self._context, self._builder, self._folder = context, builder, folder
        self._architecture, self._time = architecture, time
        self._legacy, self._again = legacy, again

    def compile(self, text: Text, rehearsal: Rehearsal) -> bool | Unbuilt:  # noqa: ARG002  # a cubin serves every launch
        """Keep the machine code, where there is a folder for it."""
        made = self._made(text)
        if isinstance(made, Unbuilt):
            return made
        return Binaries(self._folder).get(self._name(text)) is not None

    def load(self, text: Text, rehearsal: Rehearsal) -> LoadedText | Unbuilt:  # noqa: ARG002  # as above
        """Load what is kept, or else is compiled now."""
        made = self._made(text)
        if isinstance(made, Unbuilt):
            return made
        module = self._builder.load_image(made.image)
        if isinstance(module, Unbuilt):
            return module
        function = self._builder.function_of(module, made.lowered)
        if isinstance(function, Unbuilt):
            return function
        with self._context.apart_from_captures():
            resources = self._builder.resources_of(function)
            taken = self._taken(function)
        return LoadedText(function, resources.max_threads, taken)

    def bind(self, loaded: LoadedText, dtypes: Sequence[np.dtype[Any] | None]) -> StartText:
        """Launches with buffers for arguments that are used again and again."""
        frames, function = Frames(dtypes, ()), loaded.kernel
        make, free, pack = partial(frames.make, b""), frames.free, frames.pack
        enqueue, legacy, again = self._context.driver.cuLaunchKernel, self._legacy, self._again

        def start(
            grid: Dim3, block: Dim3, shared_bytes: int, arguments: Sequence[Any], stream: int
        ) -> None:
            try:
                frame = free.pop()
            except IndexError:
                frame = make()
            pack(frame[0], 0, *arguments)
            where, address = stream or legacy, frame[1]
            answer = enqueue(function, *grid, *block, shared_bytes, where, address, 0)
            if answer[0]:
                launch = partial(enqueue, function, *grid, *block, shared_bytes)
                again(launch, where, address, answer)
            free.append(frame)

        return start

    def time(self, stream: int, launch: Callable[[], Any]) -> TimedTicket | None:
        return self._time(stream, launch)

    def part(self, memory: CudaMemory, start: int, nbytes: int) -> CudaPart:
        return CudaPart(memory, start, nbytes)

    def _taken(self, function: Any) -> tuple[Taken, ...] | None:
        """How many bytes a kernel takes at each place; outside of captures.

        A kernel without any looks like a driver that does not tell.
        """
        found = list[Taken]()
        while True:
            code, _, nbytes = self._context.driver.cuFuncGetParamInfo(function, len(found))
            if code:
                return tuple(found) or None
            found.append(Taken(nbytes=nbytes))

    def _made(self, text: Text) -> nvrtc.Cubin | Unbuilt:
        """The machine code of a text, kept under a name over everything that decides it."""
        name, kept = self._name(text), Binaries(self._folder)
        found = kept.get(name)
        if found is not None:
            lowered, _, image = found.partition(b"\n")
            return nvrtc.Cubin(image, lowered=lowered.decode())
        made = nvrtc.compile(text.source, self._given(text), text.entry)
        if isinstance(made, nvrtc.Cubin):
            kept.put(name, made.lowered.encode() + b"\n" + made.image)
        return made

    def _given(self, text: Text) -> tuple[str, ...]:
        return (f"--gpu-architecture={self._architecture}", *text.options)

    def _name(self, text: Text) -> str:
        parts = (*self._given(text), text.entry, text.included, text.source)
        return f"{name_of('text', nvrtc.version(), *parts)}.text"
