"""Everything up to the cubin, which needs no GPU."""

import os
from pathlib import Path

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from cuda.bindings import nvrtc as bindings

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.backend.base import Job, Unbuilt
from vyre.backend.cuda import nvrtc
from vyre.backend.cuda.build import Builder, threads_for
from vyre.backend.cuda.cache import CubinCache, name_of
from vyre.backend.cuda.nvrtc import Cubin
from vyre.emit import CUDA, bundle, emit
from vyre.ir.expr import AtomicOp
from vyre.model import Code, Order

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.cu"))
EXACT = nvrtc.options("sm_90")
FORMS = (
    Code(),
    Code(checked=False),
    Code(items=4, vector=4, checked=False),
    Code(items=8, vector=2, unroll=4, checked=False),
    Code(items=3, order=Order.BLOCKED),
)


def jobs(program, *codes):
    facts = analyse(program)
    return [Job(program, code, facts) for code in codes]


def builder(folder):
    return Builder(None, "sm_90", CubinCache(folder), 1024)


class Counting:
    """Compiles, and counts how often."""

    def __init__(self):
        self.count = 0

    def __call__(self, text, given):
        self.count += 1
        return nvrtc.compile(text, given)


TEXT = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.0f; }'
NAME = name_of(TEXT, EXACT, "13.4")


def test_seven_counters_of_the_largest_size_compile():
    """Each would fit a workgroup's memory; all of them would not."""
    names = [f"sums{number}" for number in range(7)]
    buffers = [ir.BufferDecl.read("x", 0, ir.DataType.U32)]
    buffers += [
        ir.BufferDecl.read_write(name, 1 + number, ir.DataType.U32).with_count(2048)
        for number, name in enumerate(names)
    ]
    add = [
        ir.let(f"was_{name}", ir.atomic(AtomicOp.ADD, name, ir.load("x", ir.gid()), ir.u32(1)))
        for name in names
    ]
    program = ir.Program.wrapped(buffers, (64, 1, 1), add)

    source = emit(program, Code(items=4), CUDA, analyse(program))

    assert isinstance(nvrtc.compile(source.text, EXACT), Cubin)


def test_the_options_keep_ieee_754():
    wanted = {"--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"}

    assert wanted < set(EXACT)
    assert "--gpu-architecture=sm_90" in EXACT


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_golden_source_compiles(path):
    made = nvrtc.compile(path.read_text(), EXACT)

    assert isinstance(made, Cubin), made
    assert made.image.startswith(b"\x7fELF")
    assert set(made.registers) == {"vyre_kernel"}


def said_of(text: str) -> str:
    """What NVRTC says of a source that it builds."""
    _, program = bindings.nvrtcCreateProgram(text.encode(), b"vyre.cu", 0, [], [])
    try:
        given = [option.encode() for option in EXACT]
        (code,) = bindings.nvrtcCompileProgram(program, len(given), given)
        assert not code
        _, size = bindings.nvrtcGetProgramLogSize(program)
        log = bytearray(size)
        bindings.nvrtcGetProgramLog(program, log)
    finally:
        bindings.nvrtcDestroyProgram(program)
    return log.rstrip(b"\0").decode()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_compiler_warns_of_nothing_and_keeps_all_in_registers(path):
    said = said_of(path.read_text())

    assert "warning" not in said
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said


def test_a_warning_would_be_seen():
    odd = 'extern "C" __global__ void k(float* x) {\n#pragma no_such_thing\n*x = 1.0f; }'

    assert "warning" in said_of(odd)


@pytest.mark.parametrize("kernel", kernels.ALL, ids=lambda kernel: kernel.name)
def test_several_codes_of_a_bundled_kernel_compile_in_one_build(kernel):
    facts = analyse(kernel.program)
    sources = [
        emit(kernel.program, code, CUDA, facts, f"form_{number}")
        for number, code in enumerate(FORMS)
    ]

    made = nvrtc.compile(bundle(sources), EXACT)

    assert isinstance(made, Cubin), made
    assert set(made.registers) == {source.entry for source in sources}


def test_without_contraction_a_multiplication_and_an_addition_stay_two():
    text = 'extern "C" __global__ void k(float* x, float a, float b) { *x = a * *x + b; }'

    exact = nvrtc.compile(text, EXACT)
    fast = nvrtc.compile(text, ("--gpu-architecture=sm_90", "--use_fast_math"))

    assert isinstance(exact, Cubin)
    assert isinstance(fast, Cubin)
    assert exact.image != fast.image


