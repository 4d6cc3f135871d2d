"""Objects in memory, by both loaders; what is odd or damaged is refused before it runs."""

import ctypes
import platform
import struct
import sys
from random import Random

import numpy as np
import pytest

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler, elf, loader
from vyre.backend.cpu.target import Target

from .conftest import ADD_ONE

own = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="loads ELF of x86-64"
)

RICH = """
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@kept = global i32 5
@names = constant [2 x ptr] [ptr @table, ptr @kept]
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal i32 @add(i32 %a, i32 %b) nounwind noinline {
  %sum = add i32 %a, %b
  ret i32 %sum
}
define void @task(ptr %out, i64 %first, i64 %last) nounwind {
  call void @llvm.memset.p0.i64(ptr %out, i8 1, i64 %last, i1 false)
  %at = getelementptr [4 x i32], ptr @table, i64 0, i64 %first
  %read = load i32, ptr %at
  %old = load i32, ptr @kept
  %new = call i32 @add(i32 %old, i32 %read)
  store volatile i32 %new, ptr @kept
  store i32 %new, ptr %out
  %which = getelementptr [2 x ptr], ptr @names, i64 0, i64 %first
  %where = load ptr, ptr %which
  %byte = load i32, ptr %where
  %next = getelementptr i32, ptr %out, i64 1
  store i32 %byte, ptr %next
  ret void
}
"""
"""Constants, data that is written, addresses as data, calls within and out."""


@pytest.fixture(params=["own", "llvm"])
def load(request, host):
    if request.param == "llvm":
        return lambda data, names: loader.by_llvm(data, names, host.target, loader.library())
    if not loader.own_loader_serves(host.target):
        pytest.skip("objects of this machine are LLVM's to load")
    return lambda data, names: loader.by_own_loader(data, names, loader.library())


@pytest.mark.parametrize("level", [1, 2, 3])
def test_an_object_of_many_kinds_of_references_runs(host, load, call, level):
    (task,) = load(compiler.compile(RICH, host.target, level), ["task"])
    out = np.zeros(8, np.int32)

    call(task, out, 1, 32)
    assert list(out[:3]) == [25, 25, 0x01010101]

    call(task, out, 0, 32)
    assert list(out[:2]) == [35, 10]


def test_several_names_are_found_in_one_object(host, load):
    text = ADD_ONE + ADD_ONE.replace("@add_one", "@again")

    first, second = load(compiler.compile(text, host.target), ["add_one", "again"])

    assert first != second


def test_two_objects_of_one_name_do_not_meet(host, load, call):
    (one,) = load(compiler.compile(ADD_ONE, host.target), ["add_one"])
    two_more = ADD_ONE.replace("%old, 1", "%old, 2")
    (two,) = load(compiler.compile(two_more, host.target), ["add_one"])
    out = np.zeros(4, np.int32)

    call(one, out, 0, 4)
    call(two, out, 0, 2)

    assert list(out) == [3, 3, 1, 1]


def test_a_name_that_is_not_there_is_a_value(host):
    made = loader.load(compiler.compile(ADD_ONE, host.target), ["other"], host.target)

    assert isinstance(made, Unbuilt)


@own
def test_what_is_not_offered_is_refused_by_name(host):
    text = (
        "declare void @launch(ptr)\ndefine void @f(ptr %p) { call void @launch(ptr %p) ret void }"
    )

    made = loader.load(compiler.compile(text, host.target), ["f"], host.target)

    assert isinstance(made, Unbuilt)
    assert "it needs 'launch', which is not offered" in made.reason


@own
def test_what_is_offered_is_called(host):
    seen = []
    shape = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    launch = shape(seen.append)
    text = (
        "declare void @launch(ptr)\ndefine void @f(ptr %p) { call void @launch(ptr %p) ret void }"
    )
    table = {"launch": ctypes.cast(launch, ctypes.c_void_p).value}

    (address,) = loader.load(compiler.compile(text, host.target), ["f"], host.target, table)
    shape(address)(4096)

    assert seen == [4096]


@own
@pytest.mark.parametrize(
    "text",
    [
        "@x = thread_local global i32 1\ndefine ptr @f() { ret ptr @x }",
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]"
        " [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\n"
        "@x = global i32 0\ndefine void @f() { store volatile i32 1, ptr @x ret void }",
    ],
)
def test_what_this_loader_does_not_know_is_left_to_llvm(text):
    data = compiler.compile(text, Target.of("x86-64-v2"))

    with pytest.raises(elf.Unknown):
        elf.Object(data).image(1 << 20, {"__tls_get_addr": 1 << 20})


@own
@pytest.mark.parametrize("data", [b"", b"\x7fELF", bytes(64), b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(elf.Refused):
        elf.Object(data)


@own
def test_an_object_for_another_processor_is_refused():
    with pytest.raises(elf.Refused):
        elf.Object(compiler.compile(ADD_ONE, Target.of("aarch64")))


@own
def test_every_cut_of_an_object_is_refused():
    data = compiler.compile(RICH, Target.of("x86-64-v3"))

    for end in range(0, len(data), 7):
        with pytest.raises(elf.Refused):
            elf.Object(data[:end]).image(1 << 20, loader.library())


@own
def test_damage_is_refused_or_stays_within_the_image():
    """Whatever bytes are flipped: nothing is run here, and nothing but Refused is raised."""
    data = compiler.compile(RICH, Target.of("x86-64-v3"))
    rng = Random(5)
    refused = 0
    for _ in range(4000):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            parsed = elf.Object(bytes(damaged))
            assert 0 <= parsed.symbol("task") < parsed.layout.nbytes
            image = parsed.image(1 << 20, loader.library())
        except elf.Refused:
            refused += 1
        else:
            assert len(image) == parsed.layout.nbytes <= elf.MOST_BYTES + 3 * elf.PAGE

    assert 100 < refused < 4000


@own
def test_damage_to_the_fields_that_lead_elsewhere_is_refused_or_stays_within():
    """Extreme numbers, aligned as the fields of headers, symbols and relocations are."""
    data = compiler.compile(RICH, Target.of("x86-64-v3"))
    start = struct.unpack_from("<Q", data, 40)[0]
    for offset in [*range(0, 64, 4), *range(start, len(data) - 8, 4)]:
        for value in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, len(data)):
            damaged = bytearray(data)
            struct.pack_into("<I", damaged, offset, value)
            try:
                parsed = elf.Object(bytes(damaged))
                parsed.symbol("task")
                image = parsed.image(1 << 20, loader.library())
            except elf.Refused:
                continue
            assert len(image) == parsed.layout.nbytes <= elf.MOST_BYTES + 3 * elf.PAGE


@own
def test_loaded_code_cannot_be_written_nor_its_data_run(host):
    (task,) = loader.by_own_loader(compiler.compile(RICH, host.target), ["task"], loader.library())
    with open("/proc/self/maps") as maps:  # noqa: PTH123  # one line after another
        rights = {
            line.split()[1]
            for line in maps
            for first, _, last in [line.split()[0].partition("-")]
            if int(first, 16) <= task < int(last, 16)
        }

    assert rights == {"r-xp"}
