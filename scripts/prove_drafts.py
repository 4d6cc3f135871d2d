"""Draws kernels of CUDA C++ and looks for one that is proved free of its block size, and is not.

    python scripts/prove_drafts.py [KERNELS] [SEED]

Each is compiled to PTX for two generations of GPUs, and run on the host, thread by thread, under
several blocks. Needs NVRTC and g++, and no GPU.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from vyre.adapter.ptx.free import why_not
from vyre.backend.base import Unbuilt
from vyre.backend.cuda import nvrtc
from vyre.testing.block_drafts import HELPED, draft, on_host

_AT_ONCE = 100


def main(kernels: int, seed: int) -> int:
    rng, counts = Random(seed), Counter[str]()
    wrong = 0
    for first in range(0, kernels, _AT_ONCE):
        drafts = [draft(f"k{first + number}", rng) for number in range(_AT_ONCE)]
        text = HELPED + "\n".join(one.text for one in drafts)
        made = [nvrtc.ptx(text, (f"-arch=compute_{arch}", "--std=c++17")) for arch in (90, 100)]
        with tempfile.TemporaryDirectory() as folder:
            for one, same in on_host(drafts, Path(folder)):
                for found in made:
                    assert not isinstance(found, Unbuilt), found.log
                    lacks = why_not(found, one.name, steps=True)
                    asks = "asks" if one.asks else "asks not"
                    proved = "proved" if lacks is None else "not proved"
                    counts[f"{asks}, {proved}, {'the same' if same else 'not the same'}"] += 1
                    if lacks is None and not same:
                        wrong += 1
                        print(one.text)
                    if lacks is not None and not one.asks and "-v" in sys.argv:
                        print(lacks)
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    return wrong


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    sys.exit(1 if main(*given, *(2000, 1)[len(given) :]) else 0)
