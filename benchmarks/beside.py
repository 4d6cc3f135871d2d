"""What a change costs: calls, preparing and remembering, beside the code before, in one run.

    python benchmarks/beside.py --before ../before

Both sides are processes of their own that stay, each with the sources of one checkout; blocks of
work are handed to them in turns. A ratio is the median over pairs of blocks of this checkout's time
over the other's, with its 95 % interval; the A/A interval is the other checkout against itself.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import halves, ratio, save

from vyre import settings

HERE = Path(__file__).parents[1]

WORKER = """
import json, sys, time
import numpy as np
import vyre
from vyre import In, Out, f32
try:
    from vyre.learn.recorder import Recorder
except ImportError:
    from vyre.runtime.recorder import Recorder
from vyre.store.memory import MemoryStore
from vyre.testing.store_contract import decision, workload
from vyre.model import Schedule, Timed

sys.path.insert(0, sys.argv[1])
from kernels_beside import axpy  # from a file: the source of a kernel is read

device = vyre.open(None if sys.argv[2] == "-" else sys.argv[2])
n = 64
x, y, out = (device.array(np.ones(n, np.float32)) for _ in range(3))
hx, hy, ho = (np.ones(n, np.float32) for _ in range(3))
prepared = axpy.prepare(x, y, a=2.0, out=out)
sizes = iter(range(1000, 10**9))
recorder = Recorder(MemoryStore(), linger_s=0.05)
known, timed = workload(1), Timed(Schedule((64, 1, 1)), 5e4)
recorder.put(decision(1))
program = axpy.program

def new_size():
    size = next(sizes)
    axpy(x_long[:size], y_long[:size], a=2.0)

x_long, y_long = (np.ones(200_000, np.float32) for _ in range(2))
few = (np.ones(4096, np.float32), np.ones(4096, np.float32), np.float32(2.0))

SIDES = {
    "call on device arrays": (lambda: axpy(x, y, a=2.0, out=out), 300),
    "prepared launch": (lambda: prepared(), 300),
    "call on host arrays": (lambda: axpy(hx, hy, a=2.0, out=ho), 60),
    "call of a new size": (new_size, 10),
    "dispatch of a program": (lambda: device.dispatch(program, few), 30),
    "a decision from memory": (lambda: recorder.get(known), 3000),
    "recording a measurement": (lambda: recorder.record(known, timed, 64), 3000),
}
for run, calls in SIDES.values():
    for _ in range(2 * calls):
        run()
device.synchronize()
print(json.dumps(list(SIDES)), flush=True)
for line in sys.stdin:
    run, calls = SIDES[json.loads(line)]
    start = time.perf_counter()
    for _ in range(calls):
        run()
    took = (time.perf_counter() - start) / calls
    device.synchronize()
    print(json.dumps(took), flush=True)
"""

KERNELS = """
@vyre.kernel
def axpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]
"""


class Side:
    """One checkout, at work."""

    def __init__(self, checkout: Path, folder: Path, device: str) -> None:
        kernels = folder / "kernels_beside.py"
        kernels.write_text("import vyre\nfrom vyre import In, Out, f32\n" + KERNELS)
        program = folder / f"worker-{checkout.name}.py"
        program.write_text(WORKER)
        cache = folder / f"cache-{checkout.name}"
        paths = {"PYTHONPATH": str(checkout / "src"), "VYRE_CACHE_DIR": str(cache)}
        self._process = subprocess.Popen(  # noqa: S603  # our own worker
            [sys.executable, str(program), str(folder), device],
            env=settings.for_child(paths),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.work: list[str] = json.loads(self._answer())

    def took(self, work: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(work) + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("a side ended; its error is above")
        return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the code before")
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--device", default="-")
    parser.add_argument("--save", default="beside")
    given = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        before = Side(given.before.resolve(), Path(folder), given.device)
        after = Side(HERE, Path(folder), given.device)
        print(f"{'':<26} {'now':>9} {'before':>9}  ratio  [95 %]          A/A")
        for work in after.work:
            times: tuple[list[float], list[float]] = ([], [])
            for block in range(given.blocks):
                sides = (after, before) if block % 2 else (before, after)
                for side in sides:
                    times[side is before].append(side.took(work))
            found, same = ratio(*times), halves(times[1])
            now, then = (1e6 * sorted(side)[len(side) // 2] for side in times)
            print(
                f"{work:<26} {now:7.2f}us {then:7.2f}us  {found['ratio']:.3f}  "
                f"[{found['low']:.3f}, {found['high']:.3f}]  "
                f"[{same['low']:.3f}, {same['high']:.3f}]"
            )
            results.append(
                {"what": work, "now_us": now, "before_us": then, "ratio": found, "a_a": same}
            )
    head = subprocess.run(  # noqa: S603  # our own checkout
        ["git", "-C", str(given.before), "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
    )
    print(f"saved to {save(given.save, results, before=head.stdout.strip()).name}")


if __name__ == "__main__":
    main()
