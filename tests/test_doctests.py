"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import vyre

OPTIONAL = {"vyre.backend.opencl"}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(vyre.__path__, "vyre.")
    if module.name not in OPTIONAL
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    if name.startswith("vyre.backend.cuda"):
        pytest.importorskip("cuda.bindings")

    failed, _ = doctest.testmod(importlib.import_module(name))

    assert failed == 0
