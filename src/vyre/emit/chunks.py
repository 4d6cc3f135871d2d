"""A loop in chunks of rounds: while one half of the shelves is read, the other is filled.

The lanes fill it themselves and keep what is under way in registers meanwhile, or lanes do that
which do nothing else and ask for memory two chunks ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vyre.emit.filling import Filling, Shelf
from vyre.emit.here import Here
from vyre.emit.names import Kind
from vyre.emit.operations import bare
from vyre.ir.types import DataType

_UNROLLED = 1024
"""Statements that the rounds of a chunk may become, one after the other."""

ROUNDS_INSIDE = 5
"""How much further in than their loop the statements of a round are."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """A loop that is to run in chunks."""

    counter: str
    dtype: DataType
    start: str
    stop: str
    body: list[str]  # the statements of round `q`


class Chunks:
    """Writes a loop whose rounds read some shelves."""

    def __init__(self, filling: Filling, shelves: list[Shelf]) -> None:
        self.filling, self.shelves = filling, shelves
        self.terms, self.code = filling.terms, filling.terms.code
        self.depth, self.loaders = self.code.depth, filling.loaders

    def loop(self, rounds: Rounds, here: Here) -> Iterator[str]:
        """The whole loop, with what is brought before its first round."""
        pad, inner, depth = here.pad, here.deeper().pad, self.depth
        t = self.terms.use(rounds.dtype)
        yield f"{pad}{{"
        yield f"{inner}const {t} begin = {bare(rounds.start)}, end = {bare(rounds.stop)};"
        yield f"{inner}const u32 rounds = begin < end ? (u32)end - (u32)begin : 0u;"
        yield from (self.filling.ahead(shelf, inner) for shelf in self.shelves)
        if self.code.loaders:
            yield f"{inner}if (lane >= {self.loaders.first}u) {{"
            yield from self._first(here.deeper(2).pad)
            ahead = f"((u32)begin + {depth}u)"
            yield from self._ask(f"if (rounds > {depth}u)", ahead, here.deeper(2).pad)
            yield f"{inner}}}"
        else:
            yield from self._first(inner)
        yield f"{inner}{self.terms.dialect.barrier}"
        yield f"{inner}u32 side = 0u;"
        yield f"{inner}for (u32 done = 0u; done < rounds; side ^= 1u) {{"
        yield from self._chunk(rounds, here.deeper(2))
        yield f"{inner}}}"
        yield f"{pad}}}"

    def _first(self, pad: str) -> Iterator[str]:
        """Bring the first chunk, by the lanes that bring all others."""
        for shelf in self.shelves:
            yield from self.filling.bring(shelf, "(u32)begin", pad, self.loaders)

    def _chunk(self, rounds: Rounds, here: Here) -> Iterator[str]:
        """Reading one chunk, and bringing what comes after it."""
        pad, depth = here.pad, self.depth
        yield f"{pad}const u32 first = (u32)begin + done;"
        yield f"{pad}const u32 count = rounds - done < {depth}u ? rounds - done : {depth}u;"
        yield f"{pad}const bool more = rounds - done > {depth}u;"
        for shelf in self.shelves:
            stored = self.terms.stored(shelf.decl)
            form = self.terms.dialect.local_pointer.format(const="const ", type=stored)
            yield f"{pad}{form} {shelf.now} = {shelf.near} + side * {shelf.arrangement.length}u;"
        read = list(self._rounds(rounds, here.deeper()))
        yield from self._beside_loaders(read, pad) if self.code.loaders else self._alone(read, pad)
        yield f"{pad}{self.terms.dialect.barrier}"
        yield f"{pad}done += count;"

    def _beside_loaders(self, read: list[str], pad: str) -> Iterator[str]:
        """What was asked for a chunk ago has come; what is asked for now has a chunk's time."""
        inner, ahead = pad + "    ", 2 * self.depth
        yield f"{pad}if (lane >= {self.loaders.first}u) {{"
        yield from self._shelve(inner)
        yield from self._ask(f"if (rounds - done > {ahead}u)", f"(first + {ahead}u)", inner)
        yield f"{pad}}} else if (mine) {{"
        yield from read
        yield f"{pad}}}"

    def _alone(self, read: list[str], pad: str) -> Iterator[str]:
        """Lanes ask before they read, and what has come meanwhile is put down after it."""
        yield from self._ask("if (more)", f"(first + {self.depth}u)", pad)
        yield f"{pad}{{"
        yield from read
        yield f"{pad}}}"
        yield from self._shelve(pad)

    def _ask(self, head: str, first: str, pad: str) -> Iterator[str]:
        """Have the chunk that begins with the round `first` loaded, where `head` says so."""
        yield f"{pad}{head} {{"
        for shelf in self.shelves:
            yield from self.filling.load_ahead(shelf, first, pad + "    ")
        yield f"{pad}}}"

    def _shelve(self, pad: str) -> Iterator[str]:
        """Put what was asked for into the half that is not read, if there is more to read."""
        yield f"{pad}if (more) {{"
        for shelf in self.shelves:
            half = f"(side ^ 1u) * {shelf.arrangement.length}u"
            yield from self.filling.shelve(shelf, half, pad + "    ")
        yield f"{pad}}}"

    def _rounds(self, rounds: Rounds, here: Here) -> Iterator[str]:
        """The rounds of a chunk: of a whole one, whose number is known, and of the last."""
        pad, depth, most = here.pad, self.depth, _UNROLLED // max(len(rounds.body), 1)
        unroll = self.code.unroll
        if unroll == 1:
            unroll = min(depth, 1 << max(most, 1).bit_length() - 1)
        yield f"{pad}if (count == {depth}u) {{"
        yield f"{pad}    #pragma unroll {unroll}"
        yield from self._one_by_one(rounds, f"{depth}u", here.deeper().pad)
        yield f"{pad}}} else {{"
        yield from self._one_by_one(rounds, "count", here.deeper().pad)
        yield f"{pad}}}"

    def _one_by_one(self, rounds: Rounds, count: str, pad: str) -> Iterator[str]:
        t, name = self.terms.use(rounds.dtype), self.terms.names.of(Kind.VARIABLE, rounds.counter)
        yield f"{pad}for (u32 q = 0u; q < {count}; ++q) {{"
        yield f"{pad}    const {t} {name} = ({t})(first + q);"
        yield from rounds.body
        yield f"{pad}}}"
