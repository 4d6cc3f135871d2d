"""What `explain()` says is proved of kernels of CuPy's, by stand-ins of its names."""

import importlib
import re
from types import SimpleNamespace

import numpy as np
import pytest

from vyre.adapter.proof import Proof
from vyre.testing import stand_ins
from vyre.testing.stand_ins import Launches

PROVED = "what each of its threads does is proved free of the block size"
STATED = "that its configs compute the same is stated by its author"
APART = "  that no thread reads or writes what another one writes is stated by its author"
BEYOND = (
    "  that threads beyond the size of a launch do nothing, and that no thread reads or writes "
    "what another one writes are stated by its author"
)
UNGUARDED = "  not guarded: one that crashes or hangs does so here; check=True tries them"

PLACE = "blockIdx.x * blockDim.x + threadIdx.x"
TWICE = f"""extern "C" __global__ void twice(float *x, int n) {{
    int i = {PLACE};
    if (i < n) x[i] *= 2;
}}"""
STRIDED = f"""extern "C" __global__ void twice(float *x, int n) {{
    for (int i = {PLACE}; i < n; i += blockDim.x * gridDim.x) x[i] *= 2;
}}"""
OF_A_BLOCK = """extern "C" __global__ void twice(float *x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] *= 2;
}"""


@pytest.fixture
def launches(monkeypatch):
    made = Launches()
    monkeypatch.setattr(stand_ins, "LAUNCHES", made)
    return made


def floats(n=1024):
    return stand_ins.ndarray(np.ones(n, np.float32))


def test_what_is_proved_and_what_is_not_is_said_in_lines():
    assert Proof(None, covers=True).lines == (BEYOND.strip(),)
    assert Proof("a\x1b[2J" + "b" * 300).lines == ("not proved: a\\x1b[2J" + "b" * 195 + "…",)


