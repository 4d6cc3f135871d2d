"""Interrupts calls on NumPy arrays at random moments, and looks for what the device did afterwards.

    python scripts/soak_interrupts.py --count 4000 --seed 1

A timer sends real signals, one or many in a row, whose handler raises KeyboardInterrupt or an
exception of its own: while arguments are checked, while the kernel runs, while Vyre waits for it,
while it unwinds. A second process has its exceptions sent by another thread. When one arrives,
either the arrays are kept, and nothing may write to them any more; or they are freed, and arrays
made in their place must stay as they were made. Now and then a call that nobody interrupts must
give the right result. The exit status is 1 if anything was corrupted, or a process crashed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import vyre
from vyre import In, InOut, Out, ir, settings, u32
from vyre.testing import provenance

CANARIES = 8
ROUNDS = 128
ERRORS = (KeyboardInterrupt, ArithmeticError)
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass
class Tally:
    """What came of the calls."""

    calls: int = 0
    interrupts: int = 0
    repeated: int = 0  # interrupts that came while Vyre was already unwinding
    late: int = 0  # arrays that were written after the exception had arrived
    corrupted: int = 0  # arrays of somebody else's that were written
    wrong: int = 0  # results of calls that nobody interrupted
    crashed: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.late or self.corrupted or self.wrong or self.crashed)

    def add(self, other: Tally) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def __str__(self) -> str:
        return (
            f"{self.calls:,} calls, {self.interrupts:,} interrupted, "
            f"{self.repeated:,} of them again while unwinding: "
            f"{self.late} written late, {self.corrupted} corrupted, {self.wrong} wrong, "
            f"{self.crashed} crashed"
        )


@vyre.kernel
def mixed(x: In[u32], out: Out[u32], rounds: u32):
    i = vyre.gid()
    value = x[i]
    for _ in range(rounds):
        value = value * 1664525 + 1013904223
    out[i] = value | 1


@vyre.kernel
def mixed_in_place(x: InOut[u32], rounds: u32):
    i = vyre.gid()
    value = x[i]
    for _ in range(rounds):
        value = value * 1664525 + 1013904223
    x[i] = value | 1


@vyre.kernel
def is_odd(x: In[u32], flag: Out[u32], rounds: u32):
    i = vyre.gid()
    value = x[i]
    for _ in range(rounds):
        value = value * 1664525 + 1013904223
    flag[i] = x[i] & 1


@vyre.kernel
def marked(x: In[u32], out: Out[u32]):
    i = vyre.gid()
    if x[i] & 1 != 0:
        out[i] = x[i] * 3 | 1


search = vyre.speculate(prefilter=is_odd, confirm=marked)


def hand_built() -> ir.Program:
    """`mixed`, for `device.dispatch`."""
    x = ir.BufferDecl.read("x", 0, ir.DataType.U32)
    out = ir.BufferDecl.write("out", 1, ir.DataType.U32)
    value = ir.var("value")
    step = ir.assign("value", value * 1664525 + 1013904223)
    body = [
        ir.let("value", ir.load("x", ir.gid())),
        ir.loop("k", ir.u32(0), ir.u32(ROUNDS), [step]),
        ir.store("out", ir.gid(), value | 1),
    ]
    return ir.Program.wrapped([x, out], (64, 1, 1), body)


def after(x: np.ndarray[Any, Any], rounds: int) -> np.ndarray[Any, Any]:
    """What `mixed` gives."""
    value = x.copy()
    for _ in range(rounds):
        value = value * np.uint32(1664525) + np.uint32(1013904223)
    return value | np.uint32(1)


class Signals:
    """Raises in this thread what the handler of a timer's signal raises, once or many times."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.left = self.raised = 0
        signal.signal(signal.SIGALRM, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        if self.left > 0:
            self.left -= 1
            self.raised += 1
            signal.setitimer(signal.ITIMER_REAL, self._rng.uniform(1e-6, 3e-5))
            raise self._rng.choice(ERRORS)

    def start(self, most_s: float) -> None:
        self.raised = 0
        self.left = self._rng.choice((1, 1, 1, 2, 3, 5, 20))
        signal.setitimer(signal.ITIMER_REAL, self._rng.uniform(1e-6, most_s))

    def wait(self) -> None:
        """A signal that comes too late for the call raises nothing."""
        self.left = 0


class Sent:
    """Has another thread raise in this one, once a call."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._target = rng, threading.get_ident()
        self.left, self.raised = 0, 1
        self._wanted: queue.SimpleQueue[float] = queue.SimpleQueue()
        self._started = self._sent = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        send = ctypes.pythonapi.PyThreadState_SetAsyncExc
        while True:
            time.sleep(self._wanted.get())
            error = self._rng.choice(ERRORS)
            send(ctypes.c_ulong(self._target), ctypes.py_object(error))
            self._sent += 1

    def start(self, most_s: float) -> None:
        self._started += 1
        self._wanted.put(self._rng.uniform(0, most_s))

    def wait(self) -> None:
        """It comes here at the latest, unless it came where Python drops it: in a finaliser."""
        while self._sent < self._started:
            time.sleep(1e-4)
        for _ in range(100):
            time.sleep(1e-4)


def cases(device: vyre.Device, rng: Random) -> Iterator[tuple[Callable[[Arrays], object], Arrays]]:
    """Calls that write, of every kind that lends its arrays, and what they are given."""
    program = hand_built()

    def dispatched(given: Arrays) -> None:
        given["out"] = device.dispatch(program, [given["x"]])[0]

    kinds: tuple[Callable[[Arrays], object], ...] = (
        lambda a: mixed(a["x"], rounds=ROUNDS, out=a["out"]),
        lambda a: mixed(a["x"], rounds=ROUNDS, out=a["out"]),
        lambda a: mixed_in_place(a["out"], rounds=ROUNDS),
        lambda a: search(a["x"], rounds=ROUNDS, out=a["out"]),
        lambda a: search(a["x"], rounds=ROUNDS, out=a["out"], way="serial"),
        dispatched,
        lambda a: np.copyto(a["out"], np.asarray(device.array(a["x"]))),
    )
    while True:
        size = rng.choice((1000, 8000, 16_000))
        x = np.arange(size, dtype=np.uint32)
        yield rng.choice(kinds), {"x": x, "out": np.zeros(size, np.uint32)}


def soak(count: int, seed: int, place: str, sender: str) -> Tally:
    """Interrupt until `count` exceptions have arrived."""
    rng = Random(seed)
    device, tally = vyre.open(place), Tally()
    wanted = cases(device, rng)
    for _ in range(60):  # compiled before the timer is set
        call, given = next(wanted)
        call(given)
    timer: Signals | Sent = {"signals": Signals, "thread": Sent}[sender](Random(seed))
    while tally.interrupts < count:
        call, given = next(wanted)
        frees = rng.random() < 0.5
        tally.calls += 1
        try:
            timer.start(rng.choice((2e-4, 4e-4, 8e-4)))
            call(given)
            timer.wait()
        except ERRORS:
            timer.left = 0  # no call, because a signal's exception could come with that
            tally.interrupts += 1
            tally.repeated += timer.raised > 1
        sizes = [array.size for array in given.values()]
        if frees:
            given.clear()
            tally.corrupted += disturbed(device, sizes)
        else:
            before = {name: array.copy() for name, array in given.items()}
            device.synchronize()
            tally.late += sum(
                not np.array_equal(array, before[name]) for name, array in given.items()
            )
        if tally.calls % 4 == 0:
            tally.wrong += not is_right(rng)
    return tally


def disturbed(device: vyre.Device, sizes: list[int]) -> int:
    """How many fresh arrays, in the place of what was freed, somebody else writes to."""
    canaries = [np.full(size, 0xC0FFEE00, np.uint32) for size in sizes * CANARIES]
    device.synchronize()
    return sum(bool((canary != 0xC0FFEE00).any()) for canary in canaries)


def is_right(rng: Random) -> bool:
    """Whether calls that nobody interrupts still give what they should."""
    x = np.array([rng.getrandbits(32) for _ in range(1000)], np.uint32)
    odd = (x & 1).astype(bool)
    expected = np.where(odd, x * np.uint32(3) | np.uint32(1), np.uint32(0))
    return bool(
        np.array_equal(mixed(x, rounds=ROUNDS), after(x, ROUNDS))
        and np.array_equal(search(x, rounds=1, way="serial"), expected)
    )


def run(count: int, seed: int, processes: int = 4, place: str = "opencl") -> Tally:
    """The soak in processes of its own, which a corrupted heap may bring down."""
    total = Tally()
    share = -(-count // processes)
    for number in range(processes):
        command = [sys.executable, str(Path(__file__)), "--child", "--device", place]
        command += ["--count", str(share), "--seed", str(seed + number)]
        command += ["--sender", ("signals", "thread")[number % 2]]
        mode = ("off", "natural")[number // 2 % 2]
        with tempfile.TemporaryDirectory() as folder:
            variables = settings.for_child({"VYRE_CACHE_DIR": folder, "VYRE_AUTOTUNER": mode})
            done = subprocess.run(  # noqa: S603  # ourselves
                command, env=variables, capture_output=True, text=True, check=False
            )
        try:
            tally = Tally(**json.loads(done.stdout.splitlines()[-1]))
            print(f"process {number + 1} of {processes}: {tally}", file=sys.stderr, flush=True)
            total.add(tally)
        except (IndexError, ValueError):
            print(f"a process ended with {done.returncode}: {done.stderr[-2000:]}", file=sys.stderr)
            total.crashed += 1
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=4000, help="interrupts to wait for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--json", type=Path, help="keep the counts in this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--sender", default="signals", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tally = soak(given.count, given.seed, given.device, given.sender)
        print(json.dumps(asdict(tally)))
        return
    tally = run(given.count, given.seed, given.processes, given.device)
    print(tally)
    if given.json:
        info = vyre.open(given.device).info
        provenance.save(given.json, asdict(tally), device=f"{info.model}, {info.driver}")
    if tally.failed:
        sys.exit("failed")


if __name__ == "__main__":
    main()
