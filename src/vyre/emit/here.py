"""Where in a kernel a text stands: for which item, at which positions, and what holds there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vyre.emit.items import ONE_ITEM, Items
from vyre.emit.lanes import ALIKE, Differences
from vyre.ir.expr import Expr
from vyre.ir.loops import rounds_of
from vyre.ir.node import Loop, While
from vyre.ir.types import DataType
from vyre.ir.walk import names_of

MANY = 8
"""Rounds that make up for what is computed once for all of them, where a text knows how many.

Measured on one H200 by reciprocals of what is divided by: two rounds a lane, of rows of 64, took 5
to 12 % longer, and 8 items of an invocation up to 8 %; 32 rounds took 4 to 40 % less.
"""

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
    lasting: frozenset[str] | None = None
    """Names that are the same in many rounds around; None where there are few, or none."""
    rolled: bool = False  # in a loop that compilers write out rounds of as they see fit
    quick: frozenset[Expr] = frozenset()  # quotients whose exponents are known to leave room
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

    def counting(self, loop: Loop, dtype: DataType, *, rolled: bool = False) -> Here:
        """The same inside a loop with a counter of that type."""
        ahead = {name: of for name, of in self.ahead.items() if name != loop.var}
        inside = replace(self, scope={**self.scope, loop.var: dtype}, ahead=ahead, rolled=rolled)
        return replace(inside, lasting=self.around(loop))

    def turning(self, loop: While) -> Here:
        """The same inside a loop without a counter."""
        return replace(self, lasting=self.around(loop), rolled=True)

    def around(self, loop: Loop | While) -> frozenset[str] | None:
        """The names that stay as they are in a loop, or in the one around where rounds are few."""
        given = frozenset(names_of((loop,)))
        rounds = rounds_of(loop)
        few = rounds is not None and rounds < MANY
        if few and self.lasting is None:
            return None
        return frozenset((self.lasting if few else self.scope) or ()) - given
