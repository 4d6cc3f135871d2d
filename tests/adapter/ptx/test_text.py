"""PTX that nobody's compiler wrote: what is not known to be read rightly is refused."""

from random import Random

import pytest

from vyre.adapter.ptx import flow
from vyre.adapter.ptx.free import why_not
from vyre.adapter.ptx.text import read
from vyre.adapter.ptx.values import (
    Address,
    Entry,
    Nowhere,
    Number,
    Register,
    Several,
    Special,
    Step,
    Symbol,
    Target,
    Unclear,
    Unread,
)

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
PLACE = """
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
"""
STORE = """
    ld.param.u64 %rd1, [f_param_0];
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
"""
REGISTERS = """
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
"""


def module(body, head=HEAD, parameters=".param .u64 f_param_0", bounds="", before=""):
    return f"{head}{before}.visible .entry f({parameters}) {bounds} {{ {body} }}\n"


def kernel(place=PLACE, more="", store=STORE, registers=REGISTERS, **of_module):
    return module(f"{registers}{place}{more}{store}", **of_module)


def lacks(text, *, steps=True, name="f"):
    return why_not(text, name, steps=steps)


def test_a_kernel_is_read_to_values():
    text = module(
        """.reg .b32 %r<9>; .reg .b64 %rd1; .reg .pred %p1;
        .local .align 4 .b8 held[8]; .pragma "nounroll"; .loc 1 2 3
        $L: @!%p1 mov.b64 {%r1, _}, %rd1;
        ld.global.nc.v2.u32 {%r2, %r3}, [%rd1+-4]; mov.u64 %rd1, held; setp.eq.s32 %p1|_, %r1, -7;
        mov.u32 %r4, %tid.x; bra.uni $L; what (a), b; """
    )

    found = read(text, "f")

    assert isinstance(found, Entry)
    assert found.labels == {"$L": 0}
    assert found.spaces == {"f_param_0": "param", "held": "local"}
    assert found.sizes == {"f_param_0": 8}
    one, two, three = (Register(f"%r{number}") for number in (1, 2, 3))
    wide, condition = Register("%rd1"), Register("%p1")
    assert found.steps == (
        Step("mov", ("b64",), (Several((one, Nowhere())), wide), condition),
        Step("ld", ("global", "nc", "v2", "u32"), (Several((two, three)), Address(wide, -4))),
        Step("mov", ("u64",), (wide, Symbol("held"))),
        Step("setp", ("eq", "s32"), (Several((condition, Nowhere())), one, Number("-7"))),
        Step("mov", ("u32",), (Register("%r4"), Special("%tid.x"))),
        Step("bra", ("uni",), (Target("$L"),)),
        Step("what", (), (Unclear("( a )"), Target("b"))),
    )


