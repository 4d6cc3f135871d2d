"""Every error Vyre raises, as a tree: what happened, and what the reader can do about it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from vyre.plain import plain, plain_lines


class VyreError(Exception):
    """What happened, and what the reader can do about it.

    Messages quote names, paths and files of others, so what is said is plain.
    """

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem, fix)  # both in args, so it survives a process boundary
        self.problem, self.fix = plain_lines(problem), plain_lines(fix)

    def __str__(self) -> str:
        return f"{self.problem}\nFix: {self.fix}"

    def at_caller(self) -> Self:
        """The same error, to be raised where a user's call came in: what lay below is left out.

        A frame of somebody else's among it, such as a callback's, stays, and all others with it.
        """
        inside = self.__traceback__.tb_next if self.__traceback__ is not None else None
        theirs = any(not _is_ours(tb) for tb in _chain(inside))
        return self if theirs else self.with_traceback(None)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show: it ends at the user's line."""
        shown = without_ours(self.__traceback__)
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
        if shell is None:
            return traceback.format_exception(type(self), self, shown)
        return list(shell.InteractiveTB.structured_traceback(type(self), self, shown))


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


class AssertionFailed(VyreError):
    """An assertion in a kernel that did not hold.

    `number` tells which of the program's, from 0; `position` is where, fastest axis first.
    """

    number: int | None = None
    position: tuple[int, int, int] | None = None


class DoubtFound(VyreError):
    """What `vyre.debug(stop=True)` stops at."""


class NotRemembered(VyreError):
    """A frozen process was asked for a launch that was never decided."""


class StoreFailed(VyreError):
    """Something kept on disk that cannot be read or written; it is left as it is."""


@contextmanager
def labelled(label: str | None) -> Iterator[None]:
    """Errors that leave this block begin with the label, if there is one.

    >>> with labelled("step 3"):
    ...     raise InvalidInput("x is 5", "pass 4")
    Traceback (most recent call last):
    vyre.errors.InvalidInput: step 3: x is 5
    Fix: pass 4
    """
    try:
        yield
    except VyreError as error:
        if label is not None:
            error.problem = f"{plain(label)}: {error.problem}"
            error.args = (error.problem, error.fix)
        raise


def _chain(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _is_ours(tb: TracebackType) -> bool:
    return str(tb.tb_frame.f_globals.get("__name__")).partition(".")[0] == "vyre"


def without_ours(tb: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of Vyre at its end; all of it where there are no others."""
    frames = list(_chain(tb))
    while frames and _is_ours(frames[-1]):
        frames.pop()
    made = None
    for frame in reversed(frames):
        made = TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made or tb
