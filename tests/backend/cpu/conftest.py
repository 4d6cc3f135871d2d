"""Tasks in LLVM IR, and pools that end with their test."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from vyre.backend.cpu import pool as pools
from vyre.backend.cpu.objects import Objects

ADD_ONE = """
define void @add_one(ptr %counts, i64 %first, i64 %last) nounwind {
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
"""Not atomic: an item done twice at once may show once, done by two in turn shows twice."""

LONGEST = """
define void @longest(ptr %record, i64 %first, i64 %last) nounwind {
  %length = sub i64 %last, %first
  %old = atomicrmw max ptr %record, i64 %length seq_cst
  %at = getelementptr i64, ptr %record, i64 1
  %calls = atomicrmw add ptr %at, i64 1 seq_cst
  ret void
}
"""


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    return Objects(tmp_path_factory.mktemp("objects"))


@pytest.fixture(scope="session")
def host(objects):
    return objects.host()


@pytest.fixture(scope="session")
def add_one(objects, host):
    (address,) = objects.load(ADD_ONE, ["add_one"], host)
    return address


@pytest.fixture(scope="session")
def longest(objects, host):
    (address,) = objects.load(LONGEST, ["longest"], host)
    return address


@pytest.fixture
def make_pool(objects, host):
    made = []

    def make(threads, cores=64):
        made.append(pools.opened(objects, host, threads, cores=cores))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def call():
    """Calls an address as a task."""
    shape = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

    def called(address, array, first, last):
        assert isinstance(array, np.ndarray)
        shape(address)(array.ctypes.data, first, last)

    return called
