"""The tuner under the names of the Rust crate: measures candidates and remembers the choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from statistics import median_low
from typing import Protocol

from vyre import settings
from vyre.errors import StoreFailed
from vyre.ir.program import Program
from vyre.model import Dim3, Limits, Mode
from vyre.plan.geometry import DEFAULT_1D_WORKGROUP_SIZE
from vyre.policy.natural import (
    NaturalGradientPolicy,
    NaturalGradientStep,
    TuningMeasurement,
    identity_fisher_q16,
)
from vyre.policy.seed_cold_start import WORKGROUP_CANDIDATES
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.files import safe_stem
from vyre.store.keys import TunerProgramKey
from vyre.store.notice import say_once


class BackendTimer(Protocol):
    """Runs a program once with a workgroup and says how long it took, in nanoseconds."""

    def measure_candidate_ns(self, program: Program, workgroup_size: Dim3) -> int: ...


class Tuner:
    """Choices of one adapter, in one file of the Rust crate's format.

    The file is read when the tuner is made. One that cannot be read counts as empty, which is said
    once, and is never overwritten: `persist` refuses.
    """

    def __init__(
        self, adapter: str, mode: Mode | None = None, *, cache_dir: Path | None = None
    ) -> None:
        """Open the choices of an adapter.

        Args:
            adapter: its name; any text, made safe for a file name.
            mode: that of `VYRE_AUTOTUNER` where it is not given.
            cache_dir: where the file is kept; the user's cache folder where it is not given.
        """
        self.mode = settings.load().mode if mode is None else mode
        self.cache_path = self.cache_path_for_adapter(adapter, cache_dir)
        try:
            self.cache = TunerCache.load(self.cache_path)
        except StoreFailed as error:
            say_once(error, "its choices are not used, and the file is left as it is")
            self.cache = TunerCache()

    @staticmethod
    def cache_path_for_adapter(adapter: str, cache_dir: Path | None = None) -> Path:
        """The file of an adapter's choices."""
        folder = settings.load().cache_dir if cache_dir is None else cache_dir
        return folder / "tuner" / f"{safe_stem(adapter)}.toml"

    @staticmethod
    def default_workgroup_size() -> Dim3:
        """What a program that declares nothing is launched with."""
        return DEFAULT_1D_WORKGROUP_SIZE

    def candidates_for(
        self, max_invocations: int, max_block: Dim3 | None = None
    ) -> tuple[int, ...]:
        """The widths worth trying on a device that allows so many invocations in a workgroup."""
        most = max_invocations if max_block is None else min(max_invocations, max_block[0])
        return tuple(width for width in WORKGROUP_CANDIDATES if width <= most)

    def resolve(
        self, program_fp: str, declared: Dim3 | None = None, limits: Limits | None = None
    ) -> Dim3:
        """The remembered workgroup, where the device can launch it, else the declared one."""
        found = self.cache.get(program_fp)
        if found is not None and (limits is None or _fits(found, limits)):
            return found
        return declared or self.default_workgroup_size()

    def resolve_key(
        self, key: TunerProgramKey, declared: Dim3 | None = None, limits: Limits | None = None
    ) -> Dim3:
        return self.resolve(key.text, declared, limits)

    def record_decision(self, program_fp: str, size: Dim3) -> None:
        """Remember a choice in this process; `persist` writes it."""
        self.cache.set(program_fp, size)

    def record_key_decision(self, key: TunerProgramKey, size: Dim3) -> None:
        self.cache.set_key(key, size)

    def best_of(
        self,
        program: Program,
        candidates: Iterable[Dim3],
        timer: BackendTimer,
        *,
        warmups: int = 0,
        repeats: int = 1,
    ) -> TuningMeasurement | None:
        """Measure candidates and return the fastest, the first of equals; None without any.

        An error of the timer ends the sweep and is the caller's. A time of 0 ns is no measurement.
        """
        measured = _measured(program, candidates, timer, warmups, repeats)
        return min(measured, key=lambda item: item.elapsed_ns, default=None)

    def best_of_natural_gradient(
        self,
        program: Program,
        candidates: Iterable[Dim3],
        timer: BackendTimer,
        fisher_inv_sqrt_q16: Sequence[int],
        policy: NaturalGradientPolicy | None = None,
    ) -> NaturalGradientStep:
        """Measure candidates and suggest the next one by natural gradient.

        Raises:
            NaturalGradientTuningError: nothing was measured, or the matrix does not fit.
        """
        measured = [
            TuningMeasurement(size, timer.measure_candidate_ns(program, size))
            for size in candidates
        ]
        return self.natural_gradient_step(measured, fisher_inv_sqrt_q16, policy)

    def natural_gradient_step(
        self,
        measurements: Sequence[TuningMeasurement],
        fisher_inv_sqrt_q16: Sequence[int],
        policy: NaturalGradientPolicy | None = None,
    ) -> NaturalGradientStep:
        """Suggest the next candidate from measurements."""
        return (policy or NaturalGradientPolicy()).suggest(measurements, fisher_inv_sqrt_q16)

    def choose(
        self,
        program: Program,
        key: TunerProgramKey,
        timer: BackendTimer,
        limits: Limits,
    ) -> Dim3:
        """The workgroup to launch, as the mode has it.

        `off` measures nothing. The others measure each width when a key is first seen and remember
        the fastest, `natural` what natural gradient suggests. The caller answers for the program's
        result being the same at every width.
        """
        declared = program.workgroup_size
        known = self.cache.get_key(key)
        if self.mode is Mode.OFF or (known is not None and _fits(known, limits)):
            return self.resolve_key(key, declared, limits)
        most = limits.max_threads or WORKGROUP_CANDIDATES[-1]
        widths = self.candidates_for(most, limits.max_block if limits.max_block[0] else None)
        measured = _measured(program, [(width, 1, 1) for width in widths], timer, 1, 3)
        if not measured:
            return declared
        if self.mode is Mode.NATURAL_GRADIENT:
            step = self.natural_gradient_step(measured, identity_fisher_q16(len(measured)))
            chosen = step.selected_workgroup_size
        else:
            chosen = min(measured, key=lambda item: item.elapsed_ns).workgroup_size
        self.record_key_decision(key, chosen)
        return chosen

    def persist(self) -> bool:
        """Write the choices to their file, joined with what it holds; mode `off` writes nothing.

        Raises:
            StoreFailed: the file cannot be written, or is not a tuner cache.
        """
        if self.mode is Mode.OFF:
            return False
        if not self.cache_path.is_absolute():
            raise StoreFailed(
                f"{self.cache_path} is not absolute, as if there were no home folder",
                "set HOME, or VYRE_CACHE_DIR to a folder",
            )
        self.cache.save(self.cache_path)
        return True


def _measured(
    program: Program, candidates: Iterable[Dim3], timer: BackendTimer, warmups: int, repeats: int
) -> list[TuningMeasurement]:
    """The low median of each candidate's times; one that was never timed is left out."""
    found = []
    for size in candidates:
        for _ in range(warmups):
            timer.measure_candidate_ns(program, size)
        times = [timer.measure_candidate_ns(program, size) for _ in range(repeats)]
        if times := [time for time in times if time > 0]:
            found.append(TuningMeasurement(size, median_low(times)))
    return found


def _fits(size: Dim3, limits: Limits) -> bool:
    sizes = (prod(size), *size)
    most = (limits.max_threads, *limits.max_block)
    return all(limit == 0 or value <= limit for value, limit in zip(sizes, most, strict=True))
