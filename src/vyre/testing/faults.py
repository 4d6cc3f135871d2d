"""Ways in which a config of a function goes wrong, in its process, its memory or its result."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vyre import settings

Array = np.ndarray[Any, Any]
LARGE = 512
"""From so many elements on, what goes wrong on large arrays alone does so."""


def work(x: Array, held: list[float], scale: float = 2.0) -> tuple[Array, float, dict[str, int]]:
    """What every config should do: change an array and a list, and give something of each kind."""
    x *= scale
    held.append(float(x.sum()))
    return x + 1, float(x[0]), {"n": len(x), "m": len(held)}


def _libc() -> Any:
    return ctypes.CDLL(None)


def _overflow(*_: Any) -> None:
    """Fill the stack, through C and back."""
    sys.setrecursionlimit(1 << 30)
    kind = ctypes.CFUNCTYPE(None)

    def deeper() -> None:
        again()

    again = kind(deeper)
    again()


def _recurse(depth: int = 0) -> int:
    return 1 + _recurse(depth + 1)


def _grow() -> None:
    held = []
    while True:
        held.append(bytearray(1 << 28))


def _raise(error: BaseException) -> None:
    raise error


def _leave_a_child() -> None:
    if not os.fork():
        time.sleep(600)
        os._exit(0)
    os._exit(5)


def _come_back_twice() -> None:
    if os.fork():
        os._exit(6)


def _flood(where: int) -> None:
    while True:
        os.write(where, b"flood " * 4096)


def _hold_the_lock() -> None:
    ctypes.PyDLL(None).sleep(600)


def _ignore() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def _wait_for_itself() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


class Unsaid(Exception):
    """An error that cannot say what it is, nor leave the process."""

    def __str__(self) -> str:
        raise ValueError("no words")

    def __reduce__(self) -> Any:
        raise TypeError("it stays here")


class Nothing(BaseException):
    """What is no `Exception`."""


def _unlike(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Work as it should be, and give what has been changed."""
    return lambda x, held: change(work(x, held))


def _in_first(change: Callable[[Array], Any]) -> Callable[..., Any]:
    """Work as it should be, but for the array that is given."""
    return _unlike(lambda given: (change(given[0]), *given[1:]))


def _set(at: int, value: float) -> Callable[[Array], Array]:
    def change(array: Array) -> Array:
        array[at] = value
        return array

    return change


