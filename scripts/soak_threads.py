"""Many threads call a few kernels that all learn: right results, nothing lost, no deadlock.

Each thread calls three kernels in turn, each at two sizes, on arrays of its own, and compares every
result with the first one, which is compared with NumPy. In the end every call was counted, and
every timing that the learners heard is in the store.
"""

import argparse
import faulthandler
import sys
import tempfile
import threading
import time
from collections import Counter

import numpy as np

import vyre
from vyre import kernels, settings
from vyre.kernels.samples import sample
from vyre.learn import process

KERNELS = (kernels.saxpy, kernels.gelu, kernels.stencil5)
SIZES = (1 << 12, 1 << 16)


def work(device: vyre.Device, end: float, found: Counter[str], calls: Counter[str]) -> None:
    cases = []
    for kernel in KERNELS:
        for size in SIZES:
            given = sample(kernel.name, size)
            arrays = [device.array(array) for array in given.arrays]
            out = kernel(*arrays, **given.options)
            calls[kernel.name] += 1
            first = np.asarray(out)
            if not np.allclose(first, given.expected()[0], rtol=1e-4, atol=1e-5):
                found["wrong"] += 1
            cases.append((kernel, arrays, given.options, out, first))
    while time.monotonic() < end:
        for kernel, arrays, options, out, first in cases:
            kernel(*arrays, out=out, **options)
            calls[kernel.name] += 1
            if not np.array_equal(np.asarray(out), first):
                found["different"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    settings.preset("VYRE_CACHE_DIR", tempfile.mkdtemp())
    faulthandler.dump_traceback_later(3 * given.seconds + 60, exit=True)  # a deadlock says where
    device = vyre.open("opencl")
    found: Counter[str] = Counter()
    counts = [Counter[str]() for _ in range(given.threads)]
    end = time.monotonic() + given.seconds
    threads = [threading.Thread(target=work, args=(device, end, found, count)) for count in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    device.synchronize()
    time.sleep(0.5)  # the last timings are read beside the calls
    learners = process.deciders()
    for learner in learners.all():
        learner.stop("the soak is over")
    assert learners.desk.drained(30)
    recorder = process.recorder()
    recorder.flush()
    calls = sum(counts, Counter[str]())
    counted = sum(learner.dispatches for learner in learners.all())
    heard = sum(learner.standing.timings for learner in learners.all())
    kept = sum(
        summary.count for one in learners.all() for summary in recorder.summaries(one.workload)
    )
    adopted = sum(one.standing.decision.reason == "adopted" for one in learners.all())
    print(f"{calls.total():,} calls by {given.threads} threads, {counted:,} counted")
    print(f"{heard:,} timings heard, {kept:,} kept")
    print(f"{len(learners.all())} workloads, {adopted} of them adopted something")
    print(f"{found['wrong']} wrong results, {found['different']} that changed")
    if found or counted != calls.total() or heard != kept:
        sys.exit("failed")


if __name__ == "__main__":
    main()
