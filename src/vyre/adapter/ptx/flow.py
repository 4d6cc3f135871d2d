"""Whether a kernel may read a register before it has written it, when anything may be in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vyre.adapter.ptx.values import Entry, Register, Step

_ENDS = ("ret", "exit")
_MOST_ROUNDS = 64
"""How often a block is looked at, on average, before a kernel counts as too tangled."""


@dataclass(frozen=True, slots=True)
class Use:
    """The registers that a step reads and writes."""

    reads: tuple[Register, ...] = ()
    writes: tuple[Register, ...] = ()


def unwritten(entry: Entry, uses: Sequence[Use]) -> str | None:
    """What may be read before it is written, or where a kernel has no end; None where all is well.

    Args:
        entry: the kernel, all of whose labels are there.
        uses: of each of its steps.
    """
    numbers: dict[Register, int] = {}
    for use in uses:
        for register in (*use.reads, *use.writes):
            numbers.setdefault(register, len(numbers))
    steps = entry.steps
    if not steps:
        return "its PTX runs past its end"
    jumps = {n + 1 for n, step in enumerate(steps) if step.opcode in ("bra", *_ENDS)}
    starts = sorted({0, *entry.labels.values(), *jumps} - {len(steps)})
    blocks = {
        start: range(start, end)
        for start, end in zip(starts, [*starts[1:], len(steps)], strict=True)
    }
    before = {0: 0}  # what is written where a block begins, a bit for each register
    waiting, rounds = [0], 0
    while waiting:
        start = waiting.pop()
        rounds += 1
        if rounds > _MOST_ROUNDS * len(blocks):
            return "its PTX jumps about too much"
        written = before[start]
        for step, use in _of(blocks[start], steps, uses):
            if step.guard is None:
                written |= sum(1 << numbers[one] for one in set(use.writes))
        for following in _after(steps[blocks[start][-1]], blocks[start][-1] + 1, entry.labels):
            if following == len(steps):
                return "its PTX runs past its end"
            joined = before.get(following, written) & written
            if before.get(following) != joined:
                before[following] = joined
                waiting.append(following)
    for start, written in before.items():
        for step, use in _of(blocks[start], steps, uses):
            for register in use.reads:
                if not written >> numbers[register] & 1:
                    return f"its PTX may read {register.name} before it is written"
            if step.guard is None:
                for register in use.writes:
                    written |= 1 << numbers[register]
    return None


def _of(block: range, steps: Sequence[Step], uses: Sequence[Use]) -> Iterator[tuple[Step, Use]]:
    return ((steps[number], uses[number]) for number in block)


def _after(last: Step, following: int, labels: Mapping[str, int]) -> Iterator[int]:
    """Where a kernel goes on behind the last step of a block."""
    if last.opcode == "bra":
        yield labels[getattr(last.operands[0], "name", "")]
    if last.opcode not in ("bra", *_ENDS) or last.guard is not None:
        yield following