@pytest.mark.parametrize(
    "text",
    [
        kernel(),
        kernel().replace("\n", "\r\n"),
        kernel().replace(" ", "\t").replace(";", " ;\n\n"),
        kernel().replace(";", '; // .entry f { bar.sync 0; } " /*\n'),
        kernel().replace("\n", '\n/* } ret; " .entry f() { // */'),
        kernel() + "// and no more",
        kernel() + '.section .debug_str { .b8 1, 2 }\n.file 1 "} .entry f() {", 1, 2\n',
        kernel(before='.file 1 ".visible .entry f() { ret; }"\n'),
        kernel(before=".global .align 4 .b8 table[4] = {1, 2, 3, 4};\n"),
        kernel(before=".extern .shared .align 16 .b8 room[];\n.shared .align 4 .b8 more[64];\n"),
        kernel(before=".visible .func (.param .b32 r) g(.param .b32 a) { bar.sync 0; }\n"),
        kernel(before=".func g();\n.visible .entry g() { mov.u32 %r1, %laneid; ret; }\n"),
        kernel(before=".entry f(.param .u64 f_param_0);\n"),
        kernel(bounds=".maxntid 256, 1, 1 .minnctapersm 2 .maxnreg 32"),
        kernel(parameters=".param .u64 .ptr .global .align 16 f_param_0, .param .b8 g[12]"),
        kernel(registers=".reg .b32 %r1, %r2, %r3, %r4; .reg .b64 %rd<4>; .reg .pred p;"),
        kernel(more="{ .reg .b32 t; mov.u32 t, %r4; } { .reg .b32 t; mov.u32 t, 3; }"),
        kernel(more="$L__BB0_1: @%p1 bra $L__BB0_1;", place=f"{PLACE} setp.eq.s32 %p1, %r4, 0;"),
        kernel(more='.loc 1 7 3, function_name $L_1 + 4, inlined_at 1 2 3\n.pragma "nounroll";'),
    ],
    ids=range(19),
)
def test_what_changes_nothing_of_a_kernel_is_no_reason_to_refuse_it(text):
    assert lacks(text, steps=False) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no kernel of that name in its PTX"),
        ("\0", "its PTX cannot be read after line 1"),
        ("\x7fELF", "its PTX cannot be read after line 1"),
        (HEAD, "there is no kernel of that name in its PTX"),
        (kernel().replace("entry f", "entry F"), "there is no kernel of that name in its PTX"),
        (kernel() + kernel(head=""), "there are two kernels of that name in its PTX"),
        (kernel() + "/* no end", "its PTX cannot be read after line "),
        (kernel() + '.file 1 "no end', "its PTX cannot be read after line "),
        (kernel() + "}", "its PTX has } outside of kernels"),
        (kernel() + ".alias f, g;", "its PTX has .alias outside of kernels"),
        (kernel() + ".visible", "its PTX ends in the middle"),
        (kernel(head=HEAD.replace("64", "32")), "its PTX is not for addresses of 64 bits"),
        (kernel(bounds=".reqntid 128, 1, 1"), "its PTX has .reqntid"),
        (kernel(bounds=".explicitcluster"), "its PTX has .explicitcluster"),
        (kernel(bounds=".reqnctapercluster 2"), "its PTX has .reqnctapercluster"),
        (kernel(bounds=".maxntid many"), "its PTX has many where a number should be"),
        (kernel(more=".shared .b32 s;"), "its PTX has .shared"),
        (kernel(more=".param .b32 a;"), "it calls a function that is not part of it"),
        (kernel(more='.pragma "new";'), "its PTX has a pragma that is not known"),
        (kernel(more="new.step %r5;"), "its PTX has new.step"),
        (kernel(more="add.new %r5, %r4, 1;"), "its PTX has add.new"),
        (kernel(more="bra nowhere;"), "its PTX goes to a label that is not there"),
        (kernel(more="L: L: bra L;"), "its PTX has a label L that cannot be told apart"),
        (kernel(more="%r4: bra %r4;"), "its PTX has a label %r4 that cannot be told apart"),
        (
            kernel(more=".reg .b32 t; t: bra t;"),
            "its PTX has a label and something else called t",
        ),
        (
            kernel(more="f_param_0: bra f_param_0;"),
            "its PTX has a label and something else called f_param_0",
        ),
        (kernel(more=".reg .b32 %r4;"), "its PTX has two things called %r4"),
        (kernel(more=".reg .b32 %r<3>;"), "its PTX has two things called %r"),
        (kernel(more="{ .reg .b32 %r4; }"), "its PTX has two things called %r4"),
        (kernel(more="{ .reg .b32 %r<9>; }"), "its PTX has two things called %r"),
        (
            kernel(more="{ .reg .b32 t; } mov.u32 %r5, t;"),
            "its PTX has an operand of mov.u32 that is not known",
        ),
        (kernel(more=".reg .b32 %laneid;"), "its PTX has a register called %laneid"),
        (kernel(more=".reg .b32 %clock64;"), "its PTX has a register called %clock64"),
        (kernel(more=".reg .b32 %pm0;"), "its PTX has a register called %pm0"),
        (kernel(more=".reg .b32 WARP_SZ;"), "its PTX has a register called WARP_SZ"),
        (kernel(more=".reg .v4 .b32 t;"), "its PTX has a register of type .v4"),
        (kernel(more=".reg .b32 f_param_0; mov.u32 f_param_0, 1;"), "two things called f_param_0"),
        (kernel(more=".local .b8 f_param_0[4];"), "its PTX has two variables called f_param_0"),
        (kernel(more="mov.u32 %r5, %r99;"), "its PTX asks for %r99"),
        (kernel(more="mov.u32 %r5, %r" + "9" * 5000 + ";"), "its PTX asks for %r9999"),
        (kernel(more="mov.u32 %r5, %r01;"), "its PTX asks for %r01"),
        (kernel(more="mov.u32 %r5, %tid.w;"), "its PTX asks for %tid.w"),
        (kernel(more="mov.u32 %r5, %tid;"), "its PTX asks for %tid"),
        (kernel(more="add.u32 %r5, %r4, %tid.x;"), "its PTX asks for %tid.x"),
        (kernel(more="mov.u32 %r5, WARP_SZ;"), "an operand of mov.u32 that is not known"),
        (kernel(more="mov.u64 %rd5, f;"), "an operand of mov.u64 that is not known"),
        (kernel(more="mov.u32 %r5, ;"), "its PTX has an operand that is not there"),
        (kernel(more="mov.u32 , %r5;"), "its PTX has an operand that is not there"),
        (kernel(more="mov.u32 5, %r4;"), "its PTX has a result of mov.u32 that is not known"),
        (kernel(more="mov.u32 %r5 %r4;"), "its PTX has mov.u32"),
        (kernel(more="mov.u32 %r5, (%r4);"), "an operand of mov.u32 that is not known"),
        (kernel(more="@%q mov.u32 %r5, %r4;"), "its PTX has a condition that cannot be read"),
        (kernel(more="@%tid.x bra L; L:"), "its PTX has a condition that cannot be read"),
        (kernel(more="mov.u32 %r5, %r6;"), "its PTX may read %r6 before it is written"),
        (kernel(more="addc.u32 %r5, %r4, 1;"), "its PTX may read the carry before it is written"),
        (kernel(store="bra L; L:"), "its PTX runs past its end"),
        (kernel(store=STORE.replace("ret;", "")), "its PTX runs past its end"),
        (kernel(store=STORE.replace("ret;", "@%p1 ret;"), more="setp.eq.s32 %p1, %r4, 1;"),
         "its PTX runs past its end"),
        (module(""), "its PTX runs past its end"),
        (kernel(more="@%p1 bra L; mov.u32 %r5, 1; L: mov.u32 %r6, %r5;",
                place=f"{PLACE} setp.eq.s32 %p1, %r4, 0;"),
         "its PTX may read %r5 before it is written"),
        (kernel(more="@%p1 mov.u32 %r5, 1; mov.u32 %r6, %r5;",
                place=f"{PLACE} setp.eq.s32 %p1, %r4, 0;"),
         "its PTX may read %r5 before it is written"),
        (kernel(more="@%p1 bra.uni L; L:", place=f"{PLACE} setp.eq.s32 %p1, %r4, 0;"),
         "its PTX has a conditional bra.uni"),
        (kernel(more="ld.param.u64 %rd5, [f_param_0+8];"), "its PTX reads beyond f_param_0"),
        (kernel(more="ld.param.u64 %rd5, [f_param_0+-8];"), "its PTX reads beyond f_param_0"),
        (kernel(more="ld.param.v2.u64 {%rd5, %rd6}, [f_param_0];"), "reads beyond f_param_0"),
        (kernel(more="ld.global.u64 %rd5, [f_param_0];"), "its PTX has ld.global.u64 of f_param_0"),
        (kernel(more="ld.global.u32 %r5, [16];"), "an operand of ld.global.u32 that is not known"),
        (kernel(more="ld.global.u32 %r5, [%tid.x];"), "an operand of ld.global.u32"),
        (kernel(more="ld.global.u32 %r5, [%rd1+%r4];"), "has %r4 where a number should be"),
        (kernel(more="ld.global.shared.u32 %r5, [%r4];"), "its PTX has ld.global.shared.u32"),
        (kernel(more="ld.local.global.u32 %r5, [%r4];"), "its PTX has ld.local.global.u32"),
        (kernel(more="cvta.to.shared.u64 %rd5, 7;"), "its PTX has cvta.to.shared.u64"),
        (kernel(more="mov.u64 %rd5, room;", before=".shared .b8 room[8];\n"), "that is shared"),
        (kernel(more="mov.u64 %rd5, room;", before=".extern .global .b8 room[8];\n"), "is extern"),
        (kernel(before=".global .texref t;\n"), "its PTX has .texref at a variable"),
        (kernel(before=".global .b8 t[2];\n.const .b8 t[2];\n"), "two variables called t"),
        (kernel(before=".global .b8 f_param_0[2];\n"), "a variable that is called as a parameter"),
        (kernel(more="call.uni g, ();"), "its PTX has call.uni"),
        (kernel(parameters=".reg .u64 f_param_0"), "a parameter that cannot be read"),
        (kernel(parameters=".param .u64 f_param_0, .param .u32 f_param_0"), "two parameters"),
        (kernel(parameters=".param .u64"), "its PTX has a variable that cannot be read"),
        (kernel(parameters=".param .u64 f_param_0, .param .b8 g[0100]"), "0100 where a number"),
        (kernel(before=".global .b8 t[2;\n"), "its PTX has a variable that cannot be read"),
        (kernel(before=".global .b8 t, u;\n"), "its PTX has a variable that cannot be read"),
        (kernel(before=".global .b8 t[many];\n"), "its PTX has many where a number should be"),
        (kernel(before=".visible .entry 7() { ret; }\n"), "its PTX has 7 where a name should be"),
        (kernel(before=".pragma 7;\n"), "its PTX has .pragma outside of kernels"),
        (kernel(more=".pragma \"nounroll\", 7;"), "its PTX has , where ; should be"),
        (kernel(more=".reg .b32 t[4];"), "its PTX has a register that cannot be read"),
        (kernel(more="mov.u32 %r5, _;"), "an operand of mov.u32 that is not known"),
        (kernel(more="mov.b64 %rd5, {%r4, _};"), "an operand of mov.b64 that is not known"),
        (kernel(more="add.s64 %rd5, f_param_0, 4;"), "its PTX has f_param_0 in add.s64"),
        (kernel(more="@%r3 bra L; L:"), "its PTX has %tid.x outside of a thread's place"),
        (kernel(more="ld.global.u32 %r5, [%r3];"), "%tid.x outside of a thread's place"),
        (kernel(more="ld.param.new %r5, [f_param_0];"), "its PTX has ld.param.new"),
        (kernel(more="ld.param %r5, [f_param_0];"), "its PTX has ld.param"),
        (kernel(more="bar.sync 0;"), "its PTX has bar.sync"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_is_not_known_is_refused(text, reason):
    assert reason in str(lacks(text))


@pytest.mark.parametrize(
    "place",
    [
        # mixed axes and kinds, and halves of the sum
        PLACE.replace("%ctaid.x", "%ctaid.y"),
        PLACE.replace("%tid.x", "%tid.z"),
        PLACE.replace("%r1, %r2, %r3", "%r1, %r3, %r2"),
        PLACE.replace("%r1, %r2, %r3", "%r3, %r2, %r1"),
        PLACE.replace("%r1, %r2, %r3", "%r1, %r1, %r3"),
        PLACE.replace("mad.lo", "mad.hi"),
        PLACE.replace("mad.lo.s32", "mad.lo.s64"),
        PLACE.replace("mad.lo.s32", "mad.lo.b32"),
        PLACE.replace("mad.lo.s32", "@%p1 mad.lo.s32"),
        PLACE.replace("mad.lo.s32", "mul24.lo.s32"),
        PLACE + "mov.u32 %r4, %r3;",  # in one register with a place
        PLACE.replace("%tid.x;", "%tid.x; add.s32 %r3, %r3, 1;"),
        PLACE + "mul.lo.s32 %r5, %r1, %r2; sub.s32 %r4, %r5, %r3;",
        PLACE + "mul.lo.s32 %r5, %r1, %r2; cvt.s64.s32 %rd5, %r5; cvt.s64.s32 %rd6, %r3;"
        "add.s64 %rd7, %rd5, %rd6; cvt.u32.u64 %r4, %rd7;",
        PLACE + "add.s32 %r5, %r3, 1; cvt.u64.u32 %rd5, %r5; mad.wide.u32 %rd6, %r1, %r2, %rd5;",
        PLACE + "mul.wide.u32 %rd5, %r1, %r2; mov.u64 %rd6, %rd5; add.s64 %rd7, %rd5, %rd6;",
        PLACE + "setp.eq.s32 %p1, %r3, 0;",
        PLACE + "@%p1 bra L; L:".replace("@%p1", "setp.ne.u32 %p1, %r1, 0; @%p1"),
        PLACE + "shl.b32 %r5, %r3, 2;",
        PLACE + "cvt.u16.u32 %rs1, %r3;",
        PLACE + "mov.b64 %rd5, {%r3, %r4};",
        PLACE + "mov.b64 {%r5, %r6}, %rd7;".replace("%rd7", "%rd5") + "cvt.u64.u32 %rd5, %r3;",
        PLACE + "selp.b32 %r5, %r3, %r4, %p1;",
        PLACE + "cvta.to.global.u64 %rd5, %rd6;".replace("%rd6", "%r3"),
        PLACE + "st.global.u32 [%rd1], %r3;",
        PLACE + "mov.u32 %r5, %nctaid.x; mul.lo.s32 %r6, %r5, %r1;",
        PLACE + "mov.u32 %r5, %nctaid.y; mul.lo.s32 %r6, %r5, %r2;",
        PLACE + "mov.u32 %r5, %nctaid.x; mad.lo.s32 %r6, %r5, %r2, %r3; setp.eq.s32 %p1, %r6, 0;",
    ],
)  # fmt: skip
def test_what_the_device_gives_is_let_into_a_place_and_nowhere_else(place):
    assert lacks(kernel(place, store="ld.param.u64 %rd1, [f_param_0]; st.u32 [%rd1], %r4; ret;"))


@pytest.mark.parametrize(
    "place",
    [
        PLACE.replace("%r1, %r2, %r3", "%r2, %r1, %r3"),
        PLACE.replace("mad.lo.s32", "mad.lo.u32"),
        PLACE.replace("mad.lo.s32 %r4, %r1, %r2, %r3", "mul.lo.s32 %r5, %r1, %r2; "
                      "add.s32 %r4, %r3, %r5"),
        PLACE.replace("%tid.x;", "%tid.x; mov.b32 %r6, %r3;").replace("%r2, %r3;", "%r2, %r6;"),
        PLACE.replace("%tid.x;", "%tid.x; add.s32 %r6, %r3, -5;").replace("%r2, %r3;", "%r2, %r6;"),
        PLACE.replace("mad.lo.s32 %r4, %r1, %r2, %r3", "cvt.u64.u32 %rd5, %r3; "
                      "mad.wide.u32 %rd6, %r1, %r2, %rd5; cvt.u32.u64 %r4, %rd6"),
        PLACE.replace("mad.lo.s32 %r4, %r1, %r2, %r3", "cvt.s64.s32 %rd5, %tid.x; "
                      "mul.wide.s32 %rd6, %r2, %r1; add.s64 %rd7, %rd6, %rd5; "
                      "cvt.u32.u64 %r4, %rd7"),
        PLACE.replace("mad.lo.s32 %r4, %r1, %r2, %r3", "cvt.u64.u32 %rd5, %r1; cvt.u64.u32 %rd6, "
                      "%r2; cvt.u64.u32 %rd7, %r3; mad.lo.s64 %rd8, %rd5, %rd6, %rd7; "
                      "cvt.u32.u64 %r4, %rd8"),
        PLACE + "mov.u32 %r5, %nctaid.x; mul.lo.s32 %r6, %r5, %r2; add.s32 %r4, %r4, %r6;",
        PLACE + "mov.u32 %r5, %nctaid.x; mad.lo.s32 %r4, %r5, %r2, %r4;",
        PLACE.replace("%tid.x;", "%tid.x; mad.lo.s32 %r6, 3, 5, %r3;")
        .replace("%r2, %r3;", "%r2, %r6;"),
        PLACE.replace("%tid.x;", "%tid.x; sub.s32 %r6, %r3, 5;").replace("%r2, %r3;", "%r2, %r6;"),
        PLACE + "bra A; B: add.s32 %r4, %r4, 1; bra C; A: setp.eq.s32 %p1, %r4, 7; @%p1 bra B; C:",
    ],
)  # fmt: skip
def test_a_place_may_be_written_in_several_ways(place):
    assert lacks(kernel(place)) is None


OWN = ".local .align 8 .b8 held[32]; mov.u64 %rd5, held; "


@pytest.mark.parametrize(
    "more",
    [
        "st.local.u32 [%rd5+4], %r4; ld.local.u32 %r5, [held+4];",
        "cvta.local.u64 %rd6, %rd5; st.u32 [%rd6], %r4; ld.u32 %r5, [%rd6];",
        "mul.wide.s32 %rd6, %r4, 4; add.s64 %rd7, %rd6, %rd5; st.local.u32 [%rd7], %r4;",
        "mad.wide.s32 %rd7, %r4, 4, %rd5; sub.s64 %rd8, %rd7, 4; st.local.u32 [%rd8], 1;",
    ],
)
def test_memory_of_a_thread_alone_may_be_used_as_such(more):
    assert lacks(kernel(more=OWN + more)) is None


@pytest.mark.parametrize(
    "more",
    [
        "ld.param.u64 %rd1, [f_param_0]; st.global.u64 [%rd1], %rd5;",
        "st.local.u64 [%rd5], %rd5;",
        "setp.eq.s64 %p1, %rd5, 0;",
        "and.b64 %rd6, %rd5, 15;",
        "sub.s64 %rd6, 0, %rd5;",
        "add.s64 %rd6, %rd5, %rd5;",
        "add.cc.s64 %rd6, %rd5, 1;",
        "cvt.u32.u64 %r5, %rd5;",
        "ld.global.u32 %r5, [%rd5];",
        "cvta.to.global.u64 %rd6, %rd5;",
        "cvta.local.u64 %rd6, 7;",
        "ld.param.u64 %rd1, [f_param_0]; st.local.u32 [%rd1], 1;",
        "st.local.u32 [%rd5], %r3;",
        "st.param.u32 [%rd5], 1;",
        "st.const.u32 [%rd5], 1;",
        "ld.param.u32 %r5, [%rd5];",
        "cvta.param.u64 %rd6, %rd5;",
        "mov.b64 %rd6, f_param_0;",
        "mov.b64 %rd6, f_param_0; ld.param.u64 %rd7, [%rd6];",
        "mov.b64 %rd6, f_param_0; ld.param.u32 %r5, [%rd6+-528];",
    ],
)
def test_an_address_of_such_memory_is_no_value(more):
    assert lacks(kernel(more=OWN + more)) is not None


def test_a_register_that_follows_from_itself_alone_is_refused():
    text = kernel(more="bra M; L: mov.u32 %r5, %r6; mov.u32 %r6, %r5; bra L; M:")

    assert lacks(text) == "its PTX has values that follow from nothing"


def test_a_kernel_whose_labels_are_too_tangled_is_refused(monkeypatch):
    monkeypatch.setattr(flow, "_MOST_ROUNDS", 0)

    assert lacks(kernel()) == "its PTX jumps about too much"


def test_text_that_ends_anywhere_is_refused():
    whole = kernel(more="{ .reg .b32 t; mov.u32 t, %r4; }").rstrip()

    assert lacks(whole) is None
    assert [at for at in range(len(whole)) if lacks(whole[:at]) is None] == []


OTHERS = ("", *' ;{}"/*%\0é9\r[.@,')


def test_letters_changed_at_random_raise_nothing():
    rng, whole = Random(5), kernel(before='.file 1 "a"\n.global .b8 t[4] = {1, 2, 3, 4};\n')
    for _ in range(3000):
        letters = list(whole)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(letters))
            letters[at] = rng.choice(OTHERS)
        found = lacks("".join(letters))
        assert found is None or isinstance(found, str)


def test_words_changed_at_random_raise_nothing():
    rng, words = Random(6), kernel(more=f"{OWN} st.local.u32 [%rd5], 1;").split(" ")
    for _ in range(3000):
        changed = list(words)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.choice(words)
        found = lacks(" ".join(changed))
        assert found is None or isinstance(found, str)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (" " * 8_000_001, "its PTX has 8,000,001 letters"),
        (kernel(more="mov.u32 %r5, 1;" * 100_001), "its PTX has more than 100,000 steps"),
        (kernel(registers=".reg .b32 %r<999999999999>;"), "its PTX has a"),
        (kernel(registers=f".reg .b32 %r<{'9' * 5000}>;"), "where a number should be"),
        (kernel(more=f"ld.param.u64 %rd5, [f_param_0+{'9' * 5000}];"), "where a number should be"),
        (kernel(more="{" * 50_000 + "}" * 50_000), None),
    ],
    ids=range(6),
)
def test_a_huge_text_is_read_in_time_or_refused(text, reason):
    found = lacks(text)

    assert found is None if reason is None else reason in str(found)


def test_a_name_is_no_part_of_another():
    assert isinstance(read(kernel(), "entry"), Unread)
    assert isinstance(read(kernel(), ""), Unread)