def test_a_refused_source_is_a_value_with_the_log():
    made = nvrtc.compile('extern "C" __global__ void k() { nothing; }', EXACT)

    assert isinstance(made, Unbuilt)
    version = nvrtc.version()
    assert made.reason == (f"NVRTC {version} could not build the kernel (NVRTC_ERROR_COMPILATION)")
    assert 'identifier "nothing" is undefined' in made.log


def test_an_architecture_that_nvrtc_does_not_know_is_a_value():
    made = nvrtc.compile(TEXT, nvrtc.options("sm_1"))

    assert isinstance(made, Unbuilt)
    assert made.reason.endswith("(NVRTC_ERROR_INVALID_OPTION)")


def test_what_is_in_the_cache_is_not_compiled_again(tmp_path):
    cache, compiler = CubinCache(tmp_path / "cubin"), Counting()

    first = cache.get_or_compile(NAME, TEXT, EXACT, compiler)
    second = cache.get_or_compile(NAME, TEXT, EXACT, compiler)

    assert compiler.count == 1
    assert second == first
    assert [path.suffix for path in (tmp_path / "cubin").iterdir()] == [".cubin"]


def test_the_name_holds_everything_that_decides_what_a_build_gives():
    names = {
        name_of(TEXT, EXACT, "13.4"),
        name_of(TEXT + " ", EXACT, "13.4"),
        name_of(TEXT, nvrtc.options("sm_100"), "13.4"),
        name_of(TEXT, (*EXACT, "--fmad=true"), "13.4"),
        name_of(TEXT, EXACT, "13.5"),
    }

    assert len(names) == 5


@pytest.mark.parametrize("damage", [b"", b"short", None], ids=["empty", "short", "one bit"])
def test_a_damaged_file_is_compiled_anew_and_mended(tmp_path, damage):
    cache, compiler = CubinCache(tmp_path), Counting()
    whole = cache.get_or_compile(NAME, TEXT, EXACT, compiler)
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(bytes(data) if damage is None else damage)

    again = cache.get_or_compile(NAME, TEXT, EXACT, compiler)

    assert compiler.count == 2
    assert again == whole
    assert cache.get_or_compile(NAME, TEXT, EXACT, compiler) == whole
    assert compiler.count == 2


def test_a_refused_source_is_not_kept(tmp_path):
    cache, compiler = CubinCache(tmp_path), Counting()

    for _ in range(2):
        assert isinstance(cache.get_or_compile(NAME, "nonsense", EXACT, compiler), Unbuilt)

    assert compiler.count == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(tmp_path):
    (tmp_path / "file").write_text("")
    cache, compiler = CubinCache(tmp_path / "file" / "cubin"), Counting()

    assert isinstance(cache.get_or_compile(NAME, TEXT, EXACT, compiler), Cubin)


def test_without_a_home_folder_nothing_is_left_in_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = CubinCache(Path("cubin"))

    assert isinstance(cache.get_or_compile(NAME, TEXT, EXACT, nvrtc.compile), Cubin)

    assert list(tmp_path.iterdir()) == []


def test_pruning_drops_what_was_used_longest_ago(tmp_path):
    cache = CubinCache(tmp_path)
    for age, name in enumerate("abc"):
        cache.put(name, Cubin(bytes(1000)))
        os.utime(tmp_path / f"{name}.cubin", (10_000 - age, 10_000 - age))
    left = tmp_path / ".d.cubin.0.tmp"
    left.write_bytes(b"")
    os.utime(left, (1, 1))

    cache.prune(most_bytes=2200)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.cubin", "b.cubin"]


def test_compiling_only_needs_no_device_and_tells_the_threads(tmp_path):
    made = builder(tmp_path).compile_only(jobs(kernels.saxpy.program, Code(), Code(items=4)))

    assert [one.max_threads for one in made] == [1024, 1024]
    assert [one.entry for one in made] == ["vyre_kernel_0", "vyre_kernel_1"]
    assert [one.guarded for one in made] == [(0,), (0,)]
    (file,) = tmp_path.iterdir()  # one build for both
    assert {f"{one.name}.cubin" for one in made} == {file.name}


def test_many_registers_leave_fewer_threads():
    assert [threads_for(count, 1024) for count in (0, 32, 64, 65, 80, 128, 168, 255)] == [
        *(0, 1024, 1024, 896, 768, 512, 384, 256)
    ]
