"""The sizes of a launch are what Kernel Tuner makes them."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.adapter.template.sizes import Launch, Sizes, block_names, size_given
from vyre.errors import InvalidInput
from vyre.model import Limits

LIMITS = Limits(
    max_threads=1024,
    max_block=(1024, 1024, 64),
    max_grid=(1 << 31, 65535, 65535),
    group_bytes=48 << 10,
)


def tuners_block(params):
    """Kernel Tuner's `get_thread_block_dimensions`."""
    usual = {"block_size_x": 256, "block_size_y": 1, "block_size_z": 1}
    return tuple(int(params.get(name, default)) for name, default in usual.items())


def tuners_grid(size, params, divisors):
    """Kernel Tuner's `get_grid_dimensions`."""

    def divisor(said, name):
        if said is None:
            return params.get(name, 1)
        if callable(said):
            return said(params)
        listed = said if isinstance(said, (list, tuple)) else [said]
        return math.prod(int(eval(str(one), {}, dict(params))) for one in listed)  # noqa: S307  # our own text

    padded = (*size, 1, 1)[:3]
    names = ("block_size_x", "block_size_y", "block_size_z")
    return tuple(
        math.ceil(float(extent) / float(divisor(said, name)))
        for extent, said, name in zip(padded, divisors, names, strict=True)
    )


DIVISORS = st.one_of(
    st.none(),
    st.integers(1, 64),
    st.just([]),
    st.lists(
        st.sampled_from(["tile", "block_size_x", "tile * 2", "block_size_x / 3", 4]), max_size=3
    ),
    st.sampled_from(["tile", "tile * tile", lambda p: p["tile"] * 2, lambda p: p["tile"] / 2 + 1]),
)


@given(
    st.lists(st.integers(1, 100_000), min_size=1, max_size=3),
    st.fixed_dictionaries(
        {"tile": st.integers(1, 9), "block_size_x": st.integers(3, 999)},
        optional={"block_size_y": st.integers(1, 99), "block_size_z": st.integers(1, 9)},
    ),
    st.tuples(DIVISORS, DIVISORS, DIVISORS),
)
def test_grid_and_block_are_kernel_tuners(size, params, divisors):
    sizes = Sizes.of(tuple(params), "f", divisors=divisors)

    launch = sizes.launch(params, tuple(size))

    assert launch == Launch(tuners_grid(size, params, divisors), tuners_block(params), 0)


def test_without_a_parameter_for_it_a_block_is_256_wide_and_the_size_is_the_grid():
    assert Sizes.of((), "f").launch({}, (1000,)) == Launch((1000, 1, 1), (256, 1, 1))


def test_block_sizes_have_their_names_in_any_case():
    sizes = Sizes.of(("BLOCK_SIZE_X", "Block_Size_Y"), "f")

    launch = sizes.launch({"BLOCK_SIZE_X": 32, "Block_Size_Y": 4}, (100, 9))

    assert launch == Launch((4, 3, 1), (32, 4, 1))
    with pytest.raises(InvalidInput) as caught:
        block_names(("block_size_x", "BLOCK_SIZE_X"))
    assert str(caught.value) == (
        "parameters block_size_x and BLOCK_SIZE_X both say the size of the block\n"
        "Fix: rename one of them, or say block="
    )


