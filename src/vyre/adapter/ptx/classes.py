"""What is known of a value, and what comes of values that the device gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vyre.adapter.ptx.values import Step

_AXES = ("x", "y", "z")
_WIDTHS = {f"{letter}{bits}": bits for letter in "bus" for bits in (32, 64)}
_ADDRESSES = frozenset((*_WIDTHS, "lo", "wide"))


class Class(NamedTuple):
    """What is known of a value.

    Args:
        kind: `free`; `own`, an address in the memory of a thread alone; or what the device gave:
            `tid`, `ctaid`, `ntid`, `nctaid`, and `blocks`, the product of the two in the middle.
            `tid+` and `blocks+` are those with something free added to them.
        axis: of what the device gave.
        bits: in which it is exact, or modulo which it is known.
    """

    kind: str
    axis: str = ""
    bits: int = 0

    @property
    def is_raw(self) -> bool:
        return self.kind not in ("free", "own")

    @property
    def text(self) -> str:
        if self.base == "blocks":
            return f"%ctaid.{self.axis} * %ntid.{self.axis}"
        return f"%{self.base}.{self.axis}" if self.is_raw else f"a value that is {self.kind}"

    @property
    def base(self) -> str:
        """Its kind, whatever was added."""
        return self.kind.removesuffix("+")


FREE, OWN = Class("free"), Class("own")


def special(name: str) -> Class | None:
    """What the device gives under a name."""
    kind, _, axis = name.removeprefix("%").partition(".")
    if kind in ("tid", "ctaid", "ntid", "nctaid") and axis in _AXES:
        return Class(kind, axis, 32)
    return None


def keeps_own(step: Step, given: Sequence[Class]) -> bool:
    """Whether it makes one address in a thread's own memory of another."""
    own = [number for number, one in enumerate(given) if one == OWN]
    if len(own) != 1 or not frozenset(step.kinds) <= _ADDRESSES:
        return False
    return (step.opcode, own[0]) in (
        ("mov", 0),
        ("add", 0),
        ("add", 1),
        ("sub", 0),
        ("or", 0),
        ("mad", 2),
    )


def made(step: Step, given: Sequence[Class], *, steps: bool) -> Class | None:
    """What comes of a step that the device's own values go into; None where it is not known.

    There are fewer than 2^31 blocks along an axis, of at most 1,024 threads: each is the same
    number with a sign and without, and a product in 64 bits is exact. In 32 bits all is known
    modulo 2^32, so a product or a sum that is cut off there is not widened before it is a place.
    """
    match step.opcode, step.kinds, given:
        case "mov", (kind,), [one] if _WIDTHS.get(kind) == one.bits:
            return one
        case "cvt", (to, of), [one] if _is_number(to, of) and _WIDTHS[of] == one.bits:
            bits = _WIDTHS[to]
            is_cut_off = one.kind in ("blocks", "blocks+", "tid+")
            return None if is_cut_off and bits > one.bits else one._replace(bits=bits)
        case "mul", (("lo" | "wide") as part, kind), [_, _] if _is_number(kind):
            return _product(given, _bits(part, kind), _WIDTHS[kind], steps=steps)
        case "mad", (("lo" | "wide") as part, kind), [one, two, three] if _is_number(kind):
            bits = _bits(part, kind)
            return _sum(_product([one, two], bits, _WIDTHS[kind], steps=steps), three, bits)
        case "add", (kind,), [one, two] if _is_number(kind):
            return _sum(one, two, _WIDTHS[kind])
        case "sub", (kind,), [one, two] if _is_number(kind) and two == FREE:
            return _sum(one, two, _WIDTHS[kind])
    return None


def _is_number(*kinds: str) -> bool:
    return all(kind in _WIDTHS and kind[0] in "us" for kind in kinds)


def _bits(part: str, kind: str) -> int:
    """Of a product."""
    return _WIDTHS[kind] * (2 if part == "wide" else 1)


def _product(factors: Sequence[Class], bits: int, of_each: int, *, steps: bool) -> Class | None:
    """Threads in the blocks before this one, or in all of the grid, or something free."""
    one, two = sorted(factors)
    if one == two == FREE:
        return FREE
    if one.axis != two.axis or not one.bits == two.bits == of_each or bits > 64:
        return None
    if (one.kind, two.kind) == ("ctaid", "ntid"):
        return Class("blocks", one.axis, bits)
    return FREE if steps and (one.kind, two.kind) == ("nctaid", "ntid") else None


def _sum(one: Class | None, two: Class, bits: int) -> Class | None:
    """A thread's place along an axis, something free, or what is still to become a place."""
    if one is None:
        return None
    if FREE in (one, two):
        other = two if one == FREE else one
        if other == FREE:
            return FREE
        partial = other.base in ("tid", "blocks") and other.bits == bits
        return other._replace(kind=f"{other.base}+") if partial else None
    alike = one.axis == two.axis and one.bits == two.bits == bits
    return FREE if alike and {one.base, two.base} == {"tid", "blocks"} else None
