"""Counters that a workgroup adds up on its own before it adds them to everybody's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre.emit.names import Kind
from vyre.emit.writer import Writer


class Counters:
    """Writes a workgroup's own part of arrays that are only added to, by their lengths."""

    def __init__(self, writer: Writer, counts: Mapping[str, int]) -> None:
        self.writer, self.counts = writer, counts
        self.far = {name: writer.pointers[name] for name in counts}
        for name in counts:
            writer.pointers[name] = writer.names.of(Kind.NEAR, name)

    def declared(self) -> Iterator[str]:
        """Declares a workgroup's own counters, at zero."""
        if not self.counts:
            return
        for name, count in self.counts.items():
            stored = self.writer.stored(self.writer.buffers[name])
            near = self.writer.pointers[name]
            yield f"    {self.writer.dialect.local} {stored} {near}[{count}];"
        yield from self.writer.lanes()
        for name, count in self.counts.items():
            near = self.writer.pointers[name]
            yield f"    for (u32 at = lane; at < {count}u; at += lanes) {near}[at] = 0;"
        yield f"    {self.writer.dialect.barrier}"

    def added(self) -> Iterator[str]:
        """Adds a workgroup's counters to everybody's."""
        if not self.counts:
            return
        yield f"    {self.writer.dialect.barrier}"
        for name, count in self.counts.items():
            near, far = self.writer.pointers[name], self.far[name]
            add = self.writer.dialect.count_far.format(at=f"{far} + at", value=f"{near}[at]")
            yield f"    for (u32 at = lane; at < {count}u; at += lanes)"
            yield f"        if ({near}[at] != 0) {add}"
