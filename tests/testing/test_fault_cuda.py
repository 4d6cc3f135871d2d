"""Kernels that go wrong on a CUDA device, as far as they can be seen without one."""

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from vyre.backend.base import Unbuilt
from vyre.backend.cuda import nvrtc
from vyre.testing import fault_cuda

NEVER_BUILT = {"is no CUDA", "has no room"}


@pytest.mark.parametrize("way", fault_cuda.KERNELS)
def test_what_goes_wrong_when_it_runs_compiles(way):
    text = fault_cuda.source(("first", way), ("first",), "HOW")
    options = nvrtc.options("sm_90")

    assert not isinstance(nvrtc.compile(f"#define HOW 0\n{text}", options), Unbuilt)
    made = nvrtc.compile(f"#define HOW 1\n{text}", options)
    assert isinstance(made, Unbuilt) is (way in NEVER_BUILT)
