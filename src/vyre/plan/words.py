"""The parameter words of a launch: how many elements, and how long each buffer is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from vyre.emit.layout import plain_word_count
from vyre.errors import InvalidInput
from vyre.model import U32_MAX, Dim3
from vyre.plan.binding import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchShape:
    """What a dispatch covers, and what its arrays and scalars really are.

    `extent` is along x, y and z; `arrays` holds the shape of each array by buffer name, outermost
    first; `scalars` the whole numbers passed by value, as far as a proof may ask for them.
    """

    extent: Dim3
    arrays: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scalars: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, sizes in (("the dispatch", self.extent), *self.arrays.items()):
            if not all(0 <= size <= U32_MAX for size in sizes) or prod(sizes) > U32_MAX:
                raise InvalidInput(
                    f"shape {sizes} of {what}", f"use extents whose product is at most {U32_MAX}"
                )

    @property
    def element_count(self) -> int:
        return prod(self.extent)


def dispatch_param_words_into(
    bindings: Sequence[Binding], n: int, words: list[int], shape: DispatchShape | None = None
) -> None:
    """Replace `words` by those of a launch over `n` elements; on an error they stay as they were.

    Raises:
        InvalidInput: `n` or a shape does not fit the bindings.
        InvalidProgram: the binding numbers cannot be laid out.
    """
    if not 0 <= n <= U32_MAX:
        raise InvalidInput(f"parameter words for {n} elements", f"use 0 to {U32_MAX} elements")
    made = [0] * _plain_count(bindings)
    made[0] = n
    for binding in bindings:
        if not binding.is_shared:
            made[binding.binding + 1] = known_length(binding, n, shape)
    if shape is not None:
        made += shape.extent
        for binding in _arrays(bindings):
            made += known_dims(binding, shape)
        made.append(0)
    words[:] = made


def known_length(binding: Binding, n: int, shape: DispatchShape | None) -> int:
    """Count the elements that a kernel may touch: as declared or given, else `n`."""
    known = binding.element_count
    given = None if shape is None else shape.arrays.get(binding.name)
    if given is None:
        return known or n
    size = prod(given)
    fits = size >= known if binding.static_byte_len is not None else size == known
    if known and not fits:
        raise InvalidInput(
            f"array {binding.name!r} of shape {given} has {size} elements; its buffer has {known}",
            f"pass an array of {known} elements",
        )
    # 0 elements are 0 here: with `n` in their place a kernel would read where there is nothing.
    return known or size


def known_dims(binding: Binding, shape: DispatchShape) -> tuple[int, ...]:
    """Give the extents of a 2-D or 3-D array, as declared or given."""
    if all(binding.shape):
        return binding.shape
    given = shape.arrays.get(binding.name, ())
    if len(given) != binding.rank:
        raise InvalidInput(
            f"array {binding.name!r} has shape {given}; its buffer has {binding.rank} axes",
            f"give the array's {binding.rank} extents in DispatchShape.arrays",
        )
    return given


def _arrays(bindings: Sequence[Binding]) -> Iterator[Binding]:
    """List the buffers whose extents have words, by binding number."""
    for binding in sorted(bindings, key=lambda item: item.binding):
        if binding.rank > 1 and not binding.is_shared:
            yield binding


def _plain_count(bindings: Sequence[Binding]) -> int:
    numbers = [binding.binding for binding in bindings if not binding.is_shared]
    return plain_word_count(numbers, shared=len(bindings) - len(numbers))
