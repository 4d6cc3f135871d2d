"""A launch of machine code for a named processor: what is compiled, and its memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import prod
from random import Random

from vyre.analysis import Facts, analyse
from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler
from vyre.backend.cpu.target import Target
from vyre.emit.llvm import ENTRY, Features, Module, emit_llvm
from vyre.ir.declare import Dim3
from vyre.model import Code, Order
from vyre.runtime.devices.launcher import Numbers, words_of
from vyre.testing.programs import Case

TARGETS: Mapping[str, Target] = {
    "v2": Target.of("x86-64-v2"),
    "v3": Target.of("x86-64-v3"),
    "v4": Target.of("x86-64-v4"),
    "aarch64": Target.of("aarch64"),
}
"""By the short names that scripts and results use: SSE4.2, AVX2, AVX-512, and Neon."""

_NEEDS = {
    "v2": ("sse4_2", "popcnt"),
    "v3": ("avx2", "fma", "f16c", "bmi2"),
    "v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""The words of a processor's flags, as Linux lists them, without which a level does not run."""

_HEAD = struct.Struct("<6I8x")
_WIDTHS = (1, 1, 1, 4, 4, 4, 16, 16, 16, 64, 128)  # a wide one takes long to compile
_ROWS = (1, 1, 2, 4, 8)
_MOST = 128  # lanes and rows at once


def runs_here(name: str, cpuinfo: str) -> bool:
    """Whether a processor that describes itself so has a target's instructions.

    >>> runs_here("v2", "flags : fpu sse4_2 popcnt avx"), runs_here("v3", "flags : sse4_2 avx")
    (True, False)
    """
    flags = set(cpuinfo.split())
    return name in _NEEDS and flags.issuperset(_NEEDS["v2"]) and flags.issuperset(_NEEDS[name])


@dataclass(frozen=True)  # without slots, for what is computed once
class Subject:
    """A case, and what is known of it whatever it runs on."""

    case: Case

    @cached_property
    def facts(self) -> Facts:
        return analyse(self.case.program)

    @cached_property
    def is_unchecked(self) -> bool:
        """Whether the bounds that its launch leaves out are proved."""
        case, facts = self.case, self.facts
        scalars = {
            decl.name: int(case.arrays[decl.name][0])
            for decl in case.program.buffers
            if decl.is_scalar_argument and decl.element.is_int
        }
        shapes = {name: array.shape for name, array in case.arrays.items()}
        numbers = Numbers(case.extent, shapes, scalars)
        return facts.has_unchecked_form and facts.unchecked_for(numbers)


@dataclass(frozen=True, slots=True)
class Way:
    """How a case is compiled and cut into workgroups."""

    code: Code
    workgroup: Dim3


@dataclass(frozen=True, slots=True)
class Made:
    """A launch that is ready but for the addresses of its arrays."""

    case: Case
    way: Way
    module: Module
    entry: str  # what its task is called: the same name, the same code
    data: bytes  # the object

    @property
    def groups(self) -> int:
        return prod(-(-e // w) for e, w in zip(self.case.extent, self.way.workgroup, strict=True))

    @property
    def arrays(self) -> tuple[tuple[int, str], ...]:
        """Where in the frame the address of which array belongs."""
        program = self.case.program
        return tuple(
            (32 + 8 * number, name)
            for number, name in enumerate(self.module.arguments)
            if not program.buffer(name).is_scalar_argument
        )

    def frame(self, addresses: Mapping[str, int]) -> bytes:
        """The context of its tasks; an array that has no address yet is at 0."""
        case = self.case
        grid = tuple(-(-e // w) for e, w in zip(case.extent, self.way.workgroup, strict=True))
        parts = [_HEAD.pack(*self.way.workgroup, *grid)]
        for name in self.module.arguments:
            if case.program.buffer(name).is_scalar_argument:
                parts.append(case.arrays[name].tobytes().ljust(8, b"\0"))
            else:
                parts.append(struct.pack("<Q", addresses.get(name, 0)))
        shapes = {name: array.shape for name, array in case.arrays.items()}
        return b"".join([*parts, words_of(self.module.layout, case.extent, shapes)])


def make(subject: Subject, way: Way, target: Target) -> Made | Unbuilt:
    """A case compiled for a target.

    Raises:
        UnsupportedFeature: the program holds something that there is no code for.
    """
    features = Features(vector_bytes=target.vector_bytes, fma=target.has_fma, half=target.has_f16c)
    module = emit_llvm(subject.case.program, way.code, features, subject.facts)
    entry = f"{ENTRY}_{blake2b(module.text.encode(), digest_size=12).hexdigest()}"
    data = _compiled(module.text.replace(f"@{ENTRY}(", f"@{entry}("), target)
    return data if isinstance(data, Unbuilt) else Made(subject.case, way, module, entry, data)


@lru_cache(64)  # one program often runs on several arrays
def _compiled(text: str, target: Target) -> bytes | Unbuilt:
    return compiler.compile(text, target)


def draw(subject: Subject, rng: Random) -> Way:
    """Some code of the space of processors, and some tile where the program lets that be chosen."""
    case = subject.case
    width, rows = rng.choice(_WIDTHS), rng.choice(_ROWS)
    code = Code(
        vector=width,
        rows=min(rows, _MOST // width) if case.extent[1] > 1 else 1,
        unroll=rng.choice((1, 1, 2, 4)),
        order=rng.choice(tuple(Order)),
        checked=not (subject.is_unchecked and rng.random() < 0.6),
        staged=rng.random() < 0.5,  # which says nothing where nothing can be staged
    )
    declared = case.program.workgroup_size
    if not subject.facts.free or case.program.runs_whole_workgroups:
        return Way(code, declared)
    x, y, z = case.extent
    tiles = (declared, (1024, 1, 1), (16, 4, 2), (x, y, z), (max(1, x // 2), y, 1), (3, 2, 5))
    return Way(code, rng.choice(tiles))


def pieces(groups: int, rng: Random) -> Sequence[tuple[int, int]]:
    """The workgroups of a launch as a few tasks, in some order."""
    cuts = sorted({0, groups, *(rng.randint(0, groups) for _ in range(2))})
    tasks = list(pairwise(cuts))
    rng.shuffle(tasks)
    return tasks
