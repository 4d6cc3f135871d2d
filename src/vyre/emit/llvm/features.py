"""What the emitter must know of a processor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """A processor's vectors, and which conversions and operations it has of its own."""

    vector_bytes: int = 16
    fma: bool = True
    half: bool = True  # conversions between f16 and f32

    @property
    def lanes(self) -> int:
        """How many f32 one register holds."""
        return self.vector_bytes // 4
