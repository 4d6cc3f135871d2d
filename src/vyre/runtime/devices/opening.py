"""How calls of a program begin: which codes are built first, and what of them is launched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import gcd, inf, log2, prod
from typing import TYPE_CHECKING

from vyre.backend.base import Unbuilt
from vyre.errors import VyreError
from vyre.learn.inheritance import Known, nearby
from vyre.learn.subject import Opening
from vyre.model import Code, DeviceKind, Reason, Schedule, Workload
from vyre.plan.guess import Guess, risk
from vyre.plan.space import Space
from vyre.policy.natural_live import NaturalGradient
from vyre.policy.provisional import default_fits, times_slower
from vyre.runtime.devices.launcher import Launcher, Numbers

if TYPE_CHECKING:
    from vyre.runtime.devices.device import Device

_NEAR = 0.2  # log time by which a runner-up may be expected to be slower than the guess
_SIZES = 1 << 14, 1 << 18, 1 << 22, 1 << 24  # elements of calls that ask for different codes
_SERVED = 0.02  # log time by which what is built may be slower than the best at another size
_WHOLE = 1024  # elements that are whole tiles of any usual code
_TURNS = 8  # of guess and default on a processor: the first one also loads, and says little
_TIMED, _SPREAD = 4, 0.08  # runners-up that the first calls time, and how much slower they may be


def opening_of(
    launcher: Launcher,
    numbers: Numbers,
    alignment: Mapping[str, int],
    workload: Workload,
    neighbours: Iterable[Known],
) -> Opening | None:
    """How calls of such a size begin: on the best guess among what is loaded.

    In a program's first call nothing is, so that the guess, the default and a few runners-up are
    built first; no later call waits for a compiler. None where nobody expects times, or where not
    even the default could be built, which the call itself then tells.
    """
    device = launcher.device
    if device.backend.compiles_per_workgroup:
        return None
    if not launcher.loaded:
        space = launcher.space(numbers, alignment)
        first = launcher.guess(space, numbers)
        if not first.expected:
            return None
        built = [
            (launcher.program, code)
            for code in first_codes(first, space, launcher, numbers, alignment)
        ]
        if all(isinstance(one, Unbuilt) for one in device.binaries(built)):
            return None
    space = launcher.space(numbers, alignment, among=launcher.loaded)
    return _opening(launcher, space, launcher.guess(space, numbers), workload, neighbours)


def first_codes(
    first: Guess, space: Space, launcher: Launcher, numbers: Numbers, alignment: Mapping[str, int]
) -> list[Code]:
    """The guess's code, the default's, and the best of others, each once, as many as are built.

    One of them checks its bounds wherever that can be asked for, and some are good at quite other
    sizes, so that no size has to wait or to do with what is bad for it.
    """
    usual, most = space.default.code, launcher.device.backend.builds_first
    codes = dict.fromkeys([first.ordered[0].code, usual])
    if not usual.checked:
        codes[Code(checked=True) if launcher.device.info.simd is None else _checked(usual)] = None
    if len(codes) < most:
        others = _guesses_elsewhere(launcher, numbers, alignment)
        while len(codes) < most and (missed := _worst_served(others, codes)) is not None:
            codes[missed] = None
    for schedule, expected in zip(first.ordered, first.expected, strict=True):
        if len(codes) >= most or expected > first.expected[0] + _NEAR:
            break
        codes[schedule.code] = None
    return list(codes)[:most]


def _guesses_elsewhere(
    launcher: Launcher, numbers: Numbers, alignment: Mapping[str, int]
) -> list[Guess]:
    """What is guessed of quite other sizes, as far as they can be launched and are guessed."""
    found = []
    for far in at_other_sizes(numbers):
        with suppress(VyreError):
            found.append(launcher.guess(launcher.space(far, alignment), far))
    return [one for one in found if one.expected]


def _worst_served(guesses: Iterable[Guess], codes: Collection[Code]) -> Code | None:
    """The best code where some codes are expected to lose most; None where they serve all."""
    missed, worst = None, _SERVED
    for one in guesses:
        times = zip(one.ordered, one.expected, strict=True)
        served = next((at for schedule, at in times if schedule.code in codes), inf)
        if served - one.expected[0] > worst:
            missed, worst = one.ordered[0].code, served - one.expected[0]
    return missed


def at_other_sizes(numbers: Numbers) -> tuple[Numbers, ...]:
    """The numbers of calls over many more or many fewer elements, the furthest first.

    >>> [far.shapes["x"] for far in at_other_sizes(Numbers((4096, 1, 1), {"x": (4096,)}, {}))]
    [(16777216,), (4194304,), (262144,)]
    """
    total = max(prod(numbers.extent), 1)
    by_distance = sorted(_SIZES, key=lambda size: -abs(log2(size / total)))
    return tuple(_scaled(numbers, wanted / total) for wanted in by_distance[:-1])


def _scaled(numbers: Numbers, by: float) -> Numbers:
    """The numbers of a call over so many times the elements, whose tiles are as whole as these."""
    axes = [axis for axis in range(3) if numbers.extent[axis] > 1] or [0]
    factor = by ** (1 / len(axes))
    x, y, z = (
        _like(size, size * factor) if axis in axes else size
        for axis, size in enumerate(numbers.extent)
    )
    sizes = {
        **dict(zip(numbers.extent, (x, y, z), strict=True)),
        prod(numbers.extent): x * y * z,
        1: 1,
    }
    shapes = {
        name: tuple(sizes.get(size, size) for size in shape)
        for name, shape in numbers.shapes.items()
    }
    return Numbers((x, y, z), shapes, numbers.scalars)


def _like(size: int, wanted: float) -> int:
    """About so many as wanted, that vectors and tiles divide where they divide a size.

    >>> _like(4096, 250_000), _like(1000, 250_000), _like(999, 250_000)
    (249856, 250008, 250001)
    """
    whole = gcd(size, _WHOLE)
    times = max(round(wanted / whole), 1)
    return whole * (times if whole == _WHOLE else times | 1)


def _checked(code: Code) -> Code:
    return replace(code, checked=True)


def _opening(
    launcher: Launcher,
    space: Space,
    guessed: Guess,
    workload: Workload,
    neighbours: Iterable[Known],
) -> Opening | None:
    if not guessed.expected:
        return None
    loaded, device = launcher.loaded, launcher.device
    expected = {
        one: at
        for one, at in zip(guessed.ordered, guessed.expected, strict=True)
        if one.code in loaded
    }
    if not expected:
        return None
    best, why, reason = next(iter(expected)), "the best guess", Reason.COLD_START
    known = nearby(workload, space.default, frozenset(guessed.ordered), neighbours)
    if known:
        policy = NaturalGradient(
            space=guessed.ordered,
            default=space.default,
            expected=guessed.expected,
            remembered=known,
        )
        mask = policy.mask(expected.keys())
        chosen = policy.incumbent(mask).config
        assert isinstance(chosen, Schedule)
        best, why = chosen, "the best guess, by other sizes or programs"
        reason = Reason.TRANSFERRED
    same = best == space.default
    beside = "it is the default" if same else "the default is timed beside it"
    return Opening(
        config=best,
        detail=f"{why} of {len(guessed.ordered)}{_corrected(launcher)}; {beside}",
        reason=reason,
        risk=risk(device.info, -expected[best], reduces=launcher.facts.alone is not None),
        timed=_timed(device, best, expected, space.default),
        default_ready=space.default in expected,
    )


def _corrected(launcher: Launcher) -> str:
    correction = launcher.device.correction
    if correction is None:
        return ""
    return f", corrected by {correction.kernels} kernel{'s' * (correction.kernels != 1)}"


def _timed(
    device: Device, best: Schedule, expected: Mapping[Schedule, float], default: Schedule
) -> tuple[Schedule, ...]:
    """What the first calls launch to be timed."""
    if device.info.kind is DeviceKind.CPU:
        return timed_in_turns(best, expected, default)
    return timed_first(best, expected, default) if device.backend.streams else ()


def timed_first(
    best: Schedule, expected: Mapping[Schedule, float], default: Schedule
) -> tuple[Schedule, ...]:
    """What a GPU's first calls launch to be timed: callers may be far ahead of what is heard.

    The default where it costs little, and what is expected to be about as fast as the guess.
    """
    first = [best]
    if default in expected and default != best:
        extra = times_slower(expected[default] - expected[best])
        first += [default] if default_fits(extra, 0, timed=False) else []
    near = [one for one, at in expected.items() if at < expected[best] + _SPREAD]
    codes = {best.code, default.code}
    others = [one for one in near if one not in (best, default)]
    # Of another code first: what workgroups are worth is told by any of them.
    others.sort(key=lambda one: one.code in codes)
    return (*first, *others[:_TIMED])


def timed_in_turns(
    best: Schedule, expected: Mapping[Schedule, float], default: Schedule
) -> tuple[Schedule, ...]:
    """What a processor's first calls launch to be timed: guess and default in turns.

    Others share its cores, and one time says little. All times of the default together may cost
    about one dispatch.
    """
    if default == best or default not in expected:
        return ()
    extra = times_slower(expected[default] - expected[best])
    turns = min(int(1.0 / max(extra, 1.0 / _TURNS)), _TURNS)
    return (default, best) * turns
