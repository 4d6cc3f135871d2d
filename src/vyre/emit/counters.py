"""Counters that a workgroup adds up on its own before it adds them to everybody's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre.emit.group_memory import zeroed
from vyre.emit.names import Kind
from vyre.emit.terms import Terms


class Counters:
    """Writes a workgroup's own part of arrays that are only added to, by their lengths."""

    def __init__(self, terms: Terms, counts: Mapping[str, int]) -> None:
        self.terms, self.counts = terms, counts
        self.far = {name: terms.pointers[name] for name in counts}
        for name in counts:
            terms.pointers[name] = terms.names.of(Kind.NEAR, name)

    def declared(self) -> Iterator[str]:
        """Declares a workgroup's own counters, at zero."""
        return zeroed(self.terms, self.counts)

    def added(self) -> Iterator[str]:
        """Adds a workgroup's counters to everybody's."""
        if not self.counts:
            return
        dialect = self.terms.dialect
        yield f"    {dialect.barrier}"
        for name, count in self.counts.items():
            near, far = self.terms.pointers[name], self.far[name]
            add = dialect.count_far.format(at=f"{far} + at", value=f"{near}[at]")
            yield f"    for (u32 at = lane; at < {count}u; at += lanes)"
            yield f"        if ({near}[at] != 0) {add}"
