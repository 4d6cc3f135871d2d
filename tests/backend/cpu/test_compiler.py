"""Objects out of LLVM IR, and what is said where there is none."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler
from vyre.backend.cpu.target import Target

from .conftest import ADD_ONE


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_an_object_is_made_for_every_target(name, level):
    assert compiler.compile(ADD_ONE, Target.of(name), level).startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("define void @f( {", "expected type"),
        ("\n\ndefine void @f() { ret i32 0 }", ":3:24: error"),
        (
            "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, 2\n"
            " br label %b\nb:\n ret i32 %x }",
            "does not dominate",
        ),
        (
            "declare float @llvm.sqrt.f32(i32)\n"
            "define float @f(i32 %a) {\n %x = call float @llvm.sqrt.f32(i32 %a)\n ret float %x }",
            "Intrinsic has incorrect argument type",
        ),
        ('target triple = "z80"\n!', "error"),
    ],
)
def test_what_llvm_refuses_is_a_value_with_what_it_said(host, text, said):
    made = compiler.compile(text, host.target)

    assert isinstance(made, Unbuilt)
    assert made.reason == f"LLVM {compiler.version()} could not build the module"
    assert said in made.log


def test_a_target_that_llvm_does_not_know_is_a_value_too():
    made = compiler.compile(ADD_ONE, Target(triple="z80-none-none", cpu="", features=""))

    assert isinstance(made, Unbuilt)
    assert "z80" in made.log


@pytest.mark.parametrize(
    "text",
    [
        'define void @f() {\n call void asm sideeffect "nonsense", ""()\n ret void }',
        'define void @f() {\n call void asm "nonsense", ""()\n ret void }',
        'module asm "nonsense"',
    ],
)
def test_inline_assembly_is_refused(host, text):
    assert isinstance(compiler.compile(text, host.target), Unbuilt)


def test_a_name_is_no_inline_assembly(host):
    assert isinstance(compiler.compile("define void @asm() { ret void }", host.target), bytes)


@pytest.mark.parametrize(
    ("name", "intrinsic", "reason"),
    [
        ("x86-64-v3", "aarch64.isb", "@llvm.aarch64.isb is not for x86_64-unknown-linux-gnu"),
        ("aarch64", "x86.sse2", "@llvm.x86.sse2 is not for aarch64-unknown-linux-gnu"),
        (
            "x86-64-v3",
            "x86.avx512.min.ps.512",
            "@llvm.x86.avx512 needs avx512f, which x86-64-v3 does not have",
        ),
        ("x86-64-v2", "x86.avx2.x", "@llvm.x86.avx2 needs avx2, which x86-64-v2 does not have"),
    ],
)
def test_an_instruction_that_the_target_lacks_is_refused_before_llvm_ends_the_process(
    name, intrinsic, reason
):
    text = f"declare void @llvm.{intrinsic}()"

    assert compiler.compile(text, Target.of(name)) == Unbuilt(reason)


def test_refusals_leave_stderr_empty():
    code = (
        "from vyre.backend.cpu import compiler\n"
        "print(type(compiler.compile('define void @f( {', compiler.host())).__name__)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("Unbuilt\n", "")


def test_the_same_text_gives_the_same_object_from_many_threads(host):
    texts = [ADD_ONE.replace("1\n", f"{number}\n") for number in range(6)] * 4
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda text: compiler.compile(text, host.target), texts))

    assert made[:6] * 4 == made
    assert len(set(made)) == 6
