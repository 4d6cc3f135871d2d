"""A run of a kernel on copies, in the process that may die of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vyre.adapter.trial.portable import ran, unpacked
from vyre.adapter.triton.compile import on
from vyre.adapter.triton.launch import launched
from vyre.model import Knobs


def runs(kernel: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Sequence[Any]], list[Any]]:
    """What launches a kernel under a config as Triton does, and gives the tensors it left."""
    function, configs, sets, grid, device = unpacked(kernel)

    def run(settings: Mapping[str, Any], arguments: Sequence[Any]) -> list[Any]:
        knobs = Knobs.of(settings)
        launch = functools.partial(_launch, function, configs[knobs], sets[knobs], grid)
        return on(device, lambda: ran(launch, arguments[0]))

    return run


def _launch(*call: Any, **kwargs: Any) -> None:
    launched(*call, **kwargs)  # the kernel that it gives is no result
