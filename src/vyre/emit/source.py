"""What an emitter hands to a compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Source of one kernel, and what a compiler and a launch must know of it."""

    header: tuple[str, ...]  # lines at the top: pragmas and the names of types
    helpers: Mapping[str, str]  # functions by name; the same name is always the same text
    body: str
    entry: str
    dialect: str
    arguments: tuple[str, ...]  # buffers in the order of the kernel's parameters; words come last
    words: tuple[int, ...]  # which of a launch's it takes; without any there is no such parameter
    guarded: tuple[int, ...]  # axes along which a workgroup may be wider than 1

    @property
    def text(self) -> str:
        """The whole source."""
        return bundle((self,))


def bundle(sources: Sequence[Source]) -> str:
    """Several kernels as one source, so that one build serves them all.

    Raises:
        InvalidInput: two kernels have one name, or they cannot share a build.
    """
    entries = [source.entry for source in sources]
    if len(set(entries)) < len(entries):
        twice = next(entry for entry in entries if entries.count(entry) > 1)
        raise InvalidInput(f"two kernels of one build are named {twice!r}", "name each its own")
    if len({source.dialect for source in sources}) > 1:
        raise InvalidInput("kernels of several dialects in one build", "build them apart")
    header = dict.fromkeys(line for source in sources for line in source.header)
    helpers: dict[str, str] = {}
    for source in sources:
        helpers |= source.helpers
    # Pragmas hold from where they stand, so they come first.
    lines = sorted(header, key=lambda line: not line.startswith("#"))
    return "\n".join([*lines, "", *helpers.values(), *(source.body for source in sources)])
