"""What other libraries raise, as what a config is dropped for."""

from __future__ import annotations

from vyre.errors import DeviceFailed, VyreError


def words_of(raised: BaseException) -> str:
    """What an error says, if it can say anything."""
    try:
        return str(raised).strip()
    except Exception:  # noqa: BLE001  # its text is code of others, too
        return ""


class Spoiled(Exception):
    """What a run on copies raised after which its process may be another one: it answers no more.

    A device that met an address which is none refuses everything from then on, of any config.
    """


class Raised(DeviceFailed):
    """What a function or a library raised under a config; it is its own to answer for.

    Where no other config can be blamed for it, the caller hears what was raised.
    """

    def __init__(self, raised: Exception) -> None:
        said = words_of(raised)
        problem = f"{type(raised).__name__}: {said}" if said else type(raised).__name__
        super().__init__(problem, "look at what it raised")
        self.raised: Exception | None = raised


def of_the_caller(error: VyreError) -> Exception:
    """What the caller hears of an error.

    Nothing holds it here any more: else it would hold itself, by the frames in which it was
    raised, and with it the tensors of the call until garbage is collected.
    """
    if not isinstance(error, Raised) or error.raised is None:
        return error
    raised, error.raised = error.raised, None
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return raised
