"""What is proved of a kernel of another library, in the words in which it is explained."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.plain import plain


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether what each thread of a kernel does is proved free of the block size.

    Args:
        lacks: why it is not; None where it is.
        covers: whether there are launches of which a size is said, so that there may be more
            threads than were asked for.
    """

    lacks: str | None
    covers: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """What else is to be known.

        >>> Proof(None).lines
        ('that no thread reads or writes what another one writes is stated by its author',)
        >>> Proof("it calls a function").lines
        ('not proved: it calls a function',)
        """
        if self.lacks is not None:
            return (f"not proved: {plain(self.lacks)}",)
        beyond = "threads beyond the size of a launch do nothing, and that " if self.covers else ""
        are = "are" if self.covers else "is"
        return (
            f"that {beyond}no thread reads or writes what another one writes {are} stated by its "
            "author",
        )
