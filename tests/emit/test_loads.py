"""Each element is loaded once: in vectors, from rows, ahead of time; what changes, each time."""

import re

import pytest

from vyre import ir
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.ir import AtomicOp, BufferDecl, DataType, Program
from vyre.model import Code, Order

F32, U32 = DataType.F32, DataType.U32
X, Y, K = ir.gid(0), ir.gid(1), ir.var("k")


def program(*body, count=0) -> Program:
    made = Program.wrapped(
        [
            BufferDecl.read("x", 0, F32).with_count(count)
            if count
            else BufferDecl.read("x", 0, F32),
            BufferDecl.read("y", 1, F32).with_shape(0, 0),
            BufferDecl.write("out", 2, F32),
            BufferDecl.read_write("old", 3, F32),
            BufferDecl.read_write("bins", 4, U32),
        ],
        (64, 1, 1),
        body,
    )
    ir.check(made)
    return made


def x(index) -> ir.Expr:
    return ir.load("x", index)


def y(row, column) -> ir.Expr:
    return ir.load("y", ir.flat_index("y", row, column))


def total(*values) -> ir.Node:
    return ir.store("out", X, sum(values[1:], values[0]))


def inside(made: Program, **parts) -> str:
    """What the items of an invocation do together, far from every border."""
    code = Code(**({"items": 4, "checked": False} | parts))
    body = emit(made, code, CUDA, analyse(made)).body
    return body.split("pos0 = ")[1].split("} else {")[0]


def columns(text: str, buffer: str = "x", kind: str = "f32") -> list[int]:
    """Where a row is read, counted from its first access."""
    at = r"\(?(-?\d+)\)?"
    form = (
        rf"from_{buffer}\[{at}\]"
        if kind == "f32"
        else rf"const {kind}\*\)\(from_{buffer} \+ {at}\)"
    )
    found = [int(column) for column in re.findall(form, text)]
    return [column - min(found) for column in found]


def lines(text: str, *words: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if all(word in line for word in words)]


def test_neighbours_are_one_vector():
    text = inside(program(total(x(X))), vector=4)

    assert lines(text, "float4", "p_x") == ["const float4 row_x = *(const float4*)(p_x + pos0);"]


def test_two_vectors_lie_a_workgroup_apart_or_side_by_side():
    made = program(total(x(X)))

    strided = lines(inside(made, items=8, vector=4), "float4 row_x")
    blocked = inside(made, items=8, vector=4, order=Order.BLOCKED)

    assert strided == [
        "const float4 row_x = *(const float4*)(p_x + pos0);",
        "const float4 row_x_2 = *(const float4*)(p_x + pos4);",
    ]
    assert columns(blocked, kind="float4") == [0, 4]


def test_shared_neighbours_are_loaded_once():
    made = program(total(x(X - 1), x(X), x(X + 1)))

    text = inside(made, items=8, order=Order.BLOCKED)

    assert sorted(columns(text)) == list(range(10))
    assert len(lines(text, "const f32 row_x")) == 10


def test_items_that_lie_apart_share_nothing():
    made = program(total(x(X - 1), x(X), x(X + 1)))

    assert len(lines(inside(made), "const f32 row_x")) == 4 * 3


def test_what_is_needed_beside_a_vector_comes_alone():
    made = program(total(x(X - 1), x(X), x(X + 1)))

    text = inside(made, items=8, vector=4, order=Order.BLOCKED)

    assert len(lines(text, "float4 row_x")) == 2
    assert columns(text) == [0, 9]


def test_half_a_vector_beyond_is_loaded_whole():
    made = program(total(x(X), x(X + 2)))

    text = inside(made, items=8, vector=4, order=Order.BLOCKED)

    assert columns(text, kind="float4") == [0, 4, 8]
    assert lines(text, "const f32 row_x") == []


def test_checked_codes_load_one_by_one():
    assert "float4" not in inside(program(total(x(X))), vector=4, checked=True)


def test_an_element_of_all_items_is_loaded_once():
    made = program(total(x(X), x(ir.u32(7))))

    assert len(lines(inside(made), "[7u]")) == 1


def test_a_later_statement_takes_what_is_there():
    made = program(
        ir.let("v", x(X)), ir.let("w", x(X) * 2.0), total(ir.var("v"), ir.var("w"), x(X))
    )

    assert len(lines(inside(made), "p_x[")) == 4


def test_a_row_that_a_statement_reads_comes_with_what_follows_of_it():
    made = program(ir.let("v", x(X)), ir.let("w", x(X + 1)), total(ir.var("v"), ir.var("w")))

    text = inside(made, items=8, order=Order.BLOCKED)

    assert sorted(columns(text.split("v0_v =")[0])) == list(range(9))
    assert len(lines(text, "const f32 row_x")) == 9


