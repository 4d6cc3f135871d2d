"""One kernel for several types: translated for each, and chosen by a call's arrays."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, bf16, f16, f32, f64, i32, u8, u16, u32
from vyre.cli.targets import one_target
from vyre.errors import InvalidInput, LanguageError, VyreError

T = vyre.types(f32, f64)
S = vyre.types(u32, i32, u8)
H = vyre.types(f16, bf16, f32)


@vyre.function
def twice(v: T, by: T = 2):
    return v * by


@vyre.kernel
def scale(x: In[T], out: Out[T], a: T = 0.1):
    i = vyre.gid()
    s: T = 0
    for w in (0.1, 0.2):
        s += twice(T(w)) * x[i]
    out[i] = s * a + T(i)


@vyre.kernel
def pick(x: In[T, 2], at: In[S], out: Out[T, 2], n: u32 = 0):
    i, j = vyre.gid()
    out[i, j] = x[at[i], j] + T(n)


@vyre.kernel
def fill(out: Out[T], value: T):
    out[vyre.gid()] = value


@vyre.kernel
def halves(x: InOut[H], a: H = 0.1):
    i = vyre.gid()
    v: H = x[i]
    x[i] = H(v * a)


def expected(x: np.ndarray, a: float) -> np.ndarray:
    kind = x.dtype.type
    s = np.zeros_like(x)
    for w in (0.1, 0.2):
        s += kind(w) * kind(2) * x
    return s * kind(a) + np.arange(x.size).astype(x.dtype)


@pytest.mark.parametrize("kind", ["reference", "cpu", "opencl"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 33, 1025])
def test_a_call_takes_the_type_of_its_arrays(kind: str, dtype: type, count: int):
    try:
        device = vyre.open(kind)
    except VyreError as error:
        pytest.skip(f"no {kind} device here: {error}")
    x = np.random.default_rng(count).normal(size=count).astype(dtype)

    for named, a in (({}, 0.1), ({"a": 1.7}, 1.7)):
        found = np.asarray(scale(device.array(x), **named))
        assert found.dtype == dtype
        assert found.tolist() == expected(x, a).tolist()


def test_every_way_to_use_a_kernel_takes_types_by_arguments_or_by_name():
    x = np.arange(5, dtype=np.float64)

    assert scale[f64](x).tolist() == scale(x=x).tolist() == expected(x, 0.1).tolist()
    assert scale[f32].program != scale[f64].program
    assert scale[f64] is scale[f64]
    assert "double" in scale[f64].source() or scale[f64].source()
    assert scale[f32].facts is not None
    assert "scale" in str(scale.explain(x))
    assert "scale" in str(scale[f32].explain())
    assert scale.tune(x, budget_s=0.01) is not None
    out = np.zeros(5)
    scale.prepare(x, out=out)()
    assert out.tolist() == expected(x, 0.1).tolist()
    assert scale.check(x) is not None
    for kernel in (scale, scale[f32]):
        assert pickle.loads(pickle.dumps(kernel)) is kernel  # noqa: S301  # our own bytes
    assert repr(scale) == (
        "<vyre.kernel scale(x: In[types(f32, f64)], out: Out[types(f32, f64)], "
        "a: types(f32, f64) = 0.1)>"
    )
    assert repr(scale[f64]) == "<vyre.kernel scale(x: In[f64], out: Out[f64], a: f64 = 0.1)>"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("at", [np.uint32, np.int32, np.uint8])
def test_types_combine(dtype: type, at: type):
    x = np.arange(6, dtype=dtype).reshape(3, 2)
    rows = np.array([2, 0, 1], at)

    found = pick(x, rows, n=3)

    assert found.dtype == dtype
    assert found.tolist() == (x[rows] + 3).tolist()
    assert pick[f32, i32].program == pick[f32, i32].program


def test_an_output_decides_too():
    out = np.zeros(3)
    fill(out=out, value=0.1)

    assert out.tolist() == [0.1] * 3
    assert fill[f32](shape=2, value=0.5).tolist() == [0.5, 0.5]


def test_storage_types_compute_in_f32():
    x = np.array([1, 3], np.float16)
    halves(x)
    assert x.tolist() == (np.float32([1, 3]) * np.float32(0.1)).astype(np.float16).tolist()
    patterns = np.array([0x3F80, 0x4040], np.uint16)  # 1 and 3, as bfloat16
    halves(patterns, a=2.0)
    assert patterns.tolist() == [0x4000, 0x40C0]


def told(call) -> str:
    with pytest.raises(InvalidInput) as caught:
        call()
    return str(caught.value)


def test_what_decides_no_type_is_refused():
    x = np.zeros(3, np.float32)

    assert told(lambda: scale(np.zeros(3, np.int32))) == (
        "x of scale is int32, not one of f32, f64\n"
        "Fix: convert it to one of them, or add it to vyre.types(f32, f64)"
    )
    assert told(lambda: scale(x, out=np.zeros(3))) == (
        "x of scale is f32 and out is f64, and they have one type per call\n"
        "Fix: convert one, or give out another vyre.types(f32, f64) of its own"
    )
    assert told(lambda: fill(shape=3, value=1.0)) == (
        "no array of this call says which of f32, f64 out, value of fill is\n"
        "Fix: pass an array of one of them, or call fill[f32](...)"
    )
    assert told(lambda: scale([1.0])) == (
        "x of scale is a list, not an array\nFix: pass numpy.asarray(x, dtype=numpy.float32)"
    )
    assert told(lambda: scale[i32]) == ("scale[i32]; its types are f32, f64\nFix: write scale[f32]")
    assert told(lambda: scale[np.ones(2)]).endswith("its types are f32, f64\nFix: write scale[f32]")
    assert told(lambda: pick[f32]) == (
        "pick[f32]; its types are f32, f64; u32, i32, u8\nFix: write pick[f32, u32]"
    )
    assert told(lambda: scale.program) == (
        "scale has a program for each of f32, f64\nFix: name one: scale[f32].program"
    )
    assert told(scale.explain) == (
        "scale has a program for each of f32, f64\nFix: name one: scale[f32].explain()"
    )
    assert told(scale.source) == (
        "scale has a program for each of f32, f64\nFix: name one: scale[f32].source()"
    )
    assert told(lambda: scale.facts) == (
        "scale has a program for each of f32, f64\nFix: name one: scale[f32].facts"
    )


def test_a_speculation_is_of_one_type():
    assert told(lambda: vyre.speculate(prefilter=scale, confirm=scale)) == (
        "prefilter= is scale, which is a kernel for each of several types\n"
        "Fix: pass one of them, such as scale[f32]"
    )


def test_a_command_looks_at_the_first_type(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import vyre\nfrom vyre import In, Out, f32, f64\nT = vyre.types(f64, f32)\n"
        "@vyre.kernel\ndef twice(x: In[T], out: Out[T], a: T = 2):\n"
        "    i = vyre.gid()\n    out[i] = a * x[i]\n"
    )

    target = one_target(f"{file}:twice")

    assert repr(target.kernel) == "<vyre.kernel twice(x: In[f64], out: Out[f64], a: f64 = 2)>"
    assert target.call(10).arrays["x"].dtype == np.float64


def test_a_list_of_types_is_one_of_types():
    assert told(lambda: vyre.types(f32, float)) == (
        "float in vyre.types() is not an element type of arrays\n"
        "Fix: name types such as vyre.types(f32, f64)"
    )
    assert told(vyre.types) == (
        "vyre.types() of nothing, which is not each type once\n"
        "Fix: name types such as vyre.types(f32, f64)"
    )
    assert told(lambda: vyre.types(u16, u16)) == (
        "vyre.types() of u16, u16, which is not each type once\n"
        "Fix: name types such as vyre.types(f32, f64)"
    )
    with pytest.raises(LanguageError, match="a cast to one of f32, f64 works inside a kernel only"):
        T(1)


def test_a_type_that_no_array_decides_is_refused():
    def half(x: In[f32], out: Out[f32], a: T):
        out[vyre.gid()] = x[0] * f32(a)

    with pytest.raises(LanguageError) as caught:
        vyre.kernel(half)

    first, *_, last = str(caught.value).splitlines()
    assert (
        first.partition(": ")[2] == "the type of 'a' is one of f32, f64, and no array decides which"
    )
    assert last == "Fix: write the type, a: f32, or give an array the same one"


def test_a_line_that_one_type_does_not_take_is_named_when_it_comes():
    @vyre.kernel
    def shifted(x: In[S], out: Out[S]):
        i = vyre.gid()
        out[i] = x[i] + 300

    assert shifted(np.arange(2, dtype=np.uint32)).tolist() == [300, 301]
    with pytest.raises(LanguageError, match="x\\[i\\] is u8, which has no value 300"):
        shifted(np.zeros(2, np.uint8))