def _bit(array: Array) -> Array:
    array.view(np.uint64)[len(array) // 2] ^= 1
    return array


def _when_large(array: Array) -> Array:
    return _bit(array) if len(array) >= LARGE else array


def _beside(offset: Callable[[Array], int]) -> Callable[..., Any]:
    def write(x: Array, held: list[float]) -> Any:
        given = work(x, held)
        ctypes.memset(x.ctypes.data + offset(x), 7, 8)
        return given

    return write


def _then(act: Callable[[], object]) -> Callable[..., Any]:
    """Work as it should be, and do something else besides."""

    def run(x: Array, held: list[float]) -> Any:
        given = work(x, held)
        act()
        return given

    return run


def _first(act: Callable[[], object]) -> Callable[..., Any]:
    """Do something else, which nothing should come after."""

    def run(x: Array, held: list[float]) -> Any:
        act()
        return work(x, held)

    return run


def _in_place(change: Callable[[Array], object]) -> Callable[..., Any]:
    def run(x: Array, held: list[float]) -> Any:
        given = work(x, held)
        change(x)
        return given

    return run


def _lazily(x: Array, held: list[float]) -> Any:
    yield from work(x, held)


def _aliased(x: Array, held: list[float]) -> Any:
    given = work(x, held)
    x += 1
    return (x, *given[1:])


def _misled(x: Array, held: list[float]) -> Any:
    given = work(x, held)
    held[-1] += 1.0
    return given


ENDING: dict[str, Callable[..., Any]] = {
    "segmentation fault": _first(lambda: ctypes.string_at(0)),
    "jump to nowhere": _first(lambda: ctypes.CFUNCTYPE(None)(8)()),
    "abort": _first(os.abort),
    "exit with 0": _first(lambda: os._exit(0)),
    "exit with 3": _first(lambda: os._exit(3)),
    "sys.exit": _first(sys.exit),
    "killed": _first(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "terminated": _first(lambda: os.kill(os.getpid(), signal.SIGTERM)),
    "division fault": _first(lambda: os.kill(os.getpid(), signal.SIGFPE)),
    "its group is killed": _first(lambda: os.killpg(0, signal.SIGKILL)),
    "stack overflow": _first(_overflow),
    "frees twice": _first(lambda: [_libc().free(ctypes.c_void_p(id(work))) for _ in range(2)]),
    "endless allocation": _first(_grow),
    "endless recursion": _first(_recurse),
    "raises": _first(lambda: _raise(ValueError("no such way"))),
    "raises a long text": _first(lambda: _raise(ValueError("long " * (1 << 20)))),
    "raises hostile text": _first(lambda: _raise(ValueError("\x1b[2J\n{}\ud800\0"))),
    "raises what says nothing": _first(lambda: _raise(Unsaid())),
    "raises no Exception": _first(lambda: _raise(Nothing("else"))),
    "raises KeyboardInterrupt": _first(lambda: _raise(KeyboardInterrupt())),
    "raises GeneratorExit": _first(lambda: _raise(GeneratorExit())),
    "raises StopIteration": _first(lambda: _raise(StopIteration(3))),
    "leaves a child behind": _first(_leave_a_child),
    "forks and goes on": _first(_come_back_twice),
    "closes all files": _then(lambda: os.closerange(0, 512)),
}
"""What ends at once, by itself or with its process."""

HANGING: dict[str, Callable[..., Any]] = {
    "endless loop": _first(lambda: [None for _ in iter(int, 1)]),
    "sleeps": _first(lambda: time.sleep(600)),
    "hangs in C with the lock": _first(_hold_the_lock),
    "waits for itself": _first(_wait_for_itself),
    "stopped": _first(lambda: os.kill(os.getpid(), signal.SIGSTOP)),
    "floods its output": _first(lambda: _flood(1)),
    "floods its errors": _first(lambda: _flood(2)),
    "ignores its end": _first(_ignore),
}
"""What has to be ended."""

WRONG: dict[str, Callable[..., Any]] = {
    "one bit": _in_first(_bit),
    "the last element": _in_first(lambda array: _set(-1, 0.5)(array)),
    "one bit of large arrays": _in_first(_when_large),
    "NaN": _in_first(_set(1, np.nan)),
    "minus zero": _unlike(lambda given: (given[0], -0.0 * given[1], given[2])),
    "another dtype": _in_first(lambda array: array.astype("f4")),
    "another shape": _in_first(lambda array: array[None]),
    "a list": _in_first(lambda array: array.tolist()),
    "a masked array": _in_first(lambda array: np.ma.masked_array(array, array > 2)),
    "a NumPy number": _unlike(lambda given: (given[0], np.float64(given[1]), given[2])),
    "a whole number": _unlike(lambda given: (given[0], int(given[1]), given[2])),
    "out of order": _unlike(lambda given: (given[1], given[0], given[2])),
    "keys out of order": _unlike(lambda given: (*given[:2], {"m": given[2]["n"], "n": 1})),
    "a list of results": _unlike(list),
    "one result more": _unlike(lambda given: (*given, None)),
    "one result less": _unlike(lambda given: given[:2]),
    "no result": _unlike(lambda _: None),
    "what cannot be pickled": _unlike(lambda given: lambda: given),
    "a huge result": _in_first(lambda _: np.zeros(1 << 23)),
    "a generator": _lazily,
    "the argument itself": _aliased,
    "an array for a number": _unlike(lambda given: (*given[:2], {**given[2], "n": given[0]})),
    "changes too much": _in_place(_set(2, 9.0)),
    "changes nothing": lambda x, held: work(x.copy(), held),
    "changes twice": lambda x, held: (work(x, held), work(x, held))[0],
    "misleads a list": _misled,
    "leaves a list alone": lambda x, held: work(x, list(held)),
    "writes beyond an array": _beside(lambda x: x.nbytes),
    "writes before an array": _beside(lambda _: -8),
    "another folder": _then(lambda: os.chdir("/")),
    "another variable": _then(lambda: settings.preset("VYRE_FAULT", "1")),
    "another handler": _then(lambda: signal.signal(signal.SIGTERM, lambda *_: None)),
    "another limit": _then(lambda: sys.setrecursionlimit(5000)),
    "errors of floats": _then(lambda: np.seterr(all="raise")),
}
"""What comes to an end, and should not serve for what it gives, or leaves behind."""

FUNCTIONS = {**ENDING, **HANGING, **WRONG}

KERNEL_ENDING = {
    "writes to nowhere": "*(volatile global int *)16 = 1;",
    "writes far away": "((volatile global int *)x)[1 << 29] = 1;",
    "traps": "__builtin_trap();",
}
KERNEL_HANGING = {
    "endless loop": "while (*(volatile global float *)x > -1.0f) {}",
}
KERNEL_WRONG = {
    "one bit": "if (i == 3) x[i] = as_float(as_int(x[i]) ^ 1);",
    "the last element": "if (i == n - 1) x[i] = 0;",
    "large sizes": f"if (i == 3 && n >= {LARGE}) x[i] = as_float(as_int(x[i]) ^ 1);",
    "NaN": "if (i == 1) x[i] = NAN;",
    "minus zero": "if (i == 0) x[i] = -0.0f;",
    "out of order": "if (i < 2) x[i] = 2 * (1 - i) + 1;",
    "nothing": "if (i == 5) x[i] = 5;",
    "writes beyond an array": "if (i == n - 1) x[n] = 1;",
    "writes before an array": "if (i == 0) x[-1] = 1;",
    "the other array": "if (i == 2) y[i] = 7;",
}
KERNELS = {**KERNEL_ENDING, **KERNEL_HANGING, **KERNEL_WRONG}
"""Statements of OpenCL C after `x[i] = 2 * i + 1`, under which a config goes wrong."""


def left_wrong(x: Any, y: Any) -> str:
    """What of two arrays is not as a kernel of these should leave it: nothing, where all is."""
    wanted = np.arange(len(x), dtype="f4") * 2 + 1
    same = x.tobytes() == wanted.tobytes() and not y.any()
    return "" if same else f"{x!r}, {y!r}"