def test_what_depends_on_a_name_to_come_is_not_loaded_before_it():
    made = program(
        ir.let("v", x(X)), ir.let("at", X + 1), ir.let("w", x(ir.var("at"))), total(ir.var("w"))
    )

    text = inside(made, order=Order.BLOCKED)

    assert lines(text, "p_x[")[-1] == "const f32 row_x_5 = v3_at < len_x ? p_x[v3_at] : 0;"
    assert text.index("u32 v3_at = ") < text.index("p_x[v3_at]")


def test_what_a_loop_has_loaded_is_not_there_behind_it():
    made = program(
        ir.let("s", ir.f32(0)),
        ir.loop("k", 0, ir.buf_len("x"), [ir.assign("s", ir.var("s") + x(K) * x(X))]),
        total(ir.var("s"), x(X)),
    )

    text = inside(made)
    loop, behind = text.split("\n        }\n", 1)

    assert len(lines(loop, "row_x", "p_x[pos")) == 4
    assert len(lines(behind, "row_x", "p_x[pos")) == 4


def test_what_is_there_before_a_loop_stays_within_it():
    made = program(
        ir.let("s", x(X)),
        ir.loop("k", 0, ir.buf_len("x"), [ir.assign("s", ir.var("s") + x(K) * x(X))]),
        total(ir.var("s")),
    )

    text = inside(made)

    assert len(lines(text, "row_x", "p_x[pos")) == 4
    assert len(lines(text, "row_x", "p_x[v_k]")) == 1


def test_one_side_of_a_branch_has_nothing_of_the_other():
    made = program(
        ir.let("s", ir.f32(0)),
        ir.if_(
            ir.buf_len("x") > 9,
            [ir.assign("s", x(X))],
            [ir.assign("s", x(X) + 1.0)],
        ),
        total(ir.var("s")),
    )

    code = Code(items=4, checked=False)
    text = emit(made, code, CUDA, analyse(made)).body.split("pos0 = ")[1]

    assert len(lines(text, "const f32 row_x", "p_x[pos")) == 8


def test_an_array_that_changes_is_loaded_again_where_it_may_have():
    old = ir.load("old", X)
    made = program(
        ir.let("v", old),
        ir.store("old", X, ir.f32(1)),
        ir.let("w", old),
        total(ir.var("v"), ir.var("w"), old),
    )

    text = inside(made)

    assert len(lines(text, "row_old", "p_old[")) == 2 * 4
    assert text.index("p_old[pos3] = value_3") < text.index("row_old_5")


def test_a_load_comes_before_a_store_to_another_array_and_never_to_its_own():
    def loaded_first(stored):
        old = ir.load("old", X)
        made = program(ir.store(stored, X, x(X)), ir.let("w", old), total(ir.var("w")))
        text = inside(made)
        return text.index("= p_old[pos0]") < text.index(f"p_{stored}[pos0] = value_0")

    assert loaded_first("out")
    assert not loaded_first("old")


def test_what_a_round_writes_the_next_one_loads():
    old = ir.load("old", X)
    made = program(
        ir.let("v", old),
        ir.loop("k", 0, ir.buf_len("x"), [ir.store("old", X, old + x(ir.var("k")))]),
        total(ir.var("v"), old),
    )

    before, inside_of_it = inside(made).split("for (", 1)
    rounds, behind = inside_of_it.split("\n        }\n", 1)

    assert [len(lines(part, "row_old", "= p_old[")) for part in (before, rounds, behind)] == [4] * 3


def test_lines_load_what_changes_for_themselves():
    at = Y * ir.extent(0) + X
    old = ir.load("old", at)
    made = program(
        ir.let("v", old), ir.store("old", at, ir.var("v") + 1.0), ir.store("out", at, old)
    )

    text = inside(made, items=1, lines=2)

    first, second = (text.index(f"p_old[(line{line} * n_x) + pos0] =") for line in (0, 1))
    assert first < second
    assert len(re.findall(r"= p_old\[\(line1 \* n_x\) \+ pos0\];", text[first:second])) >= 1
    assert len(re.findall(r"= p_old\[\(line1 \* n_x\) \+ pos0\];", text[second:])) == 1


def test_beside_an_atomic_what_changes_is_loaded_in_turn():
    was = ir.atomic(AtomicOp.ADD, "bins", X, ir.u32(1))
    made = program(ir.let("v", ir.load("bins", X + 1) + was), total(ir.cast(F32, ir.var("v"))))

    assert "row_bins" not in inside(made)


