"""What learning may cost: the ledger of time lost against the default."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vyre.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Time in units of one default dispatch: what was spent, and lost against the default.

    At most `share` of the time spent plus `free` dispatches may be lost; what other dispatches were
    measured to save is subtracted from the loss and so may be spent again.

    >>> budget = Budget().ran(3.0)
    >>> round(budget.left, 2), budget.allows(18.0), budget.allows(18.1)
    (18.03, True, False)
    """

    share: float = 0.01
    free: float = 20.0
    spent: float = 0.0
    lost: float = 0.0  # below 0 where more was saved than lost
    worst: float = 0.0  # the most that one dispatch has lost

    def __post_init__(self) -> None:
        if not 0.0 <= self.share < 1.0 or not self.free >= 0.0:
            raise InvalidInput(
                f"a budget of {self.share} of the time and {self.free} dispatches",
                "give a share from 0 to below 1 and at least 0 dispatches",
            )

    @property
    def left(self) -> float:
        """What may still be lost, in default dispatches."""
        return self.free + self.share * self.spent - self.lost

    def allows(self, loss: float) -> bool:
        """Whether a dispatch that may lose this much fits."""
        return loss <= self.left

    def paid(self, cost: float, lost: float) -> Budget:
        """The budget after something took so many default dispatches, of which some were lost."""
        worst = max(self.worst, lost) if cost else self.worst
        return replace(self, spent=self.spent + cost, lost=self.lost + lost, worst=worst)

    def ran(self, cost: float, dispatches: int = 1) -> Budget:
        """The budget after dispatches that each took `cost` times as long as the default."""
        return replace(
            self,
            spent=self.spent + dispatches * cost,
            lost=self.lost + dispatches * (cost - 1.0),
            worst=max(self.worst, cost - 1.0),
        )
