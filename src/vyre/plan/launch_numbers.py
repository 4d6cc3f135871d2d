"""The numbers of one launch, as the conditions of a proof ask for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre.analysis import Facts
from vyre.analysis.forms import Symbol
from vyre.ir.program import Program
from vyre.model import Dim3
from vyre.plan.binding import Binding, BindingPlan
from vyre.plan.words import DispatchShape, known_dims, known_length


class NumberNotKnown(LookupError):
    """A proof asks for a number that nobody has given."""


@dataclass(frozen=True, slots=True)
class LaunchNumbers:
    """What is known of a launch's extents, lengths and scalars."""

    known: Mapping[Symbol, int]

    @classmethod
    def of_extent(cls, program: Program, extent: Dim3) -> LaunchNumbers:
        """Collect what the extent and the declarations say."""
        return cls(_extents(extent) | _declared(BindingPlan.build(program).bindings))

    @classmethod
    def of_launch(
        cls, bindings: Sequence[Binding], n: int, shape: DispatchShape | None
    ) -> LaunchNumbers:
        """Collect what the parameter words of this launch will say."""
        lengths = {
            Symbol("len", binding.name): known_length(binding, n, shape)
            for binding in bindings
            if not binding.is_shared
        }
        known = _extents((n, 1, 1) if shape is None else shape.extent)
        known |= _declared(bindings) | lengths
        if shape is not None:
            known |= {
                Symbol("dim", binding.name, axis): size
                for binding in bindings
                if binding.rank > 1 and not binding.is_shared
                for axis, size in enumerate(known_dims(binding, shape))
            }
            known |= {Symbol("scalar", name): value for name, value in shape.scalars.items()}
        return cls(known)

    def value(self, symbol: Symbol) -> int:
        if symbol not in self.known:
            raise NumberNotKnown(str(symbol))
        return self.known[symbol]


def proved_free(facts: Facts, numbers: LaunchNumbers) -> bool:
    """Tell whether the launch shape is proved not to matter; what is not known does not hold."""
    try:
        return facts.free_for(numbers)
    except NumberNotKnown:
        return False


def _extents(extent: Dim3) -> dict[Symbol, int]:
    return {Symbol("extent", axis=axis): size for axis, size in enumerate(extent)}


def _declared(bindings: Sequence[Binding]) -> dict[Symbol, int]:
    known: dict[Symbol, int] = {}
    for binding in bindings:
        if binding.element_count:
            known[Symbol("len", binding.name)] = binding.element_count
        for axis, size in enumerate(binding.shape):
            if size:
                known[Symbol("dim", binding.name, axis)] = size
    return known