@pytest.mark.parametrize(
    "index", [ir.cast(U32, ir.load("x", X)), (X * X), X // 2], ids=["gather", "square", "half"]
)
def test_an_index_of_no_form_is_loaded_where_it_is_used(index):
    made = program(total(ir.load("old", index)))

    assert "row_old" not in inside(made)


def test_lines_share_rows():
    body = ir.store("out", Y * ir.extent(0) + X, y(Y - 1, X) + y(Y, X) + y(Y + 1, X))

    text = inside(program(body), items=1, lines=4)

    assert len(lines(text, "row_y", "p_y[")) == 6


def test_a_row_is_found_once_and_counted_from():
    body = ir.store("out", Y * ir.extent(0) + X, y(Y, X - 1) + y(Y, X + 1))

    text = inside(program(body), items=2, order=Order.BLOCKED)

    assert len(lines(text, "const f32* from_y")) == 1
    assert "(u64)" in lines(text, "const f32* from_y")[0]
    assert sorted(columns(text, "y")) == [0, 1, 2, 3]


def test_a_vector_that_an_array_may_end_within_is_loaded_one_by_one_there():
    made = program(total(x(X), x(X + 2)))

    text = emit(made, Code(items=8, vector=4, checked=False), CUDA, analyse(made)).body
    border = text.split("len_x - pos7 > ")[1].split("} else {", 1)[1]
    alone = emit(made, Code(items=4, vector=4, checked=False), CUDA, analyse(made)).body

    for text, vectors in ((border, 2), (alone, 1)):
        assert text.count("< len_x && len_x - ") == vectors
        assert len(lines(text, "row_x_", " < len_x ? p_x[")) == 2 * vectors


def test_a_branch_loads_nothing_for_the_statements_behind_it():
    branch = ir.if_(
        ir.buf_len("x") > ir.u32(3), [ir.let("t", X + 1), ir.store("old", X + Y, ir.f32(1.0))]
    )
    made = program(branch, ir.store("out", X, y(Y, X)))

    text = inside(made, items=2, lines=2)

    assert "row_y" not in text.split("if (")[1].split("}\n")[0]
    assert "row_y" in text


def weighted(decl: BufferDecl, *places) -> Program:
    """A sum of x at every position, times weights at places that are the same for all."""
    loads = [
        ir.cast(F32, ir.load("w", ir.flat_index("w", *place) if len(place) > 1 else place[0]))
        for place in places
    ]
    made = Program.wrapped(
        [BufferDecl.read("x", 0, F32), decl, BufferDecl.write("out", 2, F32)],
        (64, 1, 1),
        [ir.store("out", X, sum((x(X) * load for load in loads), ir.f32(0)))],
    )
    ir.check(made)
    return made


def brought(made: Program, **parts) -> list[str]:
    """How weights are loaded."""
    return re.findall(r"const (\w+) row_w\w* = ", inside(made, **({"vector": 4} | parts)))


W = BufferDecl.read("w", 1, F32)
NINE = [(ir.u32(k),) for k in range(9)]


def test_weights_come_in_vectors_and_the_last_alone():
    assert brought(weighted(W.with_count(9), *NINE)) == ["float4", "float4", "f32"]
    assert brought(weighted(W.with_count(9), *NINE), vector=2) == ["float2"] * 4 + ["f32"]
    assert brought(weighted(W.with_count(9), *NINE), vector=1) == ["f32"] * 9


def test_weights_of_several_known_rows_are_as_one_row():
    places = [(ir.u32(j), ir.u32(i)) for j in range(3) for i in range(3)]

    assert brought(weighted(W.with_shape(3, 3), *places)) == ["float4", "float4", "f32"]


def test_a_vector_is_loaded_where_all_of_it_is_wanted():
    assert brought(weighted(W.with_count(9), *NINE[:3], *NINE[4:8])) == ["float4", *["f32"] * 3]
    assert brought(weighted(W.with_count(9), *NINE[1:5])) == ["f32"] * 4


def test_weights_that_are_too_wide_or_whose_place_is_not_known_come_one_by_one():
    wide = BufferDecl.read("w", 1, DataType.F64).with_count(9)
    places = [(ir.u32(j), ir.u32(i)) for j in range(2) for i in range(4)]

    assert brought(weighted(wide, *NINE)) == ["f64"] * 9
    assert brought(weighted(W.with_shape(2, 4), *places)) == ["float4"] * 2
    assert brought(weighted(W.with_shape(0, 0), *places)) == ["f32"] * 8


def test_narrow_weights_share_the_words_of_a_vector():
    eight = [(ir.u32(k),) for k in range(8)]
    narrow = BufferDecl.read("w", 1, DataType.U8).with_count(8)

    assert brought(weighted(narrow, *eight)) == ["uchar4", "uchar4"]


def rows(*places, **parts) -> list[str]:
    """Where the rows of a plane are, as a text says it, of items in lines."""
    loads = [y(row, column) for row, column in places]
    out = BufferDecl.write("out", 2, F32).with_shape(0, 0)
    made = Program.wrapped(
        [BufferDecl.read("y", 1, F32).with_shape(0, 0), out],
        (64, 1, 1),
        [ir.store("out", ir.flat_index("out", Y, X), sum(loads[1:], loads[0]))],
    )
    text = inside(made, **({"vector": 4, "lines": 2} | parts))
    return [line.split(" = ")[1].rstrip(";") for line in lines(text, "* from_y")]


def test_a_row_is_found_by_the_one_before_it():
    first, *others = rows((Y, X), (Y, X + 1), lines=4)

    assert first == "p_y + ((u64)line0 * dim1_y + (pos3 + 1u))"
    assert others == ["from_y + dim1_y", "from_y_2 + dim1_y", "from_y_3 + dim1_y"]


def test_a_row_is_found_by_one_that_reaches_as_far():
    first, *others = rows((Y, X), (Y, X - 1), (Y + 1, X + 1))

    assert first == "p_y + ((u64)(line0 + 1u) * dim1_y + (pos3 + 1u))"
    assert others[-1] == "from_y - dim1_y - 1"


def test_a_row_that_may_lie_outside_is_found_by_itself():
    places = (Y, X), (Y, X + 1), (Y + 1, X - 1), (Y + 1, X)

    assert rows(*places)[2] == "p_y + ((u64)(line1 + 1u) * dim1_y + pos3)"


def coloured(apart: int, *places: int, element=DataType.U8) -> Program:
    """A sum of some elements of a record for each position."""
    loads = [ir.cast(U32, ir.load("p", X * apart + place)) for place in places]
    made = Program.wrapped(
        [BufferDecl.read("p", 0, element), BufferDecl.write("out", 1, DataType.U8)],
        (64, 1, 1),
        [ir.store("out", X, ir.cast(DataType.U8, sum(loads[1:], loads[0])))],
    )
    ir.check(made)
    return made


def test_the_colours_of_pixels_side_by_side_are_whole_vectors():
    text = inside(coloured(3, 0, 1, 2), items=8, vector=8)

    assert [line.split(" = ")[1] for line in lines(text, "uint2 row_p")] == [
        "*(const uint2*)(p_p + ((pos0 * 3u) + 0u));",
        "*(const uint2*)(p_p + ((pos2 * 3u) + 2u));",
        "*(const uint2*)(p_p + ((pos5 * 3u) + 1u));",
    ]
    assert lines(text, "u8 row_p") == []


def test_pixels_that_lie_apart_have_vectors_of_their_own():
    assert len(lines(inside(coloured(3, 0, 1, 2), items=8, vector=4), "uchar4 row_p")) == 6


def test_a_colour_that_is_not_read_may_lie_behind_the_end():
    made = coloured(3, 0, 1)

    text = emit(made, Code(items=4, vector=4, checked=False), CUDA, analyse(made)).body

    assert text.count("< len_p && len_p - ") == 3
    assert text.count("*(const uchar4*)") == 3


def test_what_is_read_far_apart_comes_alone():
    assert "const uchar4" not in inside(coloured(5, 0, 1, 2, 3, 4), items=4, vector=4)


def test_what_is_stored_apart_is_stored_alone():
    made = Program.wrapped(
        [BufferDecl.read("x", 0, F32), BufferDecl.write("out", 1, F32)],
        (64, 1, 1),
        [ir.store("out", X * 2, ir.load("x", X)), ir.store("out", X * 2 + 1, ir.load("x", X))],
    )

    text = inside(made, items=4, vector=4)

    assert len(lines(text, "float4 row_x")) == 1
    assert "*(float4*)" not in text
    assert len(lines(text, "p_out[")) == 8


def kinds_of_loads(*places) -> str:
    """What lanes that pass elements on load of a window: of its ends (e), and in vectors (v)."""
    loads = [y(Y + row - 1, X + column - 1) for row, column in places]
    made = Program.wrapped(
        [
            BufferDecl.read("y", 0, F32).with_shape(0, 0),
            BufferDecl.write("out", 1, F32).with_shape(0, 0),
        ],
        (64, 1, 1),
        [ir.store("out", ir.flat_index("out", Y, X), sum(loads[1:], loads[0]))],
    )
    code = Code(items=4, vector=4, checked=False, fitted=True, group=(32, 4, 1))
    body = emit(made, code, CUDA, analyse(made)).body
    loaded = (line for line in lines(body, " row_y") if "shfl" not in line)
    kinds = {"const float4 row_y": "v", "const f32 row_y": "e"}
    return "".join(kind for line in loaded for what, kind in kinds.items() if line.startswith(what))


def test_ends_come_first_where_each_row_of_several_has_them():
    around = [(row, column) for row in range(3) for column in range(3)]
    cross = [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)]

    assert kinds_of_loads(*around) == "eeeeeevvv"
    assert kinds_of_loads(*cross) == "vveev"
    assert kinds_of_loads((0, 0), (0, 1), (0, 2)) == "vee"