def of_the_size(_, size):
    return [n // 10 for n in size]


@pytest.mark.parametrize(
    ("said", "size", "wanted"),
    [
        ({"block": "t"}, (100,), ((4, 1, 1), (32, 1, 1), 0)),
        ({"block": ("t", 4, "t // 16")}, (100, 50), ((4, 13, 1), (32, 4, 2), 0)),
        ({"block": lambda config: (config["t"], 2)}, (100, 50), ((4, 25, 1), (32, 2, 1), 0)),
        ({"block": lambda _, size: min(size[0], 64)}, (100,), ((2, 1, 1), (64, 1, 1), 0)),
        ({"grid": "ceil(size / t)"}, (100,), ((4, 1, 1), (256, 1, 1), 0)),
        ({"grid": ("size_x", "size_y * t", 3)}, (100, 50), ((100, 1600, 3), (256, 1, 1), 0)),
        ({"grid": of_the_size}, (100, 50), ((10, 5, 1), (256, 1, 1), 0)),
        ({"grid": np.int64(7), "shared": "t * 4"}, (100,), ((7, 1, 1), (256, 1, 1), 128)),
        (
            {"grid": 7, "shared": {"size": lambda config: config["t"]}},
            (100,),
            ((7, 1, 1), (256, 1, 1), 32),
        ),
    ],
)
def test_a_grid_and_a_block_may_be_numbers_expressions_and_functions(said, size, wanted):
    assert Sizes.of(("t",), "f", **said).launch({"t": 32}, size) == Launch(*wanted)


@pytest.mark.parametrize(
    ("fixed", "given_", "wanted"),
    [
        (1000, None, (1000,)),
        ("n * 2", None, (8,)),
        (("n", 3), None, (4, 3)),
        (lambda config: (config["n"], 7), None, (4, 7)),
        (1000, (5,), (5,)),
        (None, (5, 6), (5, 6)),
    ],
)
def test_the_size_is_the_calls_or_what_was_fixed(fixed, given_, wanted):
    assert Sizes.of(("n",), "f", size=fixed).size_of({"n": 4}, given_, "f") == wanted


def test_a_grid_that_needs_no_size_gets_none():
    assert Sizes.of((), "f", grid=4).size_of({}, None, "f") == ()


@pytest.mark.parametrize("given_", [0, 7, (7,), [7, 8], np.int32(7), (np.int64(1), 2, 3), 1 << 31])
def test_a_calls_size_is_one_to_three_numbers(given_):
    assert size_given(given_, "f") == tuple(np.atleast_1d(given_).tolist())


@pytest.mark.parametrize(
    "given_", [-1, 1.5, True, "7", (), (1, 2, 3, 4), {1: 2}, None, (1, -1), np.array(7)]
)
def test_anything_else_is_none(given_):
    with pytest.raises(InvalidInput) as caught:
        size_given(given_, "f")

    assert str(caught.value) == (
        f"size= of f is {given_!r}\nFix: give one to three whole numbers of at least 0"
    )


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"block": "b * 2"},
            "block= of f, 'b * 2', names 'b', which is no parameter\n"
            "Fix: name some of t, size, size_x, size_y, size_z",
        ),
        (
            {"grid": 3, "divisors": (1, None, None)},
            "grid= of f beside divisors of its size\nFix: give one or the other",
        ),
        ({"block": (1, 2, 3, 4)}, "block= of f is (1, 2, 3, 4)\nFix: give one to three axes"),
        (
            {"grid": 1.5},
            "grid= of f is 1.5\n"
            'Fix: give a number, an expression such as "block_size_x * 2", or a function',
        ),
        (
            {"shared": {"bytes": 3}},
            "shared= of f is {'bytes': 3}\nFix: give bytes, or {\"size\": bytes}",
        ),
    ],
)
def test_what_says_nothing_is_refused_where_it_is_written(said, message):
    with pytest.raises(InvalidInput) as caught:
        Sizes.of(("t",), "f", **said)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("said", "size", "message"),
    [
        (
            {"block": "t - 32"},
            (9,),
            "block= of f is 0 under t=32\nFix: let it give a whole number of at least 1",
        ),
        (
            {"block": lambda _: 1.5},
            (9,),
            "block= of f is 1.5 under t=32\nFix: let it give a whole number of at least 1",
        ),
        (
            {"block": lambda _: (1, 2, 3, 4)},
            (9,),
            "block= of f gave (1, 2, 3, 4)\nFix: give one to three whole numbers",
        ),
        (
            {"grid": "1 / (t - 32)"},
            (9,),
            "grid= of f, '1 / (t - 32)', has no value: ZeroDivisionError: division by zero\n"
            "Fix: mend it",
        ),
        (
            {"grid": "size_y"},
            (9,),
            "grid= of f, 'size_y', needs 'size_y'\nFix: pass a size of as many axes",
        ),
        (
            {"grid": lambda _: 1 / 0},
            (9,),
            "grid= of f raised ZeroDivisionError: division by zero\nFix: mend it",
        ),
        (
            {"divisors": ("t - 32", None, None)},
            (9,),
            "grid_div_x= of f divides by 0 under t=32\nFix: let it give more than 0",
        ),
        (
            {"divisors": (lambda _: "x", None, None)},
            (9,),
            "grid_div_x= of f gave 'x'\nFix: let it give a number",
        ),
        (
            {"divisors": (lambda _: 1e-320, None, None)},
            (9,),
            "grid_div_x= of f leaves more blocks of 9 than can be counted, under t=32\n"
            "Fix: let it give more",
        ),
        (
            {"divisors": ((2, lambda _: 0.5), None, None)},
            (10**5000,),
            "grid_div_x= of f leaves more blocks of <a whole number of 16610 bits> than can be "
            "counted, under t=32\nFix: let it give more",
        ),
    ],
)
def test_what_gives_nothing_that_can_be_used_is_said(said, size, message):
    with pytest.raises(InvalidInput) as caught:
        Sizes.of(("t",), "f", **said).launch({"t": 32}, size)

    assert str(caught.value) == message


