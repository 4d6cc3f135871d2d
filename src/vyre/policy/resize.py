"""Growing or shrinking a workgroup from one window of live behaviour to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum

from vyre.errors import InvalidInput
from vyre.model import U32_MAX


class Direction(IntEnum):
    """Which way the width moved; the opposite is the negative."""

    SHRINK = -1
    STAY = 0
    GROW = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TunerFeedback:
    """What one window of dispatches looked like."""

    observed_workgroup_size_x: int
    observed_throughput_per_us: float
    idle_us: int
    wall_time_us: int = 0
    per_opcode_counts: tuple[tuple[int, int], ...] = ()  # opcode, times executed

    def __post_init__(self) -> None:
        if min(self.observed_workgroup_size_x, self.idle_us, self.wall_time_us) < 0:
            raise InvalidInput(f"{self} has a size or time below 0", "give sizes and times from 0")

    @property
    def anything_ran(self) -> bool:
        """Whether the window saw work: opcodes if they were counted, else time beside the idle."""
        if self.per_opcode_counts:
            return any(count > 0 for _, count in self.per_opcode_counts)
        return self.wall_time_us > self.idle_us


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizePolicy:
    """Halves a workgroup that idles, doubles one that does not saturate.

    `suggest_resize` judges one window alone, as the Rust crate does, and can be led back and forth.
    `observe` remembers: turning round takes `patience` windows in a row that ask for it, and twice
    as many each time, so that n windows turn it round at most log2(n + 2) - 1 times.

    >>> idle = TunerFeedback(
    ...     observed_workgroup_size_x=256, observed_throughput_per_us=2.0, idle_us=100_001
    ... )
    >>> ResizePolicy().suggest_resize(idle)
    128
    """

    adapter_max_workgroup_size_x: int = 1024
    minimum_workgroup_size_x: int = 32
    saturation_threshold_per_us: float = 1.0
    idle_shrink_us: int = 100_000
    heading: Direction = Direction.STAY  # of the last suggestion `observe` gave
    against: int = 0  # windows in a row that asked for the opposite
    patience: int = 2  # how many of those turn it round

    def __post_init__(self) -> None:
        if not 1 <= self.minimum_workgroup_size_x <= self.adapter_max_workgroup_size_x <= U32_MAX:
            raise InvalidInput(
                f"widths from {self.minimum_workgroup_size_x}"
                f" to {self.adapter_max_workgroup_size_x}",
                "give a minimum of at least 1 and a maximum from there to 2**32 - 1",
            )
        if self.idle_shrink_us < 0 or math.isnan(self.saturation_threshold_per_us):
            raise InvalidInput(
                f"thresholds of {self.idle_shrink_us} us idle"
                f" and {self.saturation_threshold_per_us} per us",
                "give an idle time from 0 and a throughput that is a number",
            )
        if self.patience < 2 or self.against < 0:
            raise InvalidInput(
                f"a patience of {self.patience} windows, {self.against} of them seen",
                "give a patience of at least 2: with 1, alternating windows would oscillate",
            )

    def suggest_resize(self, feedback: TunerFeedback) -> int | None:
        """Return the width this window alone asks for, or None to stay.

        Bit for bit the crate's: any width is halved or doubled, whatever its form, and the wall
        time and opcode counts are not looked at.
        """
        current = max(feedback.observed_workgroup_size_x, 1)
        wish = self._wish(feedback)
        if wish is Direction.SHRINK and current // 2 >= self.minimum_workgroup_size_x:
            return current // 2
        if wish is Direction.GROW and current * 2 <= self.adapter_max_workgroup_size_x:
            return current * 2
        return None

    def observe(self, feedback: TunerFeedback) -> tuple[int | None, ResizePolicy]:
        """Return the width to use next, or None to stay, and the policy that remembers this window.

        Moves between powers of two. A window in which nothing ran says nothing of the width and
        is passed over.
        """
        if not feedback.anything_ran:
            return None, self
        wish = self._wish(feedback)
        width = self._next_power_of_two(feedback.observed_workgroup_size_x, wish)
        if width is None:
            return None, replace(self, against=0)
        if wish != -self.heading:
            return width, replace(self, heading=wish, against=0)
        if self.against + 1 < self.patience:
            return None, replace(self, against=self.against + 1)
        return width, replace(self, heading=wish, against=0, patience=2 * self.patience)

    def _wish(self, feedback: TunerFeedback) -> Direction:
        if feedback.idle_us > self.idle_shrink_us:
            return Direction.SHRINK
        if feedback.observed_throughput_per_us < self.saturation_threshold_per_us:
            return Direction.GROW
        return Direction.STAY  # also where the throughput is not a number

    def _next_power_of_two(self, width: int, direction: Direction) -> int | None:
        current = max(width, 1)
        halved, doubled = 1 << (current - 1).bit_length() >> 1, 1 << current.bit_length()
        if direction is Direction.SHRINK and halved >= self.minimum_workgroup_size_x:
            return halved
        if direction is Direction.GROW and doubled <= self.adapter_max_workgroup_size_x:
            return doubled
        return None


DefaultPolicy = ResizePolicy
"""The name the Rust crate gives it."""