@pytest.mark.usefixtures("bench")
class TestRawKernels:
    """CuPy compiles them to machine code; what is read is what the same compiler makes besides."""

    @pytest.fixture
    def adapter(self, launches):
        pytest.importorskip("cuda.bindings.nvrtc")
        with stand_ins.cupy_by_name(launches.place) as cupy:
            tuned = importlib.import_module("vyre.adapter.cupy.tuned").tuned
            raw = importlib.import_module("vyre.adapter.cupy.raw")
            yield SimpleNamespace(cupy=cupy, tuned=tuned, raw=raw)

    @pytest.fixture
    def explained(self, adapter):
        """The lines about all of a kernel; it is launched first."""

        def lines(code=TWICE, name="twice", *, of_tuned=(), launched=True, **more):
            kernel = adapter.cupy.RawKernel(code, name, **more)
            made = adapter.tuned(kernel, **dict(of_tuned))
            if launched:
                made((8,), (128,), (floats(), 1024))
            return str(made.explain()).split("\n\n")[0].splitlines()

        return lines

    def test_a_kernel_that_asks_for_places_alone_is_proved(self, explained):
        assert explained() == [f"twice: {PROVED}", APART, UNGUARDED]

    def test_a_kernel_is_proved_before_it_is_launched(self, explained):
        assert explained(launched=False) == [
            *(f"twice: {PROVED}", APART, UNGUARDED),
            "  it has not been called in this process",
        ]

    def test_the_number_of_threads_is_the_same_where_no_size_is_said(self, explained):
        assert explained(STRIDED) == [f"twice: {PROVED}", APART, UNGUARDED]

    def test_with_a_size_more_is_stated(self, explained):
        sized = {"size": lambda _, n: n}.items()

        assert explained(of_tuned=sized) == [f"twice: {PROVED}", BEYOND, UNGUARDED]
        assert explained(STRIDED, of_tuned=sized) == [
            f"twice: {STATED}",
            "  not proved: its PTX has %ntid.x outside of a thread's place in the grid",
            UNGUARDED,
        ]

    def test_named_blocks_are_proved_as_well(self, explained):
        named = {"blocks": (64, 256)}.items()

        assert explained(of_tuned=named) == [f"twice: {PROVED}", APART, UNGUARDED]
        assert explained(OF_A_BLOCK, of_tuned=named) == [
            f"twice: {STATED}",
            "  not proved: its PTX has %tid.x outside of a thread's place in the grid",
            UNGUARDED,
        ]

    @pytest.mark.parametrize("grid", ["stride", "same"])
    def test_nothing_is_looked_for_where_the_number_of_threads_changes(self, explained, grid):
        asked = {"grid": grid, "blocks": (64, 256)}.items()

        assert explained(of_tuned=asked) == [f"twice: {STATED}", UNGUARDED]

    def test_of_several_kernels_the_one_that_is_asked_for_is_read(self, explained):
        both = TWICE + OF_A_BLOCK.replace("twice", "other")

        assert explained(both)[0] == f"twice: {PROVED}"
        assert explained(both, "other")[0] == f"other: {STATED}"

    def test_options_are_those_of_the_library(self, explained):
        assert explained(TWICE.replace(PLACE, "AT"), options=("-DAT=" + PLACE,))[0].endswith(PROVED)
        assert explained(TWICE.replace(PLACE, "AT"), options=("-DAT=threadIdx.x",))[1] == (
            "  not proved: its PTX has %tid.x outside of a thread's place in the grid"
        )

    @pytest.mark.parametrize(
        ("code", "more", "why"),
        [
            (TWICE, {"backend": "nvcc"}, "how nvcc of CuPy 14.2.0 compiles it is not known"),
            (TWICE, {"translate_cucomplex": True}, "CuPy changes its source"),
            (TWICE, {"jitify": True}, "CuPy changes its source"),
            (TWICE, {"options": ("-DCUPY_USE_JITIFY",)}, "CuPy changes its source"),
            (
                TWICE,
                {"enable_cooperative_groups": True},
                "it is launched as one cooperative grid",
            ),
            (TWICE, {"name": "thrice"}, "there is no kernel of that name in its PTX"),
            (TWICE + "#if defined(__CUDACC_DEBUG__)\n#endif", {}, "its source says "
             "__CUDACC_DEBUG__"),
            (TWICE + "// __FILE__", {}, None),
            (TWICE + "const char *f = __FILE__;", {}, "its source says __FILE__"),
            (TWICE + "\n#if __has_include(<a.h>)\n#endif", {}, "its source says __has_include"),
            (TWICE, {"options": ("-DA=__TIME__",)}, "its source says __TIME__"),
            (TWICE, {"options": ("-dlto",)}, "there is no kernel of that name in its PTX"),
            (TWICE + "\0", {}, "its source has a NUL in it"),
            (f"#if 0\n#error don't /*\n#endif\n#define AT (__FILE__[0] == 'd' ? 0 : {PLACE})\n"
             + "// */\n" + TWICE.replace(PLACE, "AT"), {}, "its source has a quote that does not "
             "end in its line, which may hide anything"),
            ('#define R ""\n#define AT (R"(", __FILE__[0] == \'d\' ? 0 : ' + PLACE + ')\n//)"\n'
             + TWICE.replace(PLACE, "AT"), {"options": ("--std=c++03",)}, 'its source has R", '
             "which may hide anything"),
            (TWICE.replace("2", "2'0") + "// '", {}, None),
            (TWICE + "// \udcff", {}, "its source cannot be written as UTF-8"),
            (TWICE + "what", {}, "NVRTC VERSION could not build the kernel "
             "(NVRTC_ERROR_COMPILATION)"),
            (TWICE, {"options": ("-arch=sm_80",)}, "its option -arch=sm_80 says for what device"),
            (TWICE, {"options": ("--gpu-architecture", "sm_80")}, "its option --gpu-architecture "
             "says for what device"),
            (TWICE, {"options": ("-what",)}, "NVRTC VERSION could not build the kernel "
             "(NVRTC_ERROR_INVALID_OPTION)"),
            (TWICE + "\n#include \"a.h\"", {}, "its source includes a file that may be another one "
             "by now"),
            ("??=include <a.h>\n" + TWICE, {}, "its source says ??="),
            ("%:include <a.h>\n" + TWICE, {}, "its source includes a file that may be another one "
             "by now"),
            (TWICE, {"options": ("-include=a.h",)}, "its option -include=a.h may hide anything"),
            (TWICE + "\n#if __CUDA_ARCH_FEAT_SM90_ALL\n#endif", {}, "its source says "
             "__CUDA_ARCH_FEAT_SM90_ALL"),
            ("#if __CUDA_ARCH__ > 800\n" + TWICE + "\n#endif", {}, None),
            (None, {}, "its source is not known"),
        ],
    )  # fmt: skip
    def test_where_the_same_cannot_be_compiled_nothing_is_proved(
        self, explained, adapter, code, more, why
    ):
        major, minor = adapter.cupy.cuda.nvrtc.getVersion()
        lines = explained(code, launched=False, **{"name": "twice", **more})

        if why is None:
            assert lines[0].endswith(PROVED)
        else:
            assert lines[0].endswith(STATED)
            assert lines[1] == f"  not proved: {why.replace('VERSION', f'{major}.{minor}')}"

    def test_headers_are_those_of_the_library(self, explained, adapter, tmp_path, monkeypatch):
        """One where the process is happens to have the name of one of CUDA's."""
        there, here = tmp_path / "there", tmp_path / "here"
        for folder in (there, here):
            folder.mkdir()
        (there / "cuda_fp16.h").write_text(f"#define AT {PLACE}\n")
        code = "#include <cuda_fp16.h>\n" + TWICE.replace(PLACE, "AT")
        monkeypatch.setattr(
            adapter.cupy._core.core,
            "assemble_cupy_compiler_options",
            lambda options: (*options, "--std=c++17", f"-I{there}"),
        )
        monkeypatch.chdir(here)

        assert explained(code)[0].endswith(PROVED)

        (here / "cuda_fp16.h").write_text("#define AT threadIdx.x\n")

        assert explained(code)[0].endswith(PROVED)

        (there / "cuda_fp16.h").unlink()

        assert "could not build the kernel" in explained(code)[1]

    @pytest.mark.parametrize("option", ["-I{}", "--include-path={}", "-I"])
    def test_headers_of_a_folder_that_was_asked_for_may_be_others_by_now(
        self, explained, option, tmp_path
    ):
        """CuPy keeps what it compiled, whatever is in a header later."""
        (tmp_path / "cuda_fp16.h").write_text(f"#define AT {PLACE}\n")
        asked = (option.format(tmp_path), *(() if "{" in option else (str(tmp_path),)))
        code = "#include <cuda_fp16.h>\n" + TWICE.replace(PLACE, "AT")

        assert explained(code, options=asked)[1] == (
            f"  not proved: its option {asked[0]} says where its headers are, which may be others "
            "by now"
        )
        assert explained(TWICE, options=asked)[0].endswith(PROVED)

    @pytest.mark.parametrize("sign", ["##", "%:%:"])
    def test_a_name_that_is_put_together_may_tell_the_two_apart(self, explained, sign):
        joined = f"#define JOIN(a, b) a {sign} b\n"

        told = TWICE.replace(PLACE, "JOIN(__FI, LE__)[6] == 't' ? threadIdx.x : " + PLACE)
        assert explained(joined + told)[1] == (
            "  not proved: its source puts names together, and says __FI"
        )
        harmless = "#ifdef __CUDA_ARCH__\n" + joined.replace("JOIN", "AT") + "#endif\n" + TWICE
        assert explained(harmless)[0].endswith(PROVED)

    def test_where_the_library_has_no_compiler_nothing_is_proved(
        self, explained, adapter, monkeypatch
    ):
        def none():
            raise RuntimeError("libnvrtc.so is not there")

        monkeypatch.setattr(adapter.cupy.cuda.nvrtc, "getVersion", none)

        assert explained(launched=False)[1] == (
            "  not proved: CuPy does not say how it compiles it: libnvrtc.so is not there"
        )

    def test_another_version_of_the_compiler_proves_nothing(self, explained, adapter, monkeypatch):
        monkeypatch.setattr(adapter.cupy.cuda.nvrtc, "getVersion", lambda: (11, 2))

        assert re.fullmatch(
            r"  not proved: its library compiles with NVRTC 11\.2, and Vyre has \d+\.\d+",
            explained()[1],
        )

    def test_without_what_says_the_options_nothing_is_proved(self, explained, adapter, monkeypatch):
        monkeypatch.delattr(adapter.cupy._core.core, "assemble_cupy_compiler_options")

        assert explained()[1] == ("  not proved: how nvrtc of CuPy 14.2.0 compiles it is not known")

    def test_without_a_compiler_nothing_is_proved(self, explained, monkeypatch):
        proof = importlib.import_module("vyre.adapter.cuda_proof")

        def import_module(name):
            raise ImportError(name)

        monkeypatch.setattr(proof.importlib, "import_module", import_module)

        assert explained(launched=False)[1] == (
            '  not proved: NVRTC is not there; pip install "vyre[cuda]"'
        )

    @pytest.mark.parametrize(("value", "lacks"), [("1", True), ("0", False), ("", False)])
    def test_where_the_library_compiles_in_memory_its_headers_are_not_known(
        self, explained, monkeypatch, value, lacks
    ):
        monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", value)

        assert (
            "  not proved: CUPY_CACHE_IN_MEMORY is set, with which CuPy takes headers from the "
            "folder it runs in" in explained()
        ) is lacks

    @pytest.mark.parametrize("held", [None, {}, {"jitify": False}])
    def test_a_kernel_that_does_not_say_what_is_done_to_its_source_is_not_proved(
        self, explained, adapter, monkeypatch, held
    ):
        monkeypatch.setattr(adapter.cupy.RawKernel, "__getstate__", lambda _: held)

        assert explained()[1] == ("  not proved: how nvrtc of CuPy 14.2.0 compiles it is not known")

    def test_without_a_device_nothing_is_proved(self, explained, adapter, monkeypatch):
        def none(number):
            raise adapter.cupy.cuda.runtime.CUDARuntimeError(f"no device {number}")

        monkeypatch.setattr(adapter.cupy.cuda, "Device", none)

        assert explained()[1] == ("  not proved: there is no device to compile it for: no device 0")

    def test_a_launch_compiles_nothing_and_an_explanation_once(self, adapter, monkeypatch):
        asked = []

        def lacks(*given, steps):
            asked.append((given, steps))

        monkeypatch.setattr(adapter.raw, "lacks", lacks)
        made = adapter.tuned(adapter.cupy.RawKernel(TWICE, "twice", ("-DA",)))
        made((8,), (128,), (floats(), 1024))

        assert asked == []
        major, minor = adapter.cupy.cuda.nvrtc.getVersion()
        assert str(made.explain()) == str(made.explain())
        options = ("-DA", "--std=c++17", "-ftz=true", "--device-as-default-execution-space")
        assert asked == [((TWICE, "twice", ("-DA",), options, "90", f"{major}.{minor}"), True)]

    def test_kernels_of_elements_are_as_they_were(self, adapter):
        made = adapter.tuned(adapter.cupy.ElementwiseKernel("T x", "T y", "y = x", "same"))

        assert str(made.explain()).splitlines()[0] == f"same: {STATED}"

    def test_a_page_shows_what_is_proved(self, adapter):
        shown = adapter.tuned(adapter.cupy.RawKernel(TWICE, "twice")).explain()._repr_html_()

        assert PROVED in shown
        assert APART.strip() in shown
