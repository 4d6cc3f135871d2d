"""Which points lie within a radius of a query: a distance in 8 bits before the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vyre.errors import InvalidInput
from vyre.kernels.distances import nearby
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.devices.device import Device

STEPS = 127
"""Steps to either side of 0 that a coarse coordinate has."""

MOST_AXES = 30_000
"""Axes over which the square of the largest coarse distance stays within 32 bits."""

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The points within the radius, by rising index."""

    indices: NDArray[np.int64]
    squared: NDArray[np.float32]  # distances


class PointSet:
    """Points kept with a copy in 8 bits, to be asked many times.

    >>> points = PointSet([[0.0, 0.0], [3.0, 4.0], [9.0, 9.0]])
    >>> points.within([0.0, 0.0], 5.0).indices.tolist()
    [0, 1]
    """

    def __init__(self, points: ArrayLike, *, device: Device | None = None) -> None:
        exact = np.ascontiguousarray(points, np.float32)
        if exact.ndim != 2 or not exact.shape[1] or not np.isfinite(exact).all():
            raise InvalidInput(
                f"points of shape {exact.shape}"
                + ("" if np.isfinite(exact).all() else ", some of them not finite"),
                "give an array of finite numbers, a row for each point",
            )
        if exact.shape[1] > MOST_AXES:
            raise InvalidInput(
                f"points of {exact.shape[1]} axes; {MOST_AXES} allowed", "split the axes"
            )
        self._step = float(np.abs(exact).max(initial=0.0)) / STEPS or 1.0
        self._device = device
        self._points = self._placed(exact)
        self._coarse = self._placed(self._in_steps(exact))

    def within(
        self, query: ArrayLike, radius: float, *, way: Way | str | None = None
    ) -> Neighbours:
        """The points at most `radius` away from `query`, distances computed in f32.

        Raises:
            InvalidInput: the query has other axes than the points, or is not finite.
        """
        exact = np.ascontiguousarray(query, np.float32)
        axes = self._points.shape[1]
        if exact.shape != (axes,) or not np.isfinite(exact).all():
            raise InvalidInput(f"query {exact}", f"give {axes} finite numbers")
        if not (isfinite(radius) and radius >= 0):
            raise InvalidInput(f"a radius of {radius}", "give a finite number of at least 0")
        squared_radius = float(np.float32(min(radius * radius, _LARGEST)))
        near, squared = nearby(
            self._coarse,
            self._placed(self._in_steps(exact)),
            self._points,
            self._placed(exact),
            most=self._coarse_limit(squared_radius),
            squared_radius=squared_radius,
            way=way,
        )
        indices = np.flatnonzero(np.asarray(near))
        return Neighbours(indices, np.asarray(squared)[indices])

    def _coarse_limit(self, squared_radius: float) -> int:
        """The largest coarse distance of a point that may still be near.

        A sum in f32 of n squares may come out too small by a part of n * 2**-23 or so, and by what
        is lost to subnormals.
        """
        axes = self._points.shape[1]
        rounding = 1 + (axes + 8) * 2.0**-22
        lost = axes * 2.0**-126
        most = (squared_radius * rounding + lost) / self._step**2
        return floor(min(most, 2.0**31 - 2)) + 1

    def _in_steps(self, values: NDArray[np.float32]) -> NDArray[np.int8]:
        """Coordinates in whole steps; a query outside the points' range moves nearer to all."""
        steps = np.rint(values.astype(np.float64) / self._step)
        return np.clip(steps, -STEPS, STEPS).astype(np.int8)

    def _placed(self, array: NDArray[Any]) -> NDArray[Any] | DeviceArray:
        return array if self._device is None else self._device.array(array)
