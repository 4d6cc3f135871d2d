"""What a speculation has chosen is where the next process begins."""

import os
import subprocess
import sys

import pytest

import vyre

KERNELS = """
import numpy as np, sys, time, vyre
from vyre import In, Out, f32, u8
from vyre.learn import process

@vyre.kernel
def below(x: In[f32], maybe: Out[u8], limit: f32):
    i = vyre.gid()
    if x[i] < limit:
        maybe[i] = 1

@vyre.kernel
def series(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    s = x[i]
    for _ in range(64):
        s = s * x[i] + 0.5
    out[i] = s

found = vyre.speculate(prefilter=below, confirm=series)
x = np.random.default_rng(0).random(1 << 18, dtype=np.float32)
"""

FIRST = """
end = time.monotonic() + 100
while time.monotonic() < end:
    found(x, limit=0.001)
    (size,) = found._sizes.values()
    if size._remembered is not None:
        break
else:
    sys.exit("it never settled: " + found.explain())
process.recorder().flush()
print(size._remembered["way"])
"""

SECOND = """
found(x, limit=0.001)
(size,) = found._sizes.values()
print(size._latest.decision.config["way"], size._latest.decision.reason)
"""


@pytest.mark.slow
@pytest.mark.skipif(not vyre.devices()[0].backend.compiles, reason="every way takes long there")
def test_a_choice_survives_a_restart(tmp_path):
    def said(text):
        environment = {**os.environ, "VYRE_CACHE_DIR": str(tmp_path)}
        path = tmp_path / "program.py"
        path.write_text(KERNELS + text)
        ran = subprocess.run(
            [sys.executable, str(path)], env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split("\n")[0]

    way = said(FIRST)

    assert said(SECOND) == f"{way} remembered"
