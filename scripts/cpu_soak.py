"""Calls on the CPU's pool of threads from many threads at once, with forks, interrupts and exits.

    python scripts/cpu_soak.py --threads 64 --calls 10000 --seed 1

Each thread makes so many calls of random sizes, grains and waits in between, and checks that every
item was done exactly once. Meanwhile the main thread forks children that call as well, and is
interrupted by a timer. In the end processes are started that end in every way while others work.
The exit status is 1 if anything was wrong, hung or said something.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import numpy as np

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import machine
from vyre.backend.cpu import pool as pools
from vyre.backend.cpu.objects import Objects

TASK = """
define void @task(ptr %counts, i64 %first, i64 %last) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %counts, i64 %i
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""
ENDS = {
    "falls off the end": "",
    "exits": "sys.exit(0)",
    "exits in a thread": "threading.Thread(target=sys.exit).start()",
    "leaves at once": "os._exit(0)",
    "sleeps first": "time.sleep(0.3)",
}


@dataclass
class Tally:
    """What came of it."""

    calls: int = 0
    wrong: int = 0
    forks: int = 0
    failed_forks: int = 0
    interrupts: int = 0
    ends: int = 0
    bad_ends: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.wrong or self.failed_forks or self.bad_ends)


class Caller:
    """Makes calls on a pool and checks them."""

    def __init__(self, folder: Path, workers: int) -> None:
        kept = Objects(folder)
        host = kept.host()
        loaded = kept.load(TASK, ["task"], host)
        made = pools.opened(kept, host, workers, cores=machine.cores())
        if isinstance(loaded, Unbuilt) or isinstance(made, Unbuilt):
            sys.exit(f"cannot be built: {loaded} {made}")
        (self.task,), self.pool = loaded, made
        self.counting = threading.Lock()

    def is_right(self, rng: Random) -> bool:
        size = rng.choice((1, 10, 100, 1000, 10_000))
        counts = np.zeros(size, np.int32)
        self.pool.run(self.task, counts.ctypes.data, size, rng.randrange(1, size + 2))
        return bool((counts == 1).all())

    def call(self, tally: Tally, calls: int, seed: int) -> None:
        rng, wrong = Random(seed), 0
        for _ in range(calls):
            wrong += not self.is_right(rng)
            if rng.random() < 0.01:
                time.sleep(rng.uniform(0, 1e-3))  # long enough that helpers sleep
        with self.counting:
            tally.calls += calls
            tally.wrong += wrong


def fork_one(caller: Caller, seed: int) -> bool:
    """Whether a child that calls ends well; it is ended after a minute."""
    number = os.fork()
    if number == 0:
        rng = Random(seed)
        os._exit(0 if all(caller.is_right(rng) for _ in range(100)) else 1)
    for _ in range(60_000):
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.001)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return False


def interrupt(caller: Caller, rng: Random) -> bool:
    """Whether a call that a signal meets is done whole."""
    counts = np.zeros(5000, np.int32)
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-3))
        while True:
            caller.pool.run(caller.task, counts.ctypes.data, 5000, 50)
    except KeyboardInterrupt:
        return bool(counts.min() == counts.max())


def on_alarm(*_: object) -> None:
    raise KeyboardInterrupt


def end_processes(folder: Path, workers: int, tally: Tally) -> None:
    for name, code in ENDS.items():
        command = [sys.executable, str(Path(__file__)), "--end", code, "--folder", str(folder)]
        try:
            done = subprocess.run(  # noqa: S603  # ourselves
                [*command, "--workers", str(workers)],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            bad = bool(done.returncode or done.stderr or done.stdout)
        except subprocess.TimeoutExpired:
            bad = True
        tally.ends += 1
        if bad:
            tally.bad_ends += 1
            print(f"a process that {name} did not end well")


def soak(folder: Path, given: argparse.Namespace) -> Tally:
    tally, rng = Tally(), Random(given.seed)
    caller = Caller(folder, given.workers)
    threads = [
        threading.Thread(target=caller.call, args=(tally, given.calls, given.seed + number))
        for number in range(given.threads)
    ]
    for thread in threads:
        thread.start()
    if hasattr(signal, "setitimer") and hasattr(os, "fork"):
        signal.signal(signal.SIGALRM, on_alarm)
        while any(thread.is_alive() for thread in threads):
            whole = interrupt(caller, rng)
            with caller.counting:
                tally.wrong += not whole
            tally.interrupts += 1
            if rng.random() < 0.2:
                tally.failed_forks += not fork_one(caller, rng.randrange(1 << 30))
                tally.forks += 1
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    end_processes(folder, given.workers, tally)
    return tally


def end(folder: Path, workers: int, code: str) -> None:
    caller = Caller(folder, workers)
    for seed in range(4):
        work = (Tally(), 1 << 40, seed)
        threading.Thread(target=caller.call, args=work, daemon=True).start()
    time.sleep(0.05)
    exec(code)  # noqa: S102  # one of ENDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=64, help="that call")
    parser.add_argument("--calls", type=int, default=10_000, help="of each thread")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=max(2, machine.cores()), help="of the pool")
    parser.add_argument("--end", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which is the aim
    if given.end is not None:
        end(given.folder, given.workers, given.end)
        return
    with tempfile.TemporaryDirectory() as folder:
        tally = soak(Path(folder), given)
    print(", ".join(f"{getattr(tally, one.name):,} {one.name}" for one in fields(tally)))
    if tally.failed:
        sys.exit("failed")


if __name__ == "__main__":
    main()
