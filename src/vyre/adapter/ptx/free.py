"""Whether what each thread of a kernel does is the same under every block, as its PTX shows it.

A thread's place along an axis, `ctaid * ntid + tid`, is the same under every block of a launch with
as many threads along each axis. A value is *free* if it follows from places, parameters and memory
alone. What the device gives is not: such values may be copied and widened, and meet in the one sum
that is a place, in whatever order free values are added. If every condition, address and stored
value is free, then a thread at a place does the same under every block, step by step. That threads
keep out of each other's way is another matter, of which nothing is known here.

Only what is listed here is let pass, by its name and all its kinds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from vyre.adapter.ptx.classes import FREE, OWN, Class, keeps_own, made, special
from vyre.adapter.ptx.flow import Use, unwritten
from vyre.adapter.ptx.text import read
from vyre.adapter.ptx.values import (
    Address,
    Entry,
    Nowhere,
    Number,
    Operand,
    Register,
    Several,
    Special,
    Step,
    Symbol,
    Unread,
)

_PLAIN = frozenset(
    (
        *("abs", "add", "addc", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot"),
        *("copysign", "cos", "cvt", "div", "dp2a", "dp4a", "ex2", "fma", "lg2", "lop3", "mad"),
        *("mad24", "madc", "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt"),
        *("rcp", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct"),
        *("sqrt", "sub", "subc", "tanh", "testp", "xor"),
    )
)
"""What gives nothing but a function of its operands."""

_NUMBERS = frozenset(
    (
        *(f"{letter}{bits}" for letter in "bus" for bits in (8, 16, 32, 64)),
        *("f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64", "e4m3x2", "e5m2x2", "b128"),
    )
)
_OF_PLAIN = _NUMBERS | frozenset(
    (
        *("pred", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "lo"),
        *("satfinite", "approx", "full", "relu", "noftz", "nan", "xorsign", "abs", "hi", "wide"),
        *("cc", "wrap", "clamp", "l", "r", "shiftamt", "finite", "infinite", "number", "normal"),
        *("notanumber", "subnormal", "eq", "ne", "lt", "le", "gt", "ge", "ls", "hs", "equ", "neu"),
        *("ltu", "leu", "gtu", "geu", "num", "and", "or", "xor"),
    )
)
_OF_MEMORY = _NUMBERS | frozenset(
    (
        *("weak", "ca", "cg", "cs", "v2", "v4", "v8", "L1::evict_normal", "L1::evict_unchanged"),
        *("L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B"),
        "L2::256B",
    )
)
_LOADED = frozenset(("global", "const", "local", "param"))
_STORED = frozenset(("global", "local"))
_ENDS = ("ret", "exit")

_CARRY = Register("the carry")


class _Refused(Exception):
    """A reason why nothing is proved."""


def why_not(text: str, name: str, *, steps: bool) -> str | None:
    """Why it is not proved that each thread of a kernel does the same under every block.

    None where it is, for launches with as many threads along each axis; without `steps`, for a
    thread at the same place of any launch.

    Args:
        text: the module of PTX.
        name: the kernel's, as it is called there.
        steps: whether `ntid * nctaid`, the number of threads, may be asked for.
    """
    entry = read(text, name)
    if isinstance(entry, Unread):
        return entry.reason
    try:
        _Proof(entry, steps=steps).run()
    except _Refused as refused:
        return str(refused)
    return None


class _Proof:
    """Finds the class of every register, and refuses what is not known to be free."""

    def __init__(self, entry: Entry, *, steps: bool) -> None:
        self._entry, self._steps = entry, steps
        self._classes: dict[Register, Class] = {}

    def run(self) -> None:
        entry = self._entry
        uses = [self._use(step) for step in entry.steps]
        lacking = unwritten(entry, uses)
        if lacking is not None:
            raise _Refused(lacking)
        waits = [len(set(use.reads)) for use in uses]
        readers: dict[Register, list[int]] = defaultdict(list)
        for number, use in enumerate(uses):
            for register in set(use.reads):
                readers[register].append(number)
        ready = [number for number, count in enumerate(waits) if not count]
        done = 0
        while ready:
            number = ready.pop()
            done += 1
            found = self._found(entry.steps[number])
            for register in uses[number].writes:
                known = self._classes.get(register)
                if known is None:
                    self._classes[register] = found
                    for reader in readers[register]:
                        waits[reader] -= 1
                        if not waits[reader]:
                            ready.append(reader)
                elif known != found:
                    raise _Refused(f"its PTX has {known.text} and {found.text} in one register")
        if done < len(uses):
            raise _Refused("its PTX has values that follow from nothing")

    # -- what a step reads and writes

    def _use(self, step: Step) -> Use:
        """Refuses what is not known."""
        reads = [] if step.guard is None else [step.guard]
        writes: list[Register] = []
        opcode, kinds, operands = step.opcode, frozenset(step.kinds), step.operands
        if opcode in _PLAIN and kinds <= _OF_PLAIN and len(operands) > 1:
            writes += _results(step)
            for one in operands[1:]:
                reads += self._values(step, one)
            if "cc" in kinds:
                writes.append(_CARRY)
            if opcode in ("addc", "subc", "madc"):
                reads.append(_CARRY)
        elif opcode == "cvta" and len(operands) == 2:
            writes += _results(step)
            reads += self._values(step, operands[1])
        elif opcode == "ld" and len(operands) == 2 and _is_access(kinds, _LOADED, "nc"):
            writes += _results(step)
            reads += self._place(step, operands[1])
        elif opcode == "st" and len(operands) == 2 and _is_access(kinds, _STORED):
            reads += [*self._place(step, operands[0]), *self._values(step, operands[1])]
        elif opcode == "bra" and kinds <= {"uni"} and len(operands) == 1:
            if kinds and step.guard is not None:
                raise _Refused("its PTX has a conditional bra.uni")
            if getattr(operands[0], "name", None) not in self._entry.labels:
                raise _Refused("its PTX goes to a label that is not there")
        elif opcode not in _ENDS or kinds or operands:
            raise _Refused(f"its PTX has {step.text}")
        return Use(tuple(reads), tuple(writes))

    def _values(self, step: Step, operand: Operand) -> Iterator[Register]:
        """The registers of an operand that is read."""
        if isinstance(operand, Register):
            yield operand
        elif isinstance(operand, Several) and Nowhere() not in operand.parts:
            yield from (one for one in operand.parts if isinstance(one, Register))
        elif isinstance(operand, Special):
            if step.opcode not in ("mov", "cvt") or special(operand.name) is None:
                raise _Refused(f"its PTX asks for {operand.name}")
        elif isinstance(operand, Symbol):
            if step.opcode not in ("mov", "cvta"):
                raise _Refused(f"its PTX has {operand.name} in {step.text}")
        elif not isinstance(operand, Number):
            raise _Refused(f"its PTX has an operand of {step.text} that is not known")

    def _place(self, step: Step, operand: Operand) -> Iterator[Register]:
        """The registers of a place in memory."""
        if not isinstance(operand, Address):
            raise _Refused(f"its PTX has an operand of {step.text} that is not known")
        if isinstance(operand.base, Register):
            yield operand.base

    # -- what comes of a step

    def _found(self, step: Step) -> Class:
        """The class of what a step writes."""
        if step.guard is not None and self._classes[step.guard] != FREE:
            raise self._used(self._classes[step.guard])
        if step.opcode in ("ld", "st"):
            self._check_access(step)
            return FREE
        if step.opcode in ("bra", *_ENDS):
            return FREE
        given = [self._class(one) for one in step.operands[1:]]
        if step.opcode == "cvta":
            return self._cvta(step, given[0])
        if all(one == FREE for one in given):
            return FREE
        raw = any(one.is_raw for one in given)
        one_result = isinstance(step.operands[0], Register)
        if not raw and one_result and keeps_own(step, given):
            return OWN
        alone = one_result and step.guard is None
        found = made(step, given, steps=self._steps) if alone else None
        if found is None:
            raise self._used(next(one for one in given if one != FREE))
        return found

    def _used(self, found: Class) -> _Refused:
        if not found.is_raw:
            return _Refused("its PTX has the address of a thread's own memory as a value")
        return _Refused(f"its PTX has {found.text} outside of a thread's place in the grid")

    def _class(self, operand: Operand) -> Class:
        match operand:
            case Register():
                return self._classes[operand]
            case Special(name):
                found = special(name)
                assert found is not None, "others are refused"
                return found
            case Symbol(name):
                return self._address_of(name)
            case Several(parts):
                raw = (self._class(one) for one in parts if isinstance(one, Register))
                return next((one for one in raw if one != FREE), FREE)
            case _:  # a constant
                return FREE

    def _address_of(self, name: str) -> Class:
        space = self._entry.spaces[name]
        if space in ("global", "const"):
            return FREE
        if space == "local":
            return OWN
        if space == "param":  # beside them lie the sizes of the block, for whoever looks there
            raise _Refused(f"its PTX looks for a place in {name}")
        raise _Refused(f"its PTX has {name}, a variable that is {space}")

    def _cvta(self, step: Step, given: Class) -> Class:
        """An address as one of another kind."""
        kinds = frozenset(step.kinds) - {"to", "u64"}
        if kinds in ({"global"}, {"const"}) and given == FREE:
            return FREE
        if kinds == {"local"} and given == OWN:
            return OWN
        raise _Refused(f"its PTX has {step.text} of {given.text}")

    def _check_access(self, step: Step) -> None:
        loads = step.opcode == "ld"
        place = step.operands[1 if loads else 0]
        assert isinstance(place, Address), "others are refused"
        space = next((one for one in step.kinds if one in _LOADED), "")
        if isinstance(place.base, Symbol):
            name = place.base.name
            if self._entry.spaces[name] != space:
                raise _Refused(f"its PTX has {step.text} of {name}")
            if space == "param" and not (
                0 <= place.offset <= self._entry.sizes[name] - _bytes(step)
            ):
                raise _Refused(f"its PTX reads beyond {name}")
        else:
            base = self._classes[place.base]
            if base.is_raw:
                raise self._used(base)
            if space and (base == OWN) != (space == "local"):
                raise _Refused(f"its PTX has {step.text} of {base.text}")
        if not loads and (stored := self._class(step.operands[1])) != FREE:
            raise self._used(stored)


def _results(step: Step) -> list[Register]:
    """The registers that a step writes."""
    first = step.operands[0]
    parts = first.parts if isinstance(first, Several) else (first,)
    if not all(isinstance(one, (Register, Nowhere)) for one in parts):
        raise _Refused(f"its PTX has a result of {step.text} that is not known")
    return [one for one in parts if isinstance(one, Register)]


def _is_access(kinds: frozenset[str], spaces: frozenset[str], *more: str) -> bool:
    """Whether it is a plain load or store in one of these spaces, or in any."""
    return len(kinds & spaces) <= 1 and kinds - spaces - {*more} <= _OF_MEMORY


def _bytes(step: Step) -> int:
    """How many bytes a load reads."""
    bits = [int(one.lstrip("busf")) for one in step.kinds if one.lstrip("busf").isdecimal()]
    several = [int(one[1:]) for one in step.kinds if one in ("v2", "v4", "v8")]
    if len(bits) != 1:
        raise _Refused(f"its PTX has {step.text}")
    return bits[0] // 8 * (several[0] if several else 1)
