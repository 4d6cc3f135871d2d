"""What a module says of itself, and what there is no code for."""

from dataclasses import replace

import pytest

from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.emit.llvm import Features, emit_llvm
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir import BufferDecl, DataType, Program
from vyre.ir.expr import Ordering
from vyre.model import Code, Order

F32, U32 = DataType.F32, DataType.U32
COPY = ir.store("out", ir.gid(), ir.load("x", ir.gid()))
DECLS = (BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32))


def emit(program, code=None, features=None):
    return emit_llvm(program, code or Code(), features or Features(), analyse(program))


def program(*body, decls=DECLS):
    return Program.wrapped(decls, (64, 1, 1), body or [COPY])


def refusal(program, code=None):
    with pytest.raises((UnsupportedFeature, InvalidInput)) as caught:
        emit(program, code)
    return caught.value


def test_fast_math_gives_the_compiler_no_licence():
    exact = kernels.nbody.program
    fast = replace(exact, options=replace(exact.options, fast_math=True))

    assert emit(fast).text == emit(exact).text


class TestRefusals:
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            (Code(vector=12), "12 lanes side by side\nFix: use a power of two"),
            (Code(vector=4, rows=3), "3 rows side by side\nFix: use a power of two"),
        ],
    )
    def test_lanes_and_rows_are_powers_of_two(self, code, message):
        error = refusal(program(), code)

        assert isinstance(error, InvalidInput)
        assert str(error) == message

    def test_lanes_take_one_item_each(self):
        assert str(refusal(program(), Code(items=4))) == (
            "4 items on a processor that has lanes\nFix: use Code(vector=..., rows=...)"
        )

    def test_teams_have_one_result_each(self):
        code = Code(lanes=32, items=2, order=Order.BLOCKED)

        assert str(refusal(program(), code)) == (
            "2 items on a processor that has lanes\nFix: use items=1"
        )

    def test_no_barrier_waits_for_the_whole_grid(self):
        assert str(refusal(program(COPY, ir.barrier(Ordering.GRID_SYNC)))) == (
            "a barrier that waits for the whole grid\nFix: end the kernel there and launch another"
        )

    def test_elements_are_scalars(self):
        decls = (BufferDecl.read("x", 0, DataType.VEC4_U32), BufferDecl.write("out", 1, F32))
        store = ir.store("out", ir.gid(), ir.f32(1))

        assert str(refusal(program(store, decls=decls))) == (
            "buffer 'x' of vec4u32\nFix: declare it with a scalar element type"
        )

    def test_a_call_of_another_program_has_no_code(self):
        assert str(refusal(program(ir.let("a", ir.call("other", ir.f32(1)))))) == (
            "let a = other(1.0): no device code for other(1.0)\n"
            "Fix: leave it out, or run the program elsewhere"
        )

    @pytest.mark.parametrize(
        ("expr", "text"),
        [
            (ir.binary(ir.BinaryOp.SHUFFLE, ir.gid(), ir.u32(1)), "shuffle(gid(0), 1u32)"),
            (ir.unary(ir.UnaryOp.UNPACK4_LOW, ir.gid()), "unpack4_low(gid(0))"),
            (
                ir.atomic(ir.AtomicOp.LRU_UPDATE, "k", 0, ir.u32(1)),
                "atomic_lru_update(k[0u32], 1u32)",
            ),
        ],
    )
    def test_an_operator_without_instruction_or_definition_has_no_code(self, expr, text):
        decls = (*DECLS, BufferDecl.read_write("k", 2, U32))

        assert str(refusal(program(ir.let("a", expr), decls=decls))) == (
            f"let a = {text}: no device code for {text}\n"
            "Fix: leave it out, or run the program elsewhere"
        )

    def test_a_scalar_has_one_element(self):
        decls = (*DECLS, BufferDecl.uniform("k", 2, F32).with_count(1))
        store = ir.store("out", ir.gid(), ir.load("k", ir.u32(1)))

        assert str(refusal(program(store, decls=decls))) == (
            "out[gid(0)] = k[1u32]: index into the scalar 'k'\nFix: read it at index 0"
        )


class TestModule:
    def test_it_names_its_arguments_in_the_order_of_the_context(self):
        made = emit(kernels.saxpy.program)

        assert made.arguments == ("x", "y", "out", "a")
        assert made.text.startswith("; p0 is 'x', float\n; p1 is 'y', float\n")

    def test_a_name_that_is_no_ascii_is_escaped(self):
        decls = (BufferDecl.read("x", 0, F32), BufferDecl.write("größe\n", 1, F32))
        made = emit(program(ir.let("a", ir.load("x", ir.gid())), decls=decls))

        assert "; p1 is 'gr\\xf6\\xdfe\\n', float\n" in made.text

    def test_a_load_from_outside_reads_a_zero_that_no_array_holds(self):
        """Nothing of an empty array is touched."""
        made = emit(program(ir.store("out", ir.gid(), ir.load("x", ir.gid() * 2))))
        lines = [line.strip() for line in made.text.split("\n")]

        chosen = [line.split(" = ")[0] for line in lines if line.endswith("ptr @zeros")]
        loads = [line.split("load float, ")[1] for line in lines if "load float, " in line]
        assert "@zeros = internal constant [16 x i8] zeroinitializer, align 16" in lines
        assert loads == [f"ptr {register}, align 4" for register in chosen]

    def test_a_function_is_defined_once_for_each_width(self):
        body = [
            ir.let("a", ir.unary(ir.UnaryOp.EXP, ir.load("x", ir.gid()))),
            ir.let("b", ir.unary(ir.UnaryOp.EXP, ir.var("a"))),
            ir.let("c", ir.unary(ir.UnaryOp.EXP, ir.load("x", ir.u32(0)))),
            ir.store("out", ir.gid(), ir.var("b") + ir.var("c")),
        ]
        text = emit(program(*body), Code(vector=16), Features(vector_bytes=32)).text
        defined = [line for line in text.split("\n") if line.startswith("define internal")]
        names = sorted(line.split("@")[1].split("(")[0] for line in defined)

        assert names == ["edge", "exp_f32_1", "exp_f32_16", "exp_f32_8", "tile"]

    def test_unrolled_loops_are_noted_behind_everything(self):
        here = ir.load("x", ir.gid())
        body = [
            ir.let("a", ir.f32(0)),
            ir.loop("k", ir.u32(0), ir.u32(9), [ir.assign("a", ir.var("a") + here)]),
            ir.store("out", ir.gid(), ir.var("a")),
        ]
        text = emit(program(*body), Code(vector=4, unroll=4)).text

        assert text.split("\n")[-5:] == [
            "!0 = distinct !{!0, !1}",
            '!1 = !{!"llvm.loop.unroll.count", i32 4}',
            "!2 = distinct !{!2, !3}",
            '!3 = !{!"llvm.loop.unroll.count", i32 4}',
            "",
        ]
