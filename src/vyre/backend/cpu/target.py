"""What machine code is made for: a processor and its instructions, as LLVM names them."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.errors import InvalidInput

_X86 = ("x86_64", "amd64", "x86-64")
_ARM = ("aarch64", "arm64")

_V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
_NAMED = {
    "x86-64-v2": ("x86_64-unknown-linux-gnu", "x86-64-v2", _V2),
    "x86-64-v3": ("x86_64-unknown-linux-gnu", "x86-64-v3", _V3),
    "x86-64-v4": ("x86_64-unknown-linux-gnu", "x86-64-v4", _V4),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", "+fp-armv8,+neon"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A triple, a processor and a list of features such as `+avx2,-fma4`."""

    triple: str
    cpu: str
    features: str

    @staticmethod
    def of(name: str) -> Target:
        """A level of x86-64, or aarch64, on Linux; code for another machine is not run here.

        >>> Target.of("x86-64-v3").vector_bytes
        32

        Raises:
            InvalidInput: there is no target of this name.
        """
        if name not in _NAMED:
            raise InvalidInput(f"no target {name!r}", fix=f"use one of {', '.join(_NAMED)}")
        triple, cpu, features = _NAMED[name]
        return Target(triple=triple, cpu=cpu, features=features)

    @property
    def is_x86(self) -> bool:
        return self.triple.partition("-")[0] in _X86

    @property
    def is_aarch64(self) -> bool:
        return self.triple.partition("-")[0] in _ARM

    @property
    def system(self) -> str:
        """`linux`, `macos`, `windows`, or `other`.

        >>> Target.of("aarch64").system
        'linux'
        """
        rest = self.triple.partition("-")[2]
        known = {"linux": "linux", "darwin": "macos", "macos": "macos", "windows": "windows"}
        return next((name for word, name in known.items() if word in rest), "other")

    def has(self, feature: str) -> bool:
        """Whether a feature of LLVM's is listed as there."""
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_bytes(self) -> int:
        """How wide its widest vector registers are; 16 where nothing is known."""
        if self.has("avx512f"):
            return 64
        return 32 if self.has("avx") else 16

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.has("avx512f") or self.is_aarch64 else 16

    @property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is an instruction; else it is a slow call."""
        return self.has("fma") or self.is_aarch64

    @property
    def has_f16c(self) -> bool:
        """Whether half precision is converted by instructions."""
        return self.has("f16c") or self.is_aarch64
