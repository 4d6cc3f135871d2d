import warnings

import numpy as np
import pytest

import vyre
from vyre import In, InOut, Out, f32, f64, i32, kernels, u8, u32
from vyre.errors import InvalidInput
from vyre.kernels.samples import sample
from vyre.runtime.call import arguments


@vyre.kernel
def saxpy(x: In[f32], y: In[f32], out: Out[f32], a: f32):
    i = vyre.gid()
    out[i] = a * x[i] + y[i]


@vyre.kernel
def transpose(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    out[j, i] = x[i, j]


@vyre.kernel
def count(data: In[u8], bins: InOut[u32, (4,)]):
    i = vyre.gid()
    vyre.atomic_add(bins, u32(data[i]) % 4, 1)


@vyre.kernel
def shifted(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i + 1]


@vyre.kernel
def both(x: In[i32], low: Out[i32], high: Out[i32]):
    i = vyre.gid()
    low[i] = x[i] - 1
    high[i] = x[i] + 1


@vyre.kernel
def scaled(x: In[f64], out: Out[f64], k: i32, on: vyre.bool_):
    i = vyre.gid()
    out[i] = f64(k) * x[i] if on else x[i]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def message(call) -> str:
    with pytest.raises(InvalidInput) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("kernel", kernels.ALL, ids=lambda kernel: kernel.name)
def test_a_bundled_kernel_agrees_with_numpy(kernel):
    call = sample(kernel.name, 5003)

    result = kernel(*call.arrays, **call.options)

    results = result if isinstance(result, tuple) else (result,) if result is not None else ()
    for found, expected in zip(results or call.arrays[1:], call.expected(), strict=True):
        if expected.dtype == found.dtype:
            assert np.array_equal(found, expected)
        else:  # NumPy computed in double: the error of a few roundings is left
            assert np.allclose(found, expected, rtol=3e-5, atol=2e-6)


def test_a_call_makes_its_output_in_the_shape_of_its_inputs():
    x = floats(3, 5)

    assert np.array_equal(saxpy(x, x, a=2), 2 * x + x)


def test_a_call_writes_into_out():
    x, out = floats(8), np.full(8, 7, np.float32)

    result = saxpy(x, x, a=0, out=out)

    assert result is out
    assert np.array_equal(out, x)


def test_arguments_may_be_named():
    x = floats(8)

    assert np.array_equal(saxpy(y=x, x=x, a=np.float32(1)), x + x)


def test_several_outputs_come_as_a_tuple():
    low, high = both(np.arange(4, dtype=np.int32))

    assert low.tolist() == [-1, 0, 1, 2]
    assert high.tolist() == [1, 2, 3, 4]


def test_a_kernel_without_outputs_gives_none_and_changes_its_argument():
    bins = np.zeros(4, np.uint32)

    assert count(np.arange(10, dtype=np.uint8), bins) is None
    assert bins.tolist() == [3, 3, 2, 2]


def test_bool_arrays_bind_as_u8():
    bins = np.zeros(4, np.uint32)

    count(np.array([True, False, True]), bins)

    assert bins.tolist() == [1, 2, 0, 0]


def test_a_two_dimensional_kernel_covers_the_shape_of_its_input():
    x = floats(5, 3)

    out = transpose(x, out=np.zeros((3, 5), np.float32), shape=(5, 3))

    assert np.array_equal(out, x.T)


def test_shape_says_what_no_array_says():
    x, out = floats(10), np.zeros(10, np.float32)

    saxpy(x, x, a=1, out=out, shape=4)

    assert np.array_equal(out, np.where(np.arange(10) < 4, x + x, 0))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_an_empty_array_gives_an_empty_result(shape):
    x = np.zeros(shape, np.float32)

    assert saxpy(x, x, a=1).shape == shape


def test_a_short_input_reads_as_zero_beyond_its_end():
    x, y = floats(4), floats(9)

    out = saxpy(x, y, a=1, shape=9)

    assert np.array_equal(out, np.pad(x, (0, 5)) + y)


def test_an_input_that_overlaps_the_output_is_read_before_it_is_written():
    x = np.arange(1000, dtype=np.float32)
    expected = x[1:-1].copy()

    shifted(x[:-1], out=x[1:], shape=998)

    assert np.array_equal(x[1:-1], expected)


def test_in_place_at_ones_own_element_needs_no_copy():
    x = floats(1000)
    expected = 2 * x + x

    assert saxpy(x, x, a=2, out=x) is x
    assert np.array_equal(x, expected)


def test_in_place_at_another_element_reads_the_old_values():
    x = np.arange(2000, dtype=np.float32)
    expected = np.append(x[1:], 0)

    shifted(x, out=x)

    assert np.array_equal(x, expected)


def test_a_non_contiguous_input_is_copied_and_said_so_once(monkeypatch):
    monkeypatch.setattr(arguments, "_said", set())  # a kernel of this name may have been called
    x = floats(20)[::2]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first, second = shifted(x), shifted(x)

    assert np.array_equal(first, np.append(x[1:], 0))
    assert np.array_equal(first, second)
    assert [(item.category, str(item.message)) for item in caught] == [
        (
            vyre.CopyWarning,
            "x of shifted is not contiguous (strides (8,)), so it is copied for each call.\n"
            "Fix: pass numpy.ascontiguousarray(x)",
        )
    ]
    assert caught[0].filename == __file__


def test_a_wrong_dtype_is_named_with_the_cast():
    x = floats(4)

    assert message(lambda: saxpy(x.astype(np.float64), x, a=1)) == (
        "x of saxpy is float64, not f32 (float32)\n"
        "Fix: pass x.astype(numpy.float32), or declare it for float64"
    )


def test_a_list_is_not_an_array():
    assert message(lambda: saxpy([1.0], floats(1), a=1)) == (
        "x of saxpy is a list, not an array\nFix: pass numpy.asarray(x, dtype=numpy.float32)"
    )


def test_inputs_of_different_shapes_ask_for_one():
    assert message(lambda: saxpy(floats(4), floats(5), a=1)) == (
        "the inputs of saxpy differ in shape: x (4,), y (5,)\n"
        "Fix: pass arrays of one shape where elements at one place belong together, else shape= "
        "with the shape to cover; beyond the end of an array are zeros"
    )


def test_a_wrong_number_of_dimensions_is_refused():
    assert message(lambda: transpose(floats(4))) == (
        "x of transpose has 1 dimensions, 2 declared\nFix: pass an array of 2 dimensions"
    )


def test_a_fixed_shape_is_kept_to():
    assert message(lambda: count(np.zeros(3, np.uint8), np.zeros(5, np.uint32))) == (
        "bins of count has shape (5,), (4,) declared\nFix: pass an array of shape (4,)"
    )


def test_a_non_contiguous_output_is_written_where_it_lies_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(arguments, "_said", set())  # a kernel of this name may have been called
    x, out = floats(4), np.full(8, -1, np.float32)
    half = out[::2]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = saxpy(x, x, a=1, out=half)

    assert found is half
    assert half.tolist() == (2 * x).tolist()
    assert (out[1::2] == -1).all()
    assert [str(item.message) for item in caught] == [
        "out of saxpy is not contiguous (strides (8,)), so it is copied there and back for "
        "each call.\n"
        "Fix: pass c = numpy.ascontiguousarray(out), and then copy the result back: out[...] = c"
    ]
    assert caught[0].filename == __file__


def test_a_read_only_output_is_refused():
    x, out = floats(4), np.zeros(4, np.float32)
    out.flags.writeable = False

    assert message(lambda: saxpy(x, x, a=1, out=out)) == (
        "out of saxpy is written, but its array is read-only\n"
        "Fix: pass a copy that you keep, c = out.copy(): the result is in c, not in out"
    )


def test_outputs_that_overlap_are_refused():
    memory = np.zeros(6, np.int32)

    assert message(lambda: both(np.arange(4, dtype=np.int32), out=(memory[:4], memory[2:]))) == (
        "low and high of both are both written and share memory\n"
        "Fix: pass arrays that do not overlap"
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda x: saxpy(x, x, x, a=1),
            "saxpy takes 2 input arrays (x, y), 3 given\nFix: pass 2 arrays; pass out= by name",
        ),
        (lambda x: saxpy(x, x), "saxpy is missing a\nFix: pass a="),
        (
            lambda x: saxpy(x, x, b=1),
            "saxpy has no parameter 'b'; it has x, y, out, a\n"
            "Fix: use one of its parameters' names",
        ),
        (lambda x: saxpy(x, x, x=x, a=1), "saxpy got 'x' twice\nFix: pass it once"),
        (
            lambda x: saxpy(x, x, a=1, out=(x, x)),
            "out= has 2 arrays; saxpy writes 1 (out)\nFix: pass one array per output, in a tuple",
        ),
        (
            lambda x: saxpy(x, x, a="2"),
            "a of saxpy is '2', not a number\nFix: pass a float",
        ),
        (
            lambda x: saxpy(x, x, a=1e39),
            "a of saxpy is 1e+39, too large for f32\n"
            "Fix: pass a number up to 3.40282e+38, or declare it f64",
        ),
        (
            lambda x: scaled(x.astype(np.float64), k=2.5, on=True),
            "k of scaled is 2.5, not a value of i32\n"
            "Fix: pass a whole number from -2147483648 to 2147483647",
        ),
        (
            lambda x: scaled(x.astype(np.float64), k=1, on=1),
            "on of scaled is 1, not a bool\nFix: pass True or False",
        ),
        (
            lambda x: saxpy(x, x, a=1, shape=-1),
            "shape -1\nFix: pass whole numbers of at least 0",
        ),
        (
            lambda x: saxpy(x, x, a=1, shape="4"),
            "shape '4'\nFix: pass whole numbers of at least 0",
        ),
        (
            lambda x: saxpy(x, x, a=1, shape=1 << 32),
            "shape (4294967296,) is 4294967296 elements; 4294967294 allowed\nFix: split the call",
        ),
        (
            lambda x: saxpy(x, x, a=10**400),
            f"a of saxpy is {10**400}, too large for f32\n"
            "Fix: pass a number up to 3.40282e+38, or declare it f64",
        ),
        (
            lambda x: saxpy(x, x.astype(">f4"), a=1),
            "y of saxpy is >f4, not f32 (<f4)\nFix: pass y.astype(numpy.float32)",
        ),
        (
            lambda x: saxpy(x, x, a=1, schedule=(64, 1, 1)),
            "schedule= of saxpy is (64, 1, 1)\n"
            "Fix: pass a vyre.Schedule, such as vyre.Schedule((256, 1, 1))",
        ),
        (
            lambda x: saxpy.tune(x, x, a=1, budget_s=float("nan")),
            "a budget of nan s\nFix: pass a number of seconds above 0",
        ),
    ],
)
def test_a_mistake_in_a_call_says_what_to_do(call, text):
    assert message(lambda: call(floats(4))) == text


