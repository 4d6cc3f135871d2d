"""Growing or shrinking a workgroup from one window of live behaviour to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum
from random import Random

from vyre.errors import InvalidInput
from vyre.model import U32_MAX, Config, Failed, Outcome, Schedule, scheduled
from vyre.policy.base import NothingToTry, Ready
from vyre.policy.measured import is_time


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """The resize policy as one that is asked and told: each time of a width is a window.

    Args:
        widths: what it moves between, the narrowest first; other configs it knows nothing of.
        default: where it begins.
        elements: of a dispatch, which say how many a microsecond takes.
    """

    widths: tuple[Schedule, ...]
    default: Config
    elements: int
    policy: ResizePolicy | None = None  # made from the widths
    current: Config | None = None
    failed: frozenset[Config] = frozenset()

    def __post_init__(self) -> None:
        if self.policy is None and self.widths:
            first, last = self.widths[0].workgroup[0], self.widths[-1].workgroup[0]
            made = ResizePolicy(adapter_max_workgroup_size_x=last, minimum_workgroup_size_x=first)
            object.__setattr__(self, "policy", made)

    def ask(self, rng: Random, ready: Ready = None) -> Config:  # noqa: ARG002  # a Policy
        """The width that the windows so far ask for."""
        found = self.settled
        if found is None:
            raise NothingToTry.of("width of the space")
        return found

    @property
    def settled(self) -> Config | None:
        able = [one for one in (self.current, self.default, *self.widths) if one is not None]
        return next((one for one in able if one not in self.failed), None)

    def tell(self, outcome: Outcome) -> Resize:
        config = outcome.config
        if isinstance(outcome, Failed):
            known = config == self.default or config in self.widths
            return replace(self, failed=self.failed | {config}) if known else self
        if self.policy is None or config not in self.widths or config in self.failed:
            return self
        if not is_time(outcome.elapsed_ns) or not 0.0 <= outcome.idle_ns < math.inf:
            return self
        took_us, idle_us = outcome.elapsed_ns / 1e3, outcome.idle_ns / 1e3
        window = TunerFeedback(
            observed_workgroup_size_x=scheduled(config).workgroup[0],
            observed_throughput_per_us=self.elements / took_us,
            idle_us=round(idle_us),
            wall_time_us=max(round(took_us + idle_us), round(idle_us) + 1),
        )
        width, policy = self.policy.observe(window)
        current = config
        if width is not None:
            steps = [one for one in self.widths if one.workgroup[0] == width]
            current = next((one for one in steps if one not in self.failed), config)
        return replace(self, policy=policy, current=current)


DefaultPolicy = ResizePolicy
"""The name the Rust crate gives it."""
