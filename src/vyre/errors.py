"""Every error Vyre raises, as a tree: what happened, and what the reader can do about it."""

from __future__ import annotations

from vyre.plain import plain_lines


class VyreError(Exception):
    """What happened, and what the reader can do about it.

    Messages quote names, paths and files of others, so what is said is plain.
    """

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem, fix)  # both in args, so it survives a process boundary
        self.problem, self.fix = plain_lines(problem), plain_lines(fix)

    def __str__(self) -> str:
        return f"{self.problem}\nFix: {self.fix}"


class InvalidInput(VyreError):
    """A value from the caller that cannot be used."""


class InvalidProgram(VyreError):
    """A program that breaks the rules of the IR."""


class LanguageError(VyreError):
    """A line of a kernel's source that cannot be translated."""


class WireError(VyreError):
    """Bytes that are not a program, or a program that has no bytes."""


class UnsupportedFeature(VyreError):
    """Something valid that this backend, device or build cannot do."""


class DeviceFailed(VyreError):
    """A device refused or lost work."""


class NotRemembered(VyreError):
    """A frozen process was asked for a launch that was never decided."""


class StoreFailed(VyreError):
    """Something kept on disk that cannot be read or written; it is left as it is."""
