"""What is compiled ahead as one: codes of a program built together, and the launches to warm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vyre.errors import InvalidInput
from vyre.ir.decode import from_wire
from vyre.ir.encode import encode
from vyre.ir.program import Program
from vyre.model import Code, Dim3


@dataclass(frozen=True, slots=True)
class Warm:
    """A launch to compile for: drivers specialise for the workgroup and the size of the grid."""

    code: int  # a position among the codes of the bundle
    workgroup: Dim3
    grid: Dim3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One build: the driver's cache goes by its whole source, so the codes and their order count.

    Name exactly the codes that the caller will build together: one more, one less or another order
    is another source, and nothing that was compiled ahead serves it.
    """

    program: Program
    codes: tuple[Code, ...]
    warm: tuple[Warm, ...] = ()

    def __post_init__(self) -> None:
        if not self.codes or len(set(self.codes)) < len(self.codes):
            raise InvalidInput(
                f"a bundle of {len(self.codes)} codes, {len(set(self.codes))} of them different",
                "give at least one code, and each once",
            )
        for launch in self.warm:
            if not 0 <= launch.code < len(self.codes):
                raise InvalidInput(
                    f"a launch of code {launch.code} in a bundle of {len(self.codes)}",
                    f"count the codes from 0 to {len(self.codes) - 1}",
                )
            if min(*launch.workgroup, *launch.grid) < 1:
                raise InvalidInput(f"{launch} has a size below 1", "give every axis at least 1")


def spelt(program: Program) -> str:
    """The program as JSON holds it.

    Raises:
        WireError: it cannot be written down.
    """
    # Not the canonical spelling of `Program.to_wire`: it moves operands, and the driver's cache
    # goes by the letters of the source.
    return encode(program).hex()


def to_request(bundle: Bundle, program: str | None = None) -> dict[str, Any]:
    """The bundle as JSON holds it, its program where that is spelt already.

    Raises:
        WireError: the program cannot be written down.
    """
    return {
        "program": spelt(bundle.program) if program is None else program,
        "codes": [asdict(code) for code in bundle.codes],
        "warm": [[launch.code, launch.workgroup, launch.grid] for launch in bundle.warm],
    }


def from_request(request: Mapping[str, Any]) -> Bundle:
    """The bundle of a request, spelt as it was sent."""
    return Bundle(
        program=from_wire(bytes.fromhex(request["program"])),
        codes=tuple(_code(**code) for code in request["codes"]),
        warm=tuple(Warm(code, _dim3(size), _dim3(grid)) for code, size, grid in request["warm"]),
    )


def _code(*, group: list[int] | None, **parts: Any) -> Code:
    return Code(**parts, group=None if group is None else _dim3(group))


def _dim3(sizes: list[int]) -> Dim3:
    x, y, z = sizes
    return x, y, z
