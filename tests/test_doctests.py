"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import vyre

NEEDS = {
    "vyre.adapter.cupy": "cupy",
    "vyre.adapter.numba": "numba.cuda",
    "vyre.adapter.opencl": "pyopencl",
    "vyre.adapter.opencl_copies": "pyopencl",
    "vyre.adapter.opencl_program": "pyopencl",
    "vyre.adapter.torch": "torch",
    "vyre.adapter.triton": "triton",
    "vyre.backend.cuda": "cuda.bindings",
    "vyre.backend.opencl": "pyopencl",
    "vyre.backend.opencl_texts": "pyopencl",
    "vyre.backend.opencl_time": "pyopencl",
    "vyre.cupy": "cupy",
    "vyre.numba": "numba.cuda",
    "vyre.opencl": "pyopencl",
    "vyre.testing.fault_triton": "triton",
    "vyre.testing.triton_driver": "triton",
    "vyre.torch": "torch",
    "vyre.triton": "triton",
}
"""What modules of these names load, which not everybody has."""
MODULES = sorted(module.name for module in pkgutil.walk_packages(vyre.__path__, "vyre."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    for prefix, library in NEEDS.items():
        if f"{name}.".startswith(f"{prefix}."):
            pytest.importorskip(library)

    failed, _ = doctest.testmod(importlib.import_module(name))

    assert failed == 0
