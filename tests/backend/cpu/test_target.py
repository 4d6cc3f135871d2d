"""What code is made for, and what the machine has."""

import os
import sys

import pytest

from vyre.backend.cpu import compiler, machine
from vyre.backend.cpu.target import Target
from vyre.errors import InvalidInput

NAMES = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")


@pytest.mark.parametrize(
    ("name", "vector_bytes", "registers", "fma", "f16c"),
    [
        ("x86-64-v2", 16, 16, False, False),
        ("x86-64-v3", 32, 16, True, True),
        ("x86-64-v4", 64, 32, True, True),
        ("aarch64", 16, 32, True, True),
    ],
)
def test_a_named_target_knows_its_vectors(name, vector_bytes, registers, fma, f16c):
    target = Target.of(name)

    assert (target.vector_bytes, target.vector_registers) == (vector_bytes, registers)
    assert (target.has_fma, target.has_f16c) == (fma, f16c)


def test_any_other_name_is_an_error_that_lists_them():
    with pytest.raises(InvalidInput) as caught:
        Target.of("z80")

    assert str(caught.value) == (
        "no target 'z80'\nFix: use one of x86-64-v2, x86-64-v3, x86-64-v4, aarch64"
    )


@pytest.mark.parametrize(
    ("triple", "system"),
    [
        ("x86_64-unknown-linux-gnu", "linux"),
        ("arm64-apple-darwin24.1.0", "macos"),
        ("x86_64-pc-windows-msvc", "windows"),
        ("riscv64-unknown-freebsd", "other"),
    ],
)
def test_a_triple_tells_the_system(triple, system):
    assert Target(triple=triple, cpu="", features="").system == system


FUSED = """
define float @f(float %a, float %b, float %c) nounwind {
  %product = fmul float %a, %b
  %sum = fadd float %product, %c
  ret float %sum
}
"""
WIDE = """
define void @f(ptr %p) nounwind "prefer-vector-width"="512" {
  %v = load <32 x float>, ptr %p, align 4
  %w = fmul <32 x float> %v, %v
  store <32 x float> %w, ptr %p, align 4
  ret void
}
"""


@pytest.mark.parametrize("name", [*NAMES, "host"])
def test_nothing_is_contracted_that_was_written_apart(name):
    target = compiler.host() if name == "host" else Target.of(name)

    assert "fma" not in compiler.assembly(FUSED, target).replace("fmadd", "fma")


def test_a_function_may_ask_for_vectors_of_512_bits():
    assert "zmm" in compiler.assembly(WIDE, Target.of("x86-64-v4"))


def test_a_lower_level_has_no_instructions_of_a_higher():
    assert "ymm" in compiler.assembly(WIDE, Target.of("x86-64-v3"))
    assert "zmm" not in compiler.assembly(WIDE, Target.of("x86-64-v3"))
    assert "ymm" not in compiler.assembly(WIDE, Target.of("x86-64-v2"))


def test_the_host_is_a_target_that_llvm_knows():
    assert isinstance(compiler.compile(FUSED, compiler.host()), bytes)


def write(folder, **texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("_dot_", ".")).write_text(text)


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says")
class TestCores:
    def cores(self, tmp_path):
        return machine.cores(tmp_path / "proc", tmp_path / "groups")

    def test_without_a_quota_there_are_as_many_as_the_process_may_use(self, tmp_path):
        assert self.cores(tmp_path) == len(os.sched_getaffinity(0))

    @pytest.mark.parametrize(("text", "least"), [("50000 100000", 1), ("100000 100000", 1)])
    def test_a_quota_bounds_them(self, tmp_path, text, least):
        write(tmp_path / "proc" / "self", cgroup="0::/a/b\n")
        write(tmp_path / "groups" / "a" / "b", cpu_dot_max=text)

        assert self.cores(tmp_path) == least

    def test_so_does_the_quota_of_a_group_around(self, tmp_path):
        write(tmp_path / "proc" / "self", cgroup="0::/a/b\n")
        write(tmp_path / "groups" / "a" / "b", cpu_dot_max="max 100000")
        write(tmp_path / "groups" / "a", cpu_dot_max="100000 100000")

        assert self.cores(tmp_path) == 1

    def test_so_does_one_of_the_first_version(self, tmp_path):
        write(tmp_path / "proc" / "self", cgroup="3:cpu,cpuacct:/x\n2:memory:/y\n")
        folder = tmp_path / "groups" / "cpu" / "x"
        write(folder, cpu_dot_cfs_quota_us="30000", cpu_dot_cfs_period_us="100000")

        assert self.cores(tmp_path) == 1

    def test_no_quota_and_nonsense_bound_nothing(self, tmp_path):
        write(tmp_path / "proc" / "self", cgroup="0::/a\n1:cpu:/a\nnonsense\n")
        write(tmp_path / "groups" / "a", cpu_dot_max="max 100000")
        write(tmp_path / "groups" / "cpu" / "a", cpu_dot_cfs_quota_us="-1")

        assert self.cores(tmp_path) == len(os.sched_getaffinity(0))

    def test_caches_are_as_listed_and_the_rest_as_on_a_small_machine(self, tmp_path):
        write(tmp_path / "index0", level="1\n", type="Data\n", size="48K\n")
        write(tmp_path / "index1", level="1\n", type="Instruction\n", size="64K\n")
        write(tmp_path / "index2", level="2\n", type="Unified\n", size="2M\n")
        write(tmp_path / "index3", level="3\n", type="Unified\n", size="many\n")

        found = machine.caches(tmp_path)

        assert found == machine.Caches(l1=48 << 10, l2=2 << 20)

    def test_the_model_is_what_the_processor_calls_itself(self, tmp_path):
        write(tmp_path, cpuinfo="processor\t: 0\nmodel\t: 7\nmodel name\t: A Fast One\n")

        assert machine.model(tmp_path) == "A Fast One"
        assert machine.model(tmp_path / "nowhere")
