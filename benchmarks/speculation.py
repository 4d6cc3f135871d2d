"""What speculation costs: each way alone, the adaptive choice, and the Rust crate's rule.

All sides run the same calls in turns, blocks of them at a time. The adaptive side starts knowing
nothing and is charged for everything it tries. Ratios are of total times, with a 95 % interval by
bootstrap over the blocks; the A/A line is one way against itself.
"""

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
from measure import save

import vyre
from vyre import In, Out, Way, f32, u8

RATES = (0.0001, 0.01, 0.1, 0.5, 0.9)
SWITCHING = (0.0001, 0.9, 0.01, 0.5, 0.1)
BLOCK = 20


@vyre.kernel
def below(x: In[f32], maybe: Out[u8], limit: f32):
    """A test of one comparison; uniform numbers make `limit` the hit rate."""
    i = vyre.gid()
    if x[i] < limit:
        maybe[i] = 1


@vyre.kernel
def series(x: In[f32], out: Out[f32]):
    """16 dependent multiply-adds."""
    i = vyre.gid()
    s = x[i]
    for _ in range(16):
        s = s * x[i] + 0.5
    out[i] = s


Side = Callable[[float], None]


class Seed:
    """The rule of the Rust crate: eager while many items commit, serial for ever after."""

    def __init__(self, run: Callable[[float, Way], None]) -> None:
        self.run, self.speculator = run, vyre.seed.AdaptiveSpeculator()

    def __call__(self, rate: float) -> None:
        if self.speculator.should_speculate():
            self.run(rate, Way.EAGER)
            hits = round(rate * 1_000_000)
            self.speculator.record(vyre.seed.SpeculationReport(hits, 1_000_000 - hits))
        else:
            self.run(rate, Way.SERIAL)


def sides(device: vyre.Device, items: int) -> dict[str, Side]:
    """Fresh sides over one array: nothing has been learned, everything has been compiled."""
    x = device.array(np.random.default_rng(0).random(items, dtype=np.float32))
    out = device.zeros(items, np.float32)
    pinned = vyre.speculate(prefilter=below, confirm=series)
    adaptive = vyre.speculate(prefilter=below, confirm=series)

    def run(rate: float, way: Way) -> None:
        pinned(x, limit=rate, out=out, way=way)
        device.synchronize()

    def choose(rate: float) -> None:
        adaptive(x, limit=rate, out=out)
        device.synchronize()

    def one(way: Way) -> Side:
        return lambda rate: run(rate, way)

    for way in Way:
        for _ in range(3):
            run(0.5, way)
            adaptive(x, limit=0.5, out=out, way=way)
    other = vyre.speculate(prefilter=below, confirm=series)
    for _ in range(12):  # slices are launches of another size, which PoCL compiles apart
        other(x, limit=0.5, out=out)
        device.synchronize()
    made: dict[str, Side] = {way.value: one(way) for way in Way}
    made |= {"adaptive": choose, "seed": Seed(run), "gated again": one(Way.GATED)}
    return made


def race(made: dict[str, Side], rates: list[float]) -> dict[str, list[float]]:
    """Seconds of each block of calls on each side, the sides taking turns in changing order."""
    times: dict[str, list[float]] = {name: [] for name in made}
    order = list(made)
    for start in range(0, len(rates), BLOCK):
        for name in order:
            call = made[name]
            begin = time.perf_counter()
            for rate in rates[start : start + BLOCK]:
                call(rate)
            times[name].append(time.perf_counter() - begin)
        order.append(order.pop(0))
    return times


def total_ratio(top: list[float], bottom: list[float]) -> dict[str, float]:
    """The ratio of total times, with its interval by bootstrap over the blocks."""
    rng, count = random.Random(0), len(top)
    found = []
    for _ in range(2000):
        picked = rng.choices(range(count), k=count)
        found.append(sum(top[n] for n in picked) / sum(bottom[n] for n in picked))
    found.sort()
    return {
        "ratio": round(sum(top) / sum(bottom), 4),
        "low": round(found[50], 4),
        "high": round(found[1949], 4),
    }


def judged(what: str, times: dict[str, list[float]], best: list[float]) -> dict[str, object]:
    """Each side against the best way's blocks, printed and kept."""
    found = {
        name: total_ratio(blocks, best) for name, blocks in times.items() if name != "gated again"
    }
    same = total_ratio(times["gated again"], times["gated"])
    shown = "  ".join(f"{name} {ratio['ratio']:.3f}x" for name, ratio in found.items())
    ours = found["adaptive"]
    print(f"{what:<26} {shown}")
    print(
        f"{'':<26} adaptive [{ours['low']:.3f}, {ours['high']:.3f}]"
        f"  A/A [{same['low']:.3f}, {same['high']:.3f}]"
    )
    return {"what": what, "against_best": found, "a_a": same}


def steady(device: vyre.Device, items: int, rate: float, calls: int) -> dict[str, object]:
    times = race(sides(device, items), [rate] * calls)
    best = min((times[way.value] for way in Way), key=sum)
    return judged(f"{rate:.2%} hits", times, best)


def switching(device: vyre.Device, items: int, calls: int, every: int) -> dict[str, object]:
    """Against the way that is best for each rate, as if it were known beforehand."""
    rates = [SWITCHING[n // every % len(SWITCHING)] for n in range(calls)]
    times = race(sides(device, items), rates)
    by_rate = rates[::BLOCK]
    chosen = {
        rate: min(
            (way.value for way in Way),
            key=lambda name: sum(
                t for t, there in zip(times[name], by_rate, strict=True) if there == rate
            ),
        )
        for rate in set(by_rate)
    }
    best = [times[chosen[rate]][n] for n, rate in enumerate(by_rate)]
    return judged(f"switching every {every} calls", times, best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--items", type=int, default=1 << 21)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--save", default="speculation", help="name of the result")
    given = parser.parse_args()
    device = vyre.open(given.device)
    results = [steady(device, given.items, rate, given.calls) for rate in RATES]
    results.append(switching(device, given.items, 10 * given.every, given.every))
    path = save(
        given.save,
        results,
        device=f"{device.info.model}, {device.info.compiler}",
        items=given.items,
        calls=given.calls,
    )
    print(f"saved to {path.name}")


if __name__ == "__main__":
    main()
