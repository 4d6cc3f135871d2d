"""How calls of one kind of a template are launched under each configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vyre.adapter.kind import Job, Portable, Start
from vyre.adapter.places import sooner
from vyre.adapter.template.arguments import Bound, Described, types_in
from vyre.adapter.template.compiling import job_of, portable_of
from vyre.adapter.template.recipe import Recipe, launch_of, loaded, refuse_unfit, rehearsal_of
from vyre.adapter.template.sizes import Launch, Size
from vyre.adapter.trial.around import BESIDE
from vyre.adapter.trial.copying import refuse_to_copy_much
from vyre.backend.base import LoadedText, Text, Texts, Ticket
from vyre.errors import DeviceFailed
from vyre.learn.pace import Pace
from vyre.model import Clocks, DeviceInfo, Knobs
from vyre.runtime.devices.device import Device

Loaded = dict[tuple[str, Text], LoadedText]
"""What was loaded, by device and text."""

_MOST_SIZES = 4096
"""Sizes of a problem whose launches are kept; a stream of ever-new ones forgets all."""


@dataclass(frozen=True, slots=True)
class OnTexts:
    """A device where kernels of others are launched from their source."""

    device: Device
    texts: Texts

    @property
    def info(self) -> DeviceInfo:
        return self.device.info

    @property
    def pace(self) -> Pace:
        backend = self.device.backend
        return sooner(Pace.beside(backend.info, backend.unfelt_ns, backend.shortest_ns))

    def prepare(self) -> bool:
        return self.device.backend.prepare_timing()

    def time(self, stream: int, launch: Callable[[], object]) -> Ticket | None:
        return self.texts.time(stream, launch)

    def is_capturing(self, stream: int) -> bool:
        return self.device.backend.is_capturing(stream)

    def clocks(self) -> Clocks | None:
        return self.device.backend.clocks()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The configurations of calls that are like a first one.

    Args:
        recipe: what is compiled.
        place: where.
        size: of the first call's problem.
        said: its arguments, without their memory.
        loaded: what kinds of calls share that are launched from the same text.
    """

    recipe: Recipe
    place: OnTexts
    size: Size | None
    said: Described
    loaded: Loaded
    starts: dict[Knobs, LoadedText] = field(default_factory=dict)

    def is_ready(self, config: Knobs) -> bool:
        """Whether it is loaded: what is only kept on disk is loaded beside the calls, too."""
        return config in self.starts

    def job(self, config: Knobs) -> Job:
        launch = self._launch(config)
        rehearsal = rehearsal_of(launch, self.recipe, self.said)
        return job_of(self.place.device, self.recipe, dict(config.settings), launch, rehearsal)

    def make(self, config: Knobs) -> Start:
        """What launches it, loaded, and compiled where no other process has done that."""
        recipe, settings, launch = self.recipe, dict(config.settings), self._launch(config)
        key = self.place.device.name, recipe.text(settings, launch)
        found = self.loaded.get(key)
        rehearsal = rehearsal_of(launch, recipe, self.said)
        if found is None:
            found = loaded(self.place.texts, recipe, settings, launch, rehearsal)
            found = self.loaded.setdefault(key, found)
        refuse_unfit(found, recipe, rehearsal)
        self.starts[config] = found
        enqueue = self.place.texts.bind(found, types_in(self.said))
        launches: dict[Size | None, Launch] = {}
        local_at = recipe.local_at

        def start(bound: Sequence[Any], stream: int) -> Any:
            size, values, _ = bound
            launch = launches.get(size)
            if launch is None:
                if len(launches) >= _MOST_SIZES:
                    launches.clear()
                launch = launches[size] = self._allowed(config, size, found)
            if local_at is not None:
                values = recipe.whole(values, launch)
            return enqueue(launch.grid, launch.block, launch.shared_bytes, values, stream)

        return start

    def portable(self, arguments: Sequence[Any]) -> Portable:
        refuse_to_copy_much(arguments[2], "check=", BESIDE)
        return portable_of(self.place.device, self.recipe, Bound(*arguments))

    def _launch(self, config: Knobs) -> Launch:
        return launch_of(self.recipe, dict(config.settings), self.size)

    def _allowed(self, config: Knobs, size: Size | None, found: LoadedText) -> Launch:
        """The launch of a size that the device can make.

        Raises:
            DeviceFailed: it cannot.
        """
        launch = launch_of(self.recipe, dict(config.settings), size)
        why = launch.refusal(self.place.info.limits, found.group_bytes)
        if 0 in launch.grid:  # and the default has something to do: this would be the fastest
            why = f"grid {launch.grid} does nothing"
        if why is not None:
            raise DeviceFailed(
                f"{self.recipe.name}: {why}", "split the problem, or restrict the parameters"
            )
        return launch
