"""What a kernel of Triton's is, for a store: the source of all that it calls, and its constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blake3 import blake3
from triton import __version__
from triton.runtime.jit import DependenciesFinder, JITCallable

_NUMBERS = (bool, int, float, str, bytes, type(None))


class _Called(DependenciesFinder):  # type: ignore[misc]  # Triton has no types
    """Triton's own search for what a kernel uses, which here keeps the functions it finds."""

    def __init__(self, kernel: JITCallable) -> None:
        scope = kernel.get_capture_scope()
        outside = {name: one for name, one in scope.items() if name not in kernel.__globals__}
        super().__init__(kernel.__name__, kernel.__globals__, outside, kernel.src)
        self.called: dict[int, JITCallable] = {}
        self.visit(kernel.parse())

    def _update_hash(self, func: JITCallable) -> None:
        self.called[id(func)] = func


def source_of(kernel: JITCallable) -> str:
    """All of a kernel that may change which config wins; where it stands in its file does not.

    Triton's own key counts lines, so that a comment above a kernel makes it another.
    """
    return "\n".join((f"triton {__version__}", *_parts(kernel, set())))


def find_key(kernel: JITCallable) -> None:
    """Have Triton find a kernel's key: all of it, or none where it is interrupted.

    Meanwhile it keeps a placeholder, which would be taken for the key of any source from then on.
    """
    try:
        kernel.cache_key  # noqa: B018  # Triton keeps what it finds
    except BaseException:
        _forget_placeholders(kernel)
        raise


def _forget_placeholders(kernel: JITCallable) -> None:
    if str(kernel.hash).startswith("recursion:"):
        kernel.hash = None
        for one in _Called(kernel).called.values():
            _forget_placeholders(one)


def _parts(kernel: JITCallable, seen: set[int]) -> Iterator[str]:
    if id(kernel) in seen:
        return
    seen.add(id(kernel))
    found = _Called(kernel)
    yield kernel.src
    for name, value in sorted(
        (name, shown_constant(value)) for (name, _), (value, _) in found.used_global_vals.items()
    ):
        yield f"{name} = {value}"
    for one in found.called.values():
        yield from _parts(one, seen)


def shown_constant(value: Any) -> str:
    """A constant with its type: 1, 1.0 and True are three; of a function what it is made of.

    >>> shown_constant(1), shown_constant(True), shown_constant(-0.0)
    ('int 1', 'bool True', 'float -0.0')
    """
    if isinstance(value, JITCallable):
        return f"{value.__qualname__} {blake3(source_of(value).encode()).hexdigest()}"
    inner = getattr(value, "value", None)
    if type(inner) in _NUMBERS and type(value).__name__ == "constexpr":
        return f"constexpr {shown_constant(inner)}"
    return f"{type(value).__name__} {value!r}"