def test_a_call_without_a_size_that_needs_one_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Sizes.of((), "f").size_of({}, None, "f")

    assert str(caught.value) == (
        "a launch of f without a size\nFix: pass size= to the call, or to the template of f"
    )


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        (Launch((1, 1, 1), (64, 16, 1)), None),
        (
            Launch((1, 1, 1), (64, 32, 1)),
            "block (64, 32, 1) is 2,048 threads, and the device allows 1,024",
        ),
        (Launch((1, 1, 1), (1, 1, 65)), "block (1, 1, 65) along z, and the device allows 64"),
        (
            Launch((1, 65536, 1), (1, 1, 1)),
            "grid (1, 65536, 1) along y, and the device allows 65,535",
        ),
        (
            Launch((1, 1, 1), (1, 1, 1), 50_000),
            "50,000 bytes of workgroup memory, and the device allows 49,152",
        ),
        (
            Launch((10**5000, 1, 1), (1, 1, 1)),
            "grid (<a whole number of 16610 bits>, 1, 1) along x, and the device allows "
            "2,147,483,648",
        ),
        (
            Launch((1, 1, 1), (10**5000, 1, 1)),
            "block (<a whole number of 16610 bits>, 1, 1) is <a whole number of 16610 bits> "
            "threads, and the device allows 1,024",
        ),
        (
            Launch((1, 1, 1), (1, 1, 1), 10**5000),
            "<a whole number of 16610 bits> bytes of workgroup memory, and the device allows "
            "49,152",
        ),
    ],
)
def test_what_a_device_cannot_launch_is_said(launch, why):
    assert launch.refusal(LIMITS) == why


def test_all_that_is_said_is_told_and_functions_are_found():
    def block(config):
        return config["t"]

    sizes = Sizes.of(("t",), "f", size=9, block=block, shared="t * 4", divisors=("t", [], None))

    assert sizes.functions == (block,)
    assert "size = 9\ngrid_div_x = t\ngrid_div_y = \nblock = " in sizes.text
    assert "shared = t * 4" in sizes.text
    assert "return config" in sizes.text
    assert pickle.loads(pickle.dumps(Sizes.of(("t",), "f", grid="t"))).text == "grid = t"  # noqa: S301  # our own


def test_it_is_known_whether_a_block_follows_the_size():
    follows = [{"block": "size"}, {"block": of_the_size}, {"shared": "size_x"}]
    alone = [{"block": "t"}, {"block": lambda _: 1}, {"grid": of_the_size}, {}]

    assert all(Sizes.of(("t",), "f", **one).block_follows_size for one in follows)
    assert not any(Sizes.of(("t",), "f", **one).block_follows_size for one in alone)
