"""What two versions of the Rust crate compute differently; everything else is the same in both.

0.4.1 saturates where 0.6.3 counts on, and reads files and words that 0.6.3 takes otherwise. The
methods of the values are those of 0.6.3.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from vyre.errors import InvalidInput
from vyre.model import U32_MAX, Mode
from vyre.plan.counter_tail import SpeculationReport
from vyre.policy.resize import ResizePolicy, TunerFeedback
from vyre.seed.variants import VariantKind, VariantRace
from vyre.store.exchange.text import MOST_BYTES
from vyre.store.exchange.tuner_cache import TunerCache

Version = Literal["0.4.1", "0.6.3"]
"""The versions of the crate that compute something differently."""

_U64_MAX, _U128_MAX = (1 << 64) - 1, (1 << 128) - 1


def suggest_resize(
    policy: ResizePolicy, feedback: TunerFeedback, *, version: Version = "0.6.3"
) -> int | None:
    """The width that a window asks for, or None to stay.

    Doubling a width beyond 32 bits is no width in 0.6.3, and the largest of them in 0.4.1.

    >>> policy = ResizePolicy(adapter_max_workgroup_size_x=2**32 - 1)
    >>> slow = TunerFeedback(
    ...     observed_workgroup_size_x=2**31, observed_throughput_per_us=0.5, idle_us=0
    ... )
    >>> suggest_resize(policy, slow), suggest_resize(policy, slow, version="0.4.1")
    (None, 4294967295)
    """
    found = policy.suggest_resize(feedback)
    width = feedback.observed_workgroup_size_x
    if (
        _is_old(version)
        and found is None
        and U32_MAX // 2 < width < U32_MAX <= policy.adapter_max_workgroup_size_x
        and feedback.idle_us <= policy.idle_shrink_us
        and feedback.observed_throughput_per_us < policy.saturation_threshold_per_us
    ):
        return U32_MAX
    return found


def mode_from_env_value(value: str | None, *, version: Version = "0.6.3") -> Mode:
    """What the crate takes a value of `VYRE_AUTOTUNER` for; None where it is not set.

    It takes anything for some mode: 0.6.3 what it does not know for natural gradient, 0.4.1 for
    off. Vyre itself refuses it.

    >>> mode_from_env_value("OFF").value, mode_from_env_value("OFF", version="0.4.1").value
    ('natural', 'off')
    """
    if value == "on":
        return Mode.ON
    if _is_old(version) or value in ("off", "default"):
        return Mode.OFF
    return Mode.NATURAL_GRADIENT


def counted(report: SpeculationReport, *, version: Version = "0.6.3") -> SpeculationReport:
    """The report as the crate counts it: what follows from it is what that version computes.

    0.4.1 adds up to 32 bits at most, so that it has fewer rolled back where there are more.

    >>> half = SpeculationReport(2**32 - 1, 2**32 - 1)
    >>> counted(half).commit_rate_ppm, counted(half, version="0.4.1").commit_rate_ppm
    (500000, 1000000)
    """
    if not _is_old(version):
        return report
    most = U32_MAX - report.committed_tiles
    return SpeculationReport(report.committed_tiles, min(report.rolled_back_tiles, most))


def variant_winner(race: VariantRace, *, version: Version = "0.6.3") -> tuple[VariantKind, int]:
    """The winner of a single pair as the crate decides it, and the nanoseconds that it saves.

    Compiling counts whole, a tie goes to the conservative side, and 0.4.1 adds up to 64 bits at
    most, where differences vanish. `VariantRace.winner` wants more than one pair.

    Raises:
        InvalidInput: the race has more than one pair, or compiling serves more than one dispatch.
    """
    pairs = len(race.conservative_dispatch_ns)
    if pairs != 1 or race.serves != 1:
        raise InvalidInput(
            f"a race of {pairs} pairs whose compiling serves {race.serves} dispatches, "
            "and the crate decides on one of each",
            "give a race of one pair with serves=1, or use its winner",
        )
    most = _U64_MAX if _is_old(version) else _U128_MAX
    conservative = min(race.conservative_compile_ns + race.conservative_dispatch_ns[0], most)
    speculative = min(race.speculative_compile_ns + race.speculative_dispatch_ns[0], most)
    faster = speculative < conservative
    winner = VariantKind.SPECULATIVE if faster else VariantKind.CONSERVATIVE
    return winner, abs(conservative - speculative)


def load_cache(path: Path, *, version: Version = "0.6.3") -> TunerCache:
    """Read a tuner cache: of any length with 0.4.1, of at most 4 MiB with 0.6.3.

    Where 0.6.3 would take a longer file for none and overwrite it, it is an error here.

    Raises:
        StoreFailed: the file is there and cannot be read.
    """
    most = MOST_BYTES
    if _is_old(version):
        with suppress(OSError):  # which loading it tells in words
            most = max(most, path.stat().st_size)
    return TunerCache.load(path, most_bytes=most)


def _is_old(version: str) -> bool:
    known: tuple[str, ...] = get_args(Version)
    if version not in known:
        raise InvalidInput(
            f"version {version!r} of the Rust crate; known: {', '.join(known)}",
            f'use version="{known[-1]}"',
        )
    return version == known[0]
