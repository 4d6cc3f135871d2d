"""At which position each number of a launch stands among its parameter words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vyre.errors import InvalidInput, InvalidProgram
from vyre.ir.declare import BufferDecl
from vyre.ir.program import Program

MAX_WORDS = 1 << 20
"""The most words of a launch, 4 MiB: a binding number beyond it is a mistake, not a buffer."""


@dataclass(frozen=True, slots=True)
class WordLayout:
    """The positions of a program's parameter words; made once from the program.

    First come `n` and the lengths by binding number, as in the Rust crate; where a dispatch shape
    is given, its three extents follow, then the extents of each 2-D and 3-D array, and a zero.

    >>> from vyre.ir import BufferDecl, DataType
    >>> x = BufferDecl.read("x", 0, DataType.F32).with_shape(0, 0)
    >>> layout = WordLayout.of(Program.wrapped([x], (8, 8, 1), []))
    >>> layout.length("x"), layout.extent(0), layout.dim("x", 1), layout.count
    (1, 2, 6, 8)
    """

    lengths: Mapping[str, int]
    dims: Mapping[str, range]
    plain_count: int  # without a dispatch shape
    count: int  # with one

    @classmethod
    def of(cls, program: Program) -> WordLayout:
        bound = sorted(
            (decl for decl in program.buffers if not decl.is_shared), key=lambda decl: decl.binding
        )
        plain = plain_word_count(
            (decl.binding for decl in bound), shared=len(program.buffers) - len(bound)
        )
        dims: dict[str, range] = {}
        end = plain + 3
        for decl in bound:
            if decl.rank > 1:
                dims[decl.name] = range(end, end + decl.rank)
                end += decl.rank
        return cls({decl.name: decl.binding + 1 for decl in bound}, dims, plain, end + 1)

    @property
    def n(self) -> int:
        return 0

    @property
    def zero(self) -> int:
        """The word that is 0, which no compiler knows."""
        return self.count - 1

    def length(self, buffer: str) -> int:
        """The word with the number of elements of `buffer`."""
        if buffer not in self.lengths:
            raise InvalidInput(
                f"no word holds the length of {buffer!r}; there are words for"
                f" {', '.join(self.lengths) or 'none'}",
                "use a declared buffer, and the declared count of workgroup memory",
            )
        return self.lengths[buffer]

    def extent(self, axis: int) -> int:
        """The word with the dispatch's extent along `axis`; 0 is x."""
        if axis not in (0, 1, 2):
            raise InvalidInput(f"axis {axis} of the dispatch", "use axis 0, 1 or 2")
        return self.plain_count + axis

    def dim(self, buffer: str, axis: int) -> int:
        """The word with an array's extent along `axis`; 0 is the outermost."""
        places = self.dims.get(buffer, range(0))
        if not 0 <= axis < len(places):
            raise InvalidInput(
                f"no word holds axis {axis} of {buffer!r}, which has {len(places)} such words",
                "use an axis of a 2-D or 3-D array, and the length of a 1-D one",
            )
        return places[axis]


def taken(words: bytes, places: Iterable[int]) -> bytes:
    """Of a launch's words, those that a kernel takes.

    >>> taken(b"noneonlytwo.last", (3, 1))
    b'lastonly'
    """
    return b"".join([words[4 * place : 4 * place + 4] for place in places])


def arguments_of(program: Program) -> tuple[BufferDecl, ...]:
    """The buffers a kernel takes as arguments, in their order."""
    bound = [decl for decl in program.buffers if not decl.is_shared]
    return tuple(sorted(bound, key=lambda decl: decl.binding))


def plain_word_count(bindings: Iterable[int], *, shared: int) -> int:
    """How many words there are before the extents."""
    numbers = list(bindings)
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise InvalidProgram(
            f"binding {twice} belongs to several buffers", "give each buffer its own binding number"
        )
    count = max(len(numbers) + shared + 1, max(numbers, default=-1) + 2)
    if count > MAX_WORDS:
        raise InvalidProgram(
            f"{count} parameter words for {len(numbers) + shared} bindings; {MAX_WORDS} allowed",
            "number the bindings from 0 on",
        )
    return count
