"""What learning does to single calls: the slowest of 100,000, and the 99.9th percentile.

    python benchmarks/stalls.py --device cuda:0

Two processes, one that learns and one with tuning off, take turns, a block of calls each, on the
same device. A block calls programs that are new to its process, several sizes of them in turn, so
that schedules are tried, compiled and loaded all the while. Only the host's time of single calls is
counted; after every few hundred the process waits for the device, outside of what is timed, so that
a full queue plays no part. The first call of a program, which compiles, is not counted either, and
the first one at a further size, which takes the long way on both sides, is counted apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import save

import vyre
from vyre import settings
from vyre.learn import process

SIDES = {"off": "off", "learning": "natural"}
CHUNK = 200
SLOWEST = 8
LIMITS = {"max": 1000.0, "p99.9": 50.0}  # us that learning may add

HEAD = "import vyre\nfrom vyre import In, Out, f32\n"
BODIES = (
    "out[i] = a * x[i] + y[i] * {c}",
    "out[i] = vyre.exp(x[i] * {c}) + a * y[i]",
    "s = 0.0\n    for k in range(5):\n        s += x[i + k - 2] * {c}\n    out[i] = s + a * y[i]",
    "s = a\n    for _ in range(24):\n        s = s * x[i] + {c}\n    out[i] = s + y[i]",
)


def programs(count: int) -> str:
    """The source of a module of kernels, no two of which are the same program."""
    made = [
        f"\n\n@vyre.kernel\n"
        f"def k{number}(x: In[f32], y: In[f32], out: Out[f32], a: f32):\n"
        f"    i = vyre.gid()\n    {BODIES[number % len(BODIES)].format(c=0.5 + number / 128)}\n"
        for number in range(count)
    ]
    return HEAD + "".join(made)


# -- in a process of its own


def work(device: vyre.Device, sizes: Sequence[int], pause_s: float) -> None:
    """Answer each line of input, numbers of programs and of calls, with what each call took."""
    import programs_stalls  # type: ignore[import-not-found]  # written by the other process

    arrays = {n: [device.array(np.full(n, 0.5, np.float32)) for _ in range(3)] for n in sizes}
    print(json.dumps(f"{device.info.model}, {device.info.compiler}"), flush=True)
    for line in sys.stdin:
        numbers, calls = json.loads(line)
        ways = [
            (f"k{number} 2^{size.bit_length() - 1}", _call(programs_stalls, number, arrays[size]))
            for number in numbers
            for size in sizes
        ]
        print(json.dumps({**_block(device, ways, calls, pause_s), **learned()}), flush=True)


def _call(module: Any, number: int, arrays: Sequence[Any]) -> Callable[[], object]:
    kernel, (x, y, out) = getattr(module, f"k{number}"), arrays
    return lambda: kernel(x, y, out=out, a=2.5)


def _block(
    device: vyre.Device,
    ways: Sequence[tuple[str, Callable[[], object]]],
    calls: int,
    pause_s: float,
) -> dict[str, Any]:
    clock, times, seen, sized = time.perf_counter_ns, list[int](), set[str](), list[int]()
    while len(times) < calls:
        for name, call in ways:
            program = name.partition(" ")[0]
            if name not in seen:
                start = clock()
                call()
                if program in seen:
                    sized.append(clock() - start)
                device.synchronize()
            seen |= {name, program}
            for _ in range(CHUNK):
                start = clock()
                call()
                times.append(clock() - start)
            device.synchronize()
            time.sleep(pause_s)
    order = sorted(range(len(times)), key=times.__getitem__, reverse=True)[:SLOWEST]
    slowest = [
        [round(times[n] / 1e3, 1), ways[n // CHUNK % len(ways)][0], _own(n, len(ways))]
        for n in order
    ]
    return {"ns": times, "slowest": slowest, "new_size_ns": sized}


def _own(number: int, ways: int) -> int:
    """Which call of its own way the so-manieth of all is."""
    return number // (CHUNK * ways) * CHUNK + number % CHUNK


def learned() -> dict[str, int]:
    """What learning has done in this process, all in all."""
    ledgers = [decider.standing.ledger for decider in process.deciders().all()]
    return {
        "timings": sum(one.timings for one in ledgers),
        "fetches": sum(one.fetches for one in ledgers),
        "workloads": len(ledgers),
    }


# -- and the one that compares


class Side:
    """A process at work in one mode."""

    def __init__(self, mode: str, folder: Path, given: argparse.Namespace) -> None:
        (folder / mode).mkdir()
        words = {
            "VYRE_CACHE_DIR": str(folder / mode),
            "VYRE_AUTOTUNER": mode,
            "VYRE_POLICY": "natural",
            "VYRE_DEVICE": given.device,
        }
        command = [sys.executable, __file__, "--device", given.device, "--sizes", given.sizes]
        self._process = subprocess.Popen(  # noqa: S603  # our own script
            [*command, "--pause", str(given.pause), "--worker", str(folder)],
            env=settings.for_child(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.device = self._answer()

    def block(self, numbers: Sequence[int], calls: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([list(numbers), calls]) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = self._answer()
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("a process ended; its error is above")
        return json.loads(line)


def summary(times: Sequence[Sequence[int]]) -> dict[str, float]:
    """Percentiles in microseconds over all blocks."""
    every = np.sort(np.concatenate([np.asarray(some) for some in times])) / 1e3
    last = len(every) - 1
    places = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999, "max": 1.0}
    found = {word: round(float(every[int(at * last)]), 2) for word, at in places.items()}
    return {**found, "over_1_ms": int(np.sum(every > 1000)), "calls": len(every)}


def compare(given: argparse.Namespace) -> dict[str, Any]:
    blocks = -(-given.calls // given.block)
    times: dict[str, list[list[int]]] = {side: [] for side in SIDES}
    slowest: dict[str, list[Any]] = {side: [] for side in SIDES}
    sized: dict[str, list[int]] = {side: [] for side in SIDES}
    last: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = folder / "programs_stalls.py"
        source.write_text(programs((blocks + 1) * given.programs))
        sides = {name: Side(mode, folder, given) for name, mode in SIDES.items()}
        began = time.monotonic()
        for number in range(blocks + 1):
            numbers = range(number * given.programs, (number + 1) * given.programs)
            for side in sorted(SIDES, reverse=bool(number % 2)):
                found = sides[side].block(numbers, given.block)
                if not number:
                    continue  # the compile helper comes up
                times[side].append(found.pop("ns"))
                sized[side] += found.pop("new_size_ns")
                slowest[side] += [[*one, number] for one in found["slowest"]]
                last[side] = found
            if not number:
                time.sleep(given.up)
            if time.monotonic() - began > given.seconds:
                break
        device = sides["off"].device
        for one in sides.values():
            one.close()
    return {
        "device": device,
        **{side: summary(times[side]) for side in SIDES},
        "slowest": {side: sorted(some, reverse=True)[:SLOWEST] for side, some in slowest.items()},
        "new_size_us": {side: summary([some]) for side, some in sized.items() if some},
        "worst_of_each_block_us": {
            side: [round(max(some) / 1e3, 1) for some in times[side]] for side in SIDES
        },
        "learned": {key: last["learning"][key] for key in ("timings", "fetches", "workloads")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--calls", type=int, default=100_000, help="of each side")
    parser.add_argument("--block", type=int, default=10_000, help="calls of a block")
    parser.add_argument("--programs", type=int, default=2, help="new ones in a block")
    parser.add_argument("--sizes", default="18,22,24", help="powers of two, by comma")
    parser.add_argument("--pause", type=float, default=0.004, help="seconds after each 200 calls")
    parser.add_argument("--up", type=float, default=2.0, help="seconds for the compile helper")
    parser.add_argument("--seconds", type=float, default=300.0, help="of all blocks at most")
    parser.add_argument("--save", default="stalls")
    parser.add_argument("--print-only", action="store_true", help="write no result")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        sys.path.insert(0, given.worker)
        sizes = [1 << int(word) for word in given.sizes.split(",")]
        work(vyre.open(given.device), sizes, given.pause)
        return
    found = compare(given)
    words = ("p50", "p99", "p99.9", "p99.99", "max", "over_1_ms", "calls")
    print(f"{'us of host time':18}" + "".join(f"{word:>11}" for word in words))
    for side in ("learning", "off"):
        print(f"{side:18}" + "".join(f"{found[side][word]:11,}" for word in words))
    added = {word: round(found["learning"][word] - found["off"][word], 2) for word in words[:5]}
    found["added_us"] = added
    print(f"{'added':18}" + "".join(f"{added[word]:11,}" for word in words[:5]))
    for word, limit in LIMITS.items():
        held = "within" if added[word] <= limit else "above"
        print(f"{word}: learning adds {added[word]:,} us, {held} the limit of {limit:,.0f}")
    for side, some in found["new_size_us"].items():
        print(
            f"the first call at a further size, {side}: {some['p50']:,} us, at most {some['max']:,}"
        )
    print(f"learned meanwhile: {found['learned']}; the slowest calls:")
    for side in SIDES:
        worst = [f"{us} us {what}, its call {n}" for us, what, n, _ in found["slowest"][side][:4]]
        print(f"  {side}: {'; '.join(worst)}")
    if not given.print_only:
        device = found.pop("device")
        print(f"saved to {save(given.save, found, device=device).name}")


if __name__ == "__main__":
    main()
