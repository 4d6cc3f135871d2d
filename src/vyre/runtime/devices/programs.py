"""Programs built by hand: where a launch cannot change their result, they are learned about."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vyre.backend.base import Array, Ticket
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.learn.decide import site_of
from vyre.learn.explain import Explanation
from vyre.learn.rules import rule
from vyre.learn.site import Site
from vyre.plan.config import DispatchConfig
from vyre.runtime.arrays.array import alignment_of
from vyre.runtime.compile.helper import helper_of
from vyre.runtime.devices.explain import explanation
from vyre.runtime.devices.keep import keep
from vyre.runtime.devices.launcher import Launcher, Numbers, Prepared
from vyre.runtime.devices.subject import call_of

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device

log = logging.getLogger("vyre.calls")

MOST_KEPT = 1024
"""Programs and sites that are kept; a stream of ever-new ones starts anew there."""

_OVERRIDES = ("workgroup_override", "grid_override", "dispatch_grid", "fixpoint_iterations")


@dataclass(frozen=True, slots=True)
class HandBuilt:
    """A program as something that is launched: it has no name but its fingerprint's."""

    program: Program

    @property
    def name(self) -> str:
        return f"program {self.program.fingerprint().hex()[:12]}"

    @property
    def declared_workgroup(self) -> Dim3:
        return self.program.workgroup_size


class Programs:
    """The dispatches of hand-built programs on one device, each decided at a site."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._launchers: dict[bytes, Launcher] = {}
        self._sites: dict[tuple[object, ...], Site] = {}
        self._free: dict[tuple[object, ...], bool] = {}  # what is proved of a dispatch, found once

    def run(
        self, program: Program, config: DispatchConfig, n: int, arrays: Mapping[str, Array]
    ) -> bool:
        """Launch once over `n` elements, as is known best, and wait for the result.

        False, and nothing is launched, where that is not up to us: the caller insists on something,
        or the result might change.
        """
        given = any(getattr(config, name) is not None for name in _OVERRIDES)
        if given or n == 0 or not self._device.backend.compiles:
            return False
        numbers = _numbers(program, n, arrays)
        name, sizes = program.fingerprint(), numbers.shapes.values()
        what = (name, numbers.extent, *sizes, *numbers.scalars.values())
        free = self._free.get(what)
        if free is None:
            free = self._device.facts(program).free_for(numbers)
            keep(self._free, what, free, MOST_KEPT)
        if free:
            self._run(self._site(program, numbers, what, arrays), program, arrays, config.label)
        return free

    def _run(
        self, site: Site, program: Program, arrays: Mapping[str, Array], label: str | None
    ) -> None:
        step, asked = site.take()
        if label is not None:
            name = self._device.name
            log.debug("%s: grid %s of %s on %s", label, step.grid, step.workgroup, name)

        def launch(step: Prepared, *, timed: bool) -> Ticket:
            return self._device.run(
                step.binary, step.grid, step.workgroup, arrays, program, step.words, timed=timed
            )

        site.run(step, asked, launch)

    def explain(self, program: Program) -> Explanation:
        """What is proved of a program that was dispatched here, how it runs, and why."""
        wanted = program.fingerprint()
        known = tuple(self._sites.copy().items())  # other threads may be dispatching
        sites = [site for key, site in known if key[1] == wanted]
        return explanation(HandBuilt(program).name, self._device.facts(program), sites)

    def _site(
        self,
        program: Program,
        numbers: Numbers,
        what: tuple[object, ...],
        arrays: Mapping[str, Array],
    ) -> Site:
        by, name = rule(), program.fingerprint()
        alignment = {one: alignment_of(arrays[one]) for one in numbers.shapes}
        key = (by, *what, *alignment.values())
        site = self._sites.get(key)
        if site is None:
            launcher = self._launchers.get(name)
            if launcher is None:
                launcher = Launcher(HandBuilt(program), self._device)
                keep(self._launchers, name, launcher, MOST_KEPT)
            site = site_of(call_of(launcher, numbers, alignment, helper_of(self._device)), by)
            keep(self._sites, key, site, MOST_KEPT)
        return site


def _numbers(program: Program, n: int, arrays: Mapping[str, Array]) -> Numbers:
    """The numbers of a dispatch over `n` elements of these arrays."""
    held = [decl for decl in program.buffers if decl.name in arrays]
    return Numbers(
        (n, 1, 1),
        {
            decl.name: tuple(decl.shape) if decl.rank > 1 else (arrays[decl.name].size,)
            for decl in held
            if not decl.is_scalar_argument
        },
        {
            decl.name: int(arrays[decl.name].reshape(-1)[0])
            for decl in held
            if decl.is_scalar_argument and decl.element.is_int
        },
    )
