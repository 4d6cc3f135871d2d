"""Sources with macros: read, told apart, and written as they are compiled."""

from contextlib import nullcontext

import pytest

from vyre.adapter.template.signature import Signature, Unread, signature_of
from vyre.adapter.template.sizes import Launch
from vyre.adapter.template.source import (
    asks_for_grid,
    kernel_name,
    read_signature,
    refuse_defined,
    refuse_names,
    source_of,
    text_for,
)
from vyre.errors import InvalidInput

ADD = """__kernel void add(__global float *c, __global const float *a, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] += a[i];
}
"""
LAUNCH = Launch((7, 2, 1), (64, 1, 1))


class TestWhatIsCompiled:
    """A macro for each parameter, then the source from its line 1."""

    def test_it_is_what_kernel_tuner_writes(self):
        settings = {"block_size_x": 64, "VW": 4, "T": "float", "scale": 1e-05, "shift": -2}

        assert text_for(source_of(ADD, "add"), settings, LAUNCH) == (
            "#define block_size_x 64\n"
            "#define VW 4\n"
            "#define T float\n"
            "#define scale 1e-05\n"
            "#define shift -2\n"
            "#define kernel_tuner 1\n"
            '#line 1 "<add>"\n' + ADD
        )

    def test_what_c_can_read_stands_for_true_and_false(self):
        assert text_for(source_of(ADD, "add"), {"a1": True, "a2": False}, None).startswith(
            "#define a1 1\n#define a2 0\n"
        )

    def test_a_text_of_several_lines_stays_one_macro(self):
        assert text_for(source_of(ADD, "add"), {"A": "x +\r\ny"}, None).startswith(
            "#define A x +\\\ny\n#define kernel_tuner"
        )
        with pytest.raises(InvalidInput) as caught:
            text_for(source_of(ADD, "add"), {"A": "x\\"}, None)
        assert str(caught.value) == (
            "A='x\\\\', whose backslash takes in the line below\nFix: leave it out"
        )

    def test_what_ends_a_text_is_no_macro(self):
        with pytest.raises(InvalidInput) as caught:
            text_for(source_of(ADD, "add"), {"A": "x\0y"}, None)
        assert str(caught.value) == "A='x\\x00y' holds what no source can\nFix: leave it out"

    def test_sizes_that_no_parameter_says_are_there_where_they_are_asked_for(self):
        asking = source_of(ADD.replace("(0)", "(0) * block_size_y + grid_size_x"), "add")

        assert asks_for_grid(asking)
        assert not asks_for_grid(source_of(ADD, "add"))
        assert text_for(asking, {"block_size_x": 64}, LAUNCH).startswith(
            "#define grid_size_x 7\n#define block_size_y 1\n#define block_size_x 64\n"
        )

    def test_loops_of_cuda_are_unrolled_by_a_number_or_not_at_all(self):
        text = (
            "__global__ void f(float *x) {\n"
            "#pragma unroll loop_unroll_factor_a\n"
            "    for (;;) {}\n"
            "  #pragma unroll loop_unroll_factor_ab\n"
            "    for (;;) {}\n"
            "}\n"
        )
        settings = {"loop_unroll_factor_a": 0, "loop_unroll_factor_ab": 4}

        made = text_for(source_of(text, "f"), settings, None)

        assert made.startswith("constexpr int loop_unroll_factor_ab = 4;\n#define kernel_tuner 1\n")
        assert made.endswith(text.replace("#pragma unroll loop_unroll_factor_a\n", "\n"))

    def test_a_templates_parameters_may_be_macros(self):
        settings = {"T": "double", "block_size_x": 64}

        assert kernel_name("ns::f<T, block_size_x, Tx, 3>", settings) == "ns::f<double, 64, Tx, 3>"
        assert kernel_name("T", settings) == "T"