def test_scalars_take_every_type_they_can_hold():
    x = np.ones(2)

    assert scaled(x, k=-3, on=True).tolist() == [-3, -3]
    assert scaled(x, k=np.int64(4), on=np.bool_(False)).tolist() == [1, 1]


@vyre.kernel
def multiples(out: Out[u32], of: u32):
    i = vyre.gid()
    out[i] = i * of


def test_a_shape_may_be_a_list_and_a_number_an_array_without_axes():
    for _ in range(2):  # a call like an earlier one takes a shorter way
        assert multiples(shape=[3], of=2).tolist() == [0, 2, 4]
        assert multiples(shape=(3,), of=np.array(2)).tolist() == [0, 2, 4]


@vyre.kernel(workgroup=64)
def sum_groups(x: In[f32], out: Out[f32]):
    tile = vyre.shared(f32, 64)
    lane = vyre.local_id()
    tile[lane] = x[vyre.gid()]
    vyre.barrier()
    half = 32
    while half > 0:
        if lane < half:
            tile[lane] = tile[lane] + tile[lane + half]
        vyre.barrier()
        half = half >> 1
    if lane == 0:
        out[vyre.workgroup_id()] = tile[0]


def test_lanes_beyond_the_extent_of_a_kernel_with_barriers_read_zeros():
    out = np.zeros(16, np.float32)

    sum_groups(np.ones(1000, np.float32), out=out, shape=1000)

    assert out.tolist() == [64] * 15 + [40]


def test_a_parameter_cannot_take_a_name_that_calls_use():
    def wrong(x: In[f32], out: Out[f32], shape: u32):
        out[vyre.gid()] = x[shape]

    assert message(lambda: vyre.kernel(wrong)) == (
        "parameter 'shape' of wrong has a name that every call uses itself: "
        "again, budget_s, config, out, progress, schedule, shape, stream\n"
        "Fix: rename the parameter"
    )
