"""Where in a kernel a text stands: for which item, at which positions, and what holds there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vyre.emit.items import ONE_ITEM, Items
from vyre.emit.lanes import ALIKE, Differences
from vyre.ir.expr import Expr
from vyre.ir.types import DataType

Element = tuple[object, ...]
"""An element of an array, wherever it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What is true where a text stands; a text that stands elsewhere is given another one.

    Only what is bound grows from statement to statement, and ends with the list that it is in.
    """

    scope: dict[str, DataType] = field(default_factory=dict)  # the names that are bound
    loaded: dict[Element, str] = field(default_factory=dict)  # elements that are in registers
    ahead: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Names of numbers so much ahead of others: the text of the other, none of 0, and how much."""
    level: int = 1  # how far in its lines are
    statement: str = ""  # the one at hand, by which its accesses are known
    items: Items = ONE_ITEM  # that an invocation takes
    differ: Differences = ALIKE  # what differs between them
    now: range = range(1)  # the items at hand: all of them, or those of a line
    item: int | None = None  # the one at hand; None where the text is the same for all of them
    positions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # of items, by axis
    registers: Mapping[tuple[str, Expr, int], str] = field(default_factory=dict)  # loads, by item
    leave: str = "return;"  # ends an item
    in_lockstep: bool = False  # lanes side by side along x come by together, all of them
    interior: bool = False  # all that items look at is inside its arrays
    beyond: bool = False  # lanes whose items lie beyond the extent come by as well

    @property
    def pad(self) -> str:
        """What a line begins with."""
        return "    " * self.level

    def of(self, item: int) -> Here:
        """The same for one item."""
        return replace(self, item=item)

    def deeper(self, levels: int = 1) -> Here:
        """The same further in."""
        return replace(self, level=self.level + levels)

    def inner(self) -> Here:
        """The same for a list of statements: what is bound in it ends with it."""
        scope, loaded, ahead = dict(self.scope), dict(self.loaded), dict(self.ahead)
        return replace(self, scope=scope, loaded=loaded, ahead=ahead)

    def counting(self, counter: str, dtype: DataType) -> Here:
        """The same inside a loop with that counter."""
        ahead = {name: of for name, of in self.ahead.items() if name != counter}
        return replace(self, scope={**self.scope, counter: dtype}, ahead=ahead)