class TestWhereItComesFrom:
    """Texts and files, in either language."""

    def test_ends_of_lines_are_made_alike(self, tmp_path):
        for name, text in (("a", ADD), ("b", ADD.replace("\n", "\r\n")), ("c", ADD.rstrip())):
            path = tmp_path / f"{name}.cl"
            path.write_bytes(b"\xef\xbb\xbf" + text.encode() if name == "c" else text.encode())

            assert source_of(path, "add").text == ADD
            assert source_of(text, "add").text == ADD

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            (ADD, "opencl"),
            ("kernel void f(global int *x) { x[get_global_id(0)] = 1; }", "opencl"),
            ("__global__ void f(int *x) { x[threadIdx.x] = 1; }", "cuda"),
            ("// __kernel\n__global__ void f(int *x) {}", "cuda"),
        ],
    )
    def test_a_text_says_what_it_is_written_in(self, text, language):
        assert source_of(text, "f").language == language

    def test_a_file_says_it_by_its_name_and_its_messages_name_it(self, tmp_path):
        path = tmp_path / "k 1.cu"
        path.write_text("void f() {}")

        found = source_of(str(path), "f")

        assert (found.language, found.where) == ("cuda", "k 1.cu")
        assert '#line 1 "k 1.cu"\n' in text_for(found, {}, None)

    def test_what_it_includes_is_part_of_what_it_is(self, tmp_path):
        (tmp_path / "inner").mkdir()
        (tmp_path / "k.cl").write_text('#include "inner/a.h"\n # include "none.h"\n' + ADD)
        (tmp_path / "inner" / "a.h").write_text('#include "b.h"\n#include "../k.cl"\n')
        (tmp_path / "inner" / "b.h").write_text("#define grid 1\n")

        before = source_of(tmp_path / "k.cl", "add")
        (tmp_path / "inner" / "b.h").write_text("#define grid 2\n")
        after = source_of(tmp_path / "k.cl", "add")

        assert [name for name, _ in before.included] == ["inner/a.h", "b.h", "../k.cl"]
        assert before.identity != after.identity
        assert before.says("grid")
        assert not before.says("gri")

    @pytest.mark.parametrize(
        ("line", "options"),
        [
            ('#include "h.h"', ["-I{}/told"]),
            ('#include "h.h"', ["-I", "{}/told"]),
            ("#include <h.h>", ["--include-path={}/told"]),
            ("#include <told/h.h>", []),
            ('# include /* it */ "told/h.h"', []),
            ('#inc\\\nlude "told/h.h"', []),
            ('#define IT "told/h.h"\n#include IT', []),
            ("", ["-include", "told/h.h"]),
            ("", ["--pre-include={}/told/h.h"]),
        ],
    )
    @pytest.mark.parametrize("is_file", [True, False])
    def test_so_is_what_a_compiler_finds_where_it_is_told(
        self, tmp_path, monkeypatch, line, options, is_file
    ):
        """Else a change of it would go on with the code that was kept."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "told").mkdir()
        (tmp_path / "told" / "h.h").write_text("#define VALUE 1\n")
        (tmp_path / "k.cl").write_text(f"{line}\n{ADD}")
        given = tmp_path / "k.cl" if is_file else f"{line}\n{ADD}"

        found = source_of(given, "add", None, [one.format(tmp_path) for one in options])

        assert [text for _, text in found.included] == ["#define VALUE 1\n"]
        assert found.folder == (str(tmp_path) if is_file else "")

    def test_what_is_included_under_no_name_of_a_files_is_left_to_the_compiler(self, tmp_path):
        (tmp_path / "loop.h").symlink_to("loop.h")
        (tmp_path / "k.cl").write_text(f'#include "loop.h"\n#include "{"x" * 5_000}"\n{ADD}')

        assert source_of(tmp_path / "k.cl", "add").included == ()

    def test_where_it_lies_is_not(self, tmp_path):
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "k.cl").write_text('#include "a.h"\n' + ADD)
            (tmp_path / folder / "a.h").write_text("\n")

        assert (
            source_of(tmp_path / "a" / "k.cl", "f").identity
            == source_of(tmp_path / "b" / "k.cl", "f").identity
        )

    @pytest.mark.parametrize(
        ("given", "language", "message"),
        [
            ("nowhere.cu", None, "no file 'nowhere.cu'\nFix: give the path of a kernel's source"),
            (7, None, "source of f is 7\nFix: give its text, or the path of its file"),
            (
                "void f() {}",
                None,
                "the source of f does not say what it is written in\n"
                'Fix: say language="cuda" or language="opencl"',
            ),
            ("void f() {}", "hip", "language='hip' of f\nFix: use one of cuda, opencl"),
            ("a\0b", "cuda", "the source of f holds what no source can\nFix: leave it out"),
        ],
    )
    def test_what_cannot_be_read_is_said(self, given, language, message):
        with pytest.raises(InvalidInput) as caught:
            source_of(given, "f", language)

        assert str(caught.value) == message

    def test_a_file_of_another_encoding_is_said(self, tmp_path):
        (tmp_path / "k.cl").write_bytes("// é".encode("latin-1"))

        with pytest.raises(InvalidInput) as caught:
            source_of(tmp_path / "k.cl", "f")

        assert caught.value.problem.endswith("k.cl is not UTF-8: unexpected end of data at byte 3")
        assert caught.value.fix == "save it as UTF-8"


class TestParameters:
    """Names that can be macros of a source."""

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("a b", "is no name of C's"),
            ("größe", "is no name of C's"),
            ("2x", "is no name of C's"),
            ("", "is no name of C's"),
            (3, "is no name of C's"),
            ("time", "means something else already"),
            ("grid_size_x", "means something else already"),
            ("kernel_tuner", "means something else already"),
            ("defined", "means something else already"),
            ("int", "is a word of the language's"),
            ("__global", "is a word of the language's"),
            ("add", "is the kernel's own name"),
            ("n", "is what add calls an argument, and as a macro it would replace it"),
        ],
    )
    def test_what_would_break_the_source_is_refused(self, name, why):
        source = source_of(ADD, "add")

        with pytest.raises(InvalidInput) as caught:
            refuse_names(source, "add", ("VW", name), read_signature(source, "add"))

        assert str(caught.value) == (
            f"a parameter {name!r} of add, which {why}\nFix: give it another name, in <add> as well"
        )

    def test_others_are_fine(self):
        source = source_of(ADD, "add")

        refuse_names(source, "add", ("value", "VW", "_x"), read_signature(source, "add"))


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("#define VW 4\n", True),
        ("#if 1\n#endif\n  # define VW(x) 4\n", True),
        ("#undef VW\n#define \\\n VW 4\n", True),
        ("#ifndef VW\n#define VW 4\n#endif\n", False),
        ("#ifdef kernel_tuner\n#else\n#define VW 4\n#endif\n", False),
        ("// #define VW 4\n/*\n#define VW 4\n*/\n#define VWS 4\n", False),
    ],
)
def test_a_source_that_defines_a_parameter_whatever_a_config_says_is_refused(text, is_refused):
    source = source_of(text + ADD, "add")

    with pytest.raises(InvalidInput) if is_refused else nullcontext() as caught:
        refuse_defined(source, ("VW",))

    if is_refused:
        assert str(caught.value) == (
            "<add> defines VW itself, whatever a config says\n"
            "Fix: put that between #ifndef VW and #endif"
        )


def read(text, name="f", language="cuda"):
    found = signature_of(text, name, language, "k")
    assert isinstance(found, Signature)
    return [(p.name, p.number, p.is_pointer, p.is_const, p.is_local) for p in found.parameters]


class TestSignature:
    """What a source says of a kernel's parameters."""

    @pytest.mark.parametrize(
        ("said", "number"),
        [
            *(("int n", "i4"), ("unsigned n", "u4"), ("const unsigned int n", "u4")),
            *(("float n", "f4"), ("double const n", "f8"), ("size_t n", "u8"), ("bool n", "u1")),
            *(("long long int n", "i8"), ("unsigned long long n", "u8"), ("int64_t n", "i8")),
            *(("unsigned short int n", "u2"), ("signed char n", "i1"), ("uint8_t n", "u1")),
            *(("half n", "f2"), ("__half n", "f2"), ("uint n", "u4"), ("short n", "i2")),
            *(("T n", ""), ("float4 n", ""), ("struct P n", ""), ("std::array<int, 3> n", "")),
            *(("float &n", ""), ("real_t n", ""), ("image2d_t n", "")),
        ],
    )
    def test_a_number_has_the_type_that_it_is_declared(self, said, number):
        assert read(f"__global__ void f({said}) {{}}") == [("n", number, False, False, False)]

    @pytest.mark.parametrize(
        ("said", "number", "const"),
        [
            ("float *x", "f4", False),
            ("const float4 * __restrict__ x", "f4", True),
            ("int const *x", "i4", True),
            ("int * const x", "i4", False),
            ("uchar x[]", "u1", False),
            ("void *x", "", False),
            ("T *x", "", False),
            ("float **x", "", False),
            ("const float *const *x", "", False),
            ("const float x[4][N]", "f4", True),
            ("float *x[4]", "", False),
            ("float * RESTRICT x", "", False),
            ("int4 *x", "i4", False),
            ("int8 *x", "", False),
        ],
    )
    def test_an_array_has_the_type_of_its_elements(self, said, number, const):
        assert read(f"__global__ void f({said}) {{}}") == [("x", number, True, const, False)]

    @pytest.mark.parametrize(
        ("said", "wanted"),
        [
            ("int local", ("local", "i4", False, False, False)),
            ("const float *global", ("global", "f4", True, True, False)),
            ("float local[N]", ("local", "f4", True, False, False)),
            ("[[maybe_unused]] int n", ("n", "i4", False, False, False)),
            ("int n [[maybe_unused]]", ("n", "i4", False, False, False)),
            ("A<float *, (1 > 0)> n = {}", None),
            ("A<float *, 2> n", ("n", "", False, False, False)),
            ("A<float *> *n", ("n", "", True, False, False)),
            ("unsigned \\\n int n = sizeof(int)", ("n", "u4", False, False, False)),
            ("unsigned \\\n int n = '\"' // \"\n", ("n", "u4", False, False, False)),
            ("unsigned char", None),
        ],
    )
    def test_what_is_no_word_of_cuda_is_only_a_name_there(self, said, wanted):
        found = signature_of(f"__global__ void f({said}) {{}}", "f", "cuda", "k")

        if wanted is None:
            assert found == Unread("its parameters are not plain")
        else:
            assert read(f"__global__ void f({said}) {{}}") == [wanted]

    @pytest.mark.parametrize(
        ("own", "number"),
        [
            ("#define half float", ""),
            ("#ifdef A\ntypedef float half;\n#endif", ""),
            ("using half = float;", ""),
            ("typedef struct { float a; } half, *halves;", ""),
            ("typedef float real, half;", ""),
            ("struct half { float a; };", ""),
            ("template <typename half>", ""),
            ("typedef __half half;", "f2"),
            ("typedef float half_t; // half", "f2"),
            ("#define HALF half", "f2"),
        ],
    )
    def test_a_type_that_the_source_defines_itself_is_not_the_languages(self, own, number):
        text = f"{own}\n__global__ void f(half x, const half *y) {{}}"

        assert read(text) == [("x", number, False, False, False), ("y", number, True, True, False)]

    def test_a_word_that_is_a_macro_before_the_source_is_not_the_languages(self):
        text = "__global__ void f(uint n, const float *x, int m) {}"

        found = signature_of(text, "f", "cuda", "k", ("uint", "const"))

        assert isinstance(found, Signature)
        assert [p.number for p in found.parameters] == ["", "f4", "i4"]
        assert not found.parameters[1].is_const

    def test_a_function_beside_a_macro_that_stands_for_the_mark_is_no_kernel(self):
        text = "#define KERNEL __global__\nvoid f(float x) {}\nKERNEL void f(int n) {}"

        assert signature_of(text, "f", "cuda", "k") == Unread("f is not defined in k as plain text")

    def test_opencl_has_places_and_a_long_of_64_bits(self):
        text = """__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
        void f(__global const float *restrict x, local float *t, constant int *w, ulong n) { g(x); }
        """

        assert read(text, language="opencl") == [
            ("x", "f4", True, True, False),
            ("t", "f4", True, False, True),
            ("w", "i4", True, True, False),
            ("n", "u8", False, False, False),
        ]

    def test_what_is_only_declared_called_or_commented_is_no_definition(self):
        text = """
        // __global__ void f(double x) {}
        /* __global__ void f(double x) {} */
        __global__ void f(int x);
        __global__ void __launch_bounds__(64) f(int x) { g("f(", x); }
        void h() { f(3); }
        """

        assert read(text) == [("x", "i4", False, False, False)]

    def test_no_parameter_is_none(self):
        assert read("__global__ void f() {}") == read("__global__ void f(void) {}") == []

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("#define K(n) n##_\nK(f)", "f is not defined in k as plain text"),
            (
                "__global__ void f(int x) {}\n__global__ void f(float x) {}",
                "k defines f more than once, with other parameters",
            ),
            (
                "__global__ void f(int x\n#if A\n, int y\n#endif\n) {}",
                "its parameters depend on macros",
            ),
            ("__global__ void f(int (*g)(int)) {}", "its parameters are not plain"),
            ("__global__ void f(ARGS) {}", "its parameters are not plain"),
        ],
    )
    def test_what_only_a_compiler_can_read_is_left_to_it(self, text, why):
        assert signature_of(text, "f", "cuda", "k") == Unread(why)

    def test_the_same_definition_twice_is_read(self):
        text = "#if A\n__global__ void f(int x) {}\n#else\n__global__ void f(int x) { x; }\n#endif"

        assert read(text) == [("x", "i4", False, False, False)]

    def test_a_name_that_is_not_there_is_refused_with_those_that_are(self):
        text = "__global__ void a(int x) {}\n__global__ void __launch_bounds__(8) b() {}"

        with pytest.raises(InvalidInput) as caught:
            signature_of(text, "f", "cuda", "k.cu")
        assert str(caught.value) == (
            "no kernel 'f' in k.cu, which has a, b\nFix: name one of its kernels"
        )
        with pytest.raises(InvalidInput) as caught:
            signature_of("int x;", "f", "cuda", "k.cu")
        assert str(caught.value) == (
            "no kernel 'f' in k.cu\nFix: write it there, or name another source"
        )
