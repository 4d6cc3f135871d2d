"""The sides of one cell: launches that work and are right, and why others are not measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from gpu_cells import Cell, apart, results
from gpu_replay import CaptureFailed, Graph, fitted

Run = Callable[[], Any]


class Tainted(Exception):
    """This process can measure no more; a side broke it."""

    def __init__(self, side: str, why: str) -> None:
        super().__init__(side, why)
        self.side, self.why = side, why


class Sides:
    """What is compared in one cell: launches that work, and why others do not."""

    def __init__(self, cell: Cell, skipped: dict[str, str], over: Callable[[], bool]) -> None:
        self.cell, self.over = cell, over
        self.errors: dict[str, str] = dict(skipped)
        self.graphs: dict[str, Graph] = {}
        self.notes: dict[str, Any] = {}

    def attempt(self, side: str, task: Callable[[], Any]) -> Any:
        """What the task gives, or None with the reason kept.

        Raises:
            Tainted: it left the device or torch broken.
        """
        if side in self.errors:
            return None
        if self.over():
            self.errors[side] = "left out: the cell's time was over"
            return None
        began = time.monotonic()
        try:
            made = task()
            torch.cuda.synchronize()
        except Tainted:
            raise
        except CaptureFailed as error:
            raise Tainted(side, f"it cannot be captured: {error}") from error
        except Exception as error:  # noqa: BLE001  # whatever a peer does, the others are measured
            self.errors[side] = told(error)
            self.still_works(side, error)
            return None
        self.notes[f"{side} took_s"] = round(time.monotonic() - began, 2)
        return made

    def still_works(self, side: str, error: Exception) -> None:
        """See whether the device survived what a side did.

        Raises:
            Tainted: it did not.
        """
        try:
            torch.cuda.synchronize()
            torch.zeros(1, device="cuda").add_(1).item()
        except Exception:  # noqa: BLE001  # as above
            raise Tainted(side, told(error)) from error

    def add(self, side: str, run: Run, expected: Any, *, exact: bool) -> None:
        """Take a launch in, if what it computes is right."""

        def task() -> Graph:
            run()  # what is compiled or tuned by the first call is not part of any result
            off = apart(self.cell, expected, results(self.cell, run))
            self.notes[f"{side} off"] = round(off, 6)
            if off > (0.0 if exact else 1.0):
                raise AssertionError(f"its result is {off:.3g} of the allowed distance away")
            return fitted(run)

        graph = self.attempt(side, task)
        if graph is not None:
            self.graphs[side] = graph


def told(error: BaseException) -> str:
    """An error in one line that fits a record."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]
