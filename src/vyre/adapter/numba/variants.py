"""How a kernel of Numba's is launched under each block."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import cloudpickle
import numba.cuda as cuda

from vyre.adapter import grids
from vyre.adapter.blocks import Shape
from vyre.adapter.failure import Raised
from vyre.adapter.grids import Launch
from vyre.adapter.kept import make_room
from vyre.adapter.kind import Job, Portable, Start
from vyre.adapter.numba import device
from vyre.adapter.numba.arrays import (
    address_of,
    form_of,
    is_array,
    is_copied,
    on_host,
    refuse_strided,
)
from vyre.adapter.numba.device import options_of
from vyre.adapter.trial import copying
from vyre.adapter.trial.around import BESIDE, Given, lies_at, surrounded
from vyre.adapter.trial.together import taken_together
from vyre.adapter.trial.trials import pickled
from vyre.model import Knobs

DRIVERS = Knobs.of({"block": "driver"})
"""What `forall` launches where nobody says how many threads: what the driver thinks best."""

_numbers = count()
_MOST_FOUND = 256  # launches of one configuration with other blocks, and of other sizes

_REFUSED = ("CUDAError", "CudaAPIError")
"""By name, because they are the bindings' own: what says that a launch could not be made."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a kernel is launched under each block: Numba has it compiled for all of them."""

    kernel: Any
    launch: Launch
    shared_bytes: int
    able: frozenset[Knobs]
    covers: bool  # launches of other sizes as well

    def is_ready(self, config: Knobs) -> bool:  # noqa: ARG002  # all are
        return True

    def job(self, config: Knobs) -> Job | None:  # noqa: ARG002  # all are ready
        return None

    def make(self, config: Knobs) -> Start:
        self.launch.refuse_others(config, self.able)
        block, grid = self._shapes(config)
        if not self.covers:
            return Under(lambda launching, _: launching.under(block, grid))
        if block == self.launch.width:
            return Under(lambda launching, _: launching.as_written())
        covering = grids.Covering(self.launch, block)
        return Under(
            lambda launching, args: launching.under(block, launching.covering(covering, args))
        )

    def _shapes(self, config: Knobs) -> tuple[Shape, Shape]:
        if config == DRIVERS:
            return (), ()
        block = self.launch.block(config)
        return block, self.launch.under(block)

    def portable(self, arguments: Sequence[Any]) -> Portable:
        """The function with how it is compiled, and its arrays as NumPy's."""
        _, args, _ = arguments
        copying.refuse_to_copy_much(args, "check=", BESIDE)
        arrays = [number for number, one in enumerate(args) if is_array(one)]
        for number in arrays:
            refuse_strided(number, args[number])
        whole = (self.kernel.py_func, options_of(self.kernel))
        taken = {
            "kernel": base64.b64encode(pickled(whole)).decode(),
            "device": device.current(),
            **self.launch.value(),
            "shared": self.shared_bytes,
            "arrays": [[number, lies_at(address_of(args[number]))] for number in arrays],
        }
        hosts = [on_host(one) if is_array(one) else one for one in args]
        # Arrays of the host have memory of their own where a launch takes them.
        there = [n for n in arrays if hosts[n].size and not is_copied(args[n])]
        forms = {n: form_of(args[n], hosts[n]) for n in there}
        return Portable(
            entry="vyre.adapter.numba.variants:runs",
            kernel=taken,
            arguments=taken_together(hosts, forms, dict(taken["arrays"])),
            names=tuple(f"argument {number}" for number in arrays),
        )


class Under:
    """What launches a kernel under one block, found once for a launch and a size that is stated."""

    __slots__ = ("_find", "_number")

    def __init__(self, find: Callable[[Any, tuple[Any, ...]], Callable[..., Any]]) -> None:
        """Launch what is found for a launch and its arguments."""
        self._find, self._number = find, next(_numbers)

    def __call__(self, arguments: Sequence[Any], stream: int) -> Any:
        del stream  # a launch has its own
        launching, args, stated = arguments
        try:
            return self.found(launching, args, stated)(*args)
        except Exception as error:
            if is_refused(error):
                raise Raised(error) from error
            raise

    def found(self, launching: Any, args: tuple[Any, ...], stated: Any) -> Callable[..., Any]:
        """What launches it with arguments."""
        key = self._number, stated
        found: Callable[..., Any] | None = launching.found.get(key)
        if found is None:
            found = self._find(launching, args)
            make_room(launching.found, _MOST_FOUND)
            launching.found[key] = found
        return found


def is_refused(error: Exception) -> bool:
    """Whether it says that a launch could not be made."""
    return type(error).__name__ in _REFUSED


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What runs a kernel on copies of its arrays, in the process that may die."""
    function, options = cloudpickle.loads(base64.b64decode(kernel["kernel"]))
    cuda.select_device(kernel["device"])
    made = cuda.jit(**options)(function)
    launch = Launch.told(kernel)
    lies = dict(kernel["arrays"])
    surround = partial(surrounded, to_device=cuda.to_device, to_host=_to_host)

    def run(settings: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
        given = Given.of(values, lies, surround, cuda.to_device)
        config = Knobs.of(settings)
        if config == DRIVERS:
            made.forall(launch.size[0], 0, 0, kernel["shared"])(*given.values)
        else:
            block = launch.block(config)
            made[launch.under(block), block, 0, kernel["shared"]](*given.values)
        cuda.synchronize()
        return [*(_to_host(given.values[number]) for number in lies), *given.beside()]

    return run


def _to_host(array: Any) -> Any:
    return array.copy_to_host()
