"""Grids of launches: a function of numbers is asked once for each, and any other each time."""

import dis
import gc
import math
import weakref
from types import FunctionType

import pytest

triton = pytest.importorskip("triton")
from vyre.adapter.triton.axes import Counting  # noqa: E402  # it needs triton

SIZE = 1000
NAMES = ("x", "n", "m", "scale", "BLOCK", "NAME")
CONSTANTS = {"BLOCK": 64, "NAME": "y"}


def counting(n=int, m=int):
    told = []

    def tell(given):
        told.append(dict(zip(NAMES, (*given, *CONSTANTS.values()), strict=True)))
        return told[-1]

    typed = [("x", None), ("n", n), ("m", m), ("scale", float)]
    return counted_by(Counting(typed, CONSTANTS, tell)), told


def counted_by(blocks):
    """What a launch asks: the latest code's own way, or any."""
    return lambda grid, given: blocks.count(grid, given)


def holding(size):
    return lambda meta: (triton.cdiv(size, meta["BLOCK"]),)


COUNT = {
    "a quotient": lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),),
    "two axes": lambda meta: (meta["n"] // meta["BLOCK"] + 1, meta["m"]),
    "three axes": lambda meta: (math.ceil(meta["n"] / meta["BLOCK"]), 2, meta["m"]),
    "what is outside": lambda meta: (min(SIZE, triton.cdiv(meta["n"], meta["BLOCK"])),),
    "a negative one": lambda meta: (-(-meta["n"] // meta["BLOCK"]),),
    "a closure": holding(900),
}
ASK = {
    "a length": lambda meta: (len(meta),),
    "an attribute": lambda meta: (meta["x"].real,),
    "a tensor": lambda meta: (meta["x"] + 1,),
    "a float": lambda meta: (int(meta["scale"]),),
    "a list": lambda meta: [meta["n"], 1],
    "a name that is put together": lambda meta: (meta["BLO" + meta["NAME"].replace("y", "CK")],),
    "a look at all": lambda meta: (sum(1 for _ in meta),),
    "a condition": lambda meta: (meta["n"] if meta["m"] else 1,),
    "a name that is put together by numbers": lambda meta: (meta["n" * (meta["n"] and 1)],),
    "a text": lambda meta: (meta["n"], "1" * meta["m"]),
    "a default": lambda meta, more=1: (meta["n"] + more,),
    "a truth": lambda meta: (meta["n"], True),
}


@pytest.mark.parametrize("grid", COUNT.values(), ids=COUNT)
def test_a_function_that_counts_is_asked_once_for_its_numbers(grid):
    axes, told = counting()
    for scale, n in ((1.0, 500), (2.0, 500), (3.0, 600), (4.0, 600), (5.0, 500)):
        given = (7, n, 3, scale)
        says = grid(dict(zip(NAMES, (*given, *CONSTANTS.values()), strict=True)))

        assert axes(grid, given) == (*says, 1, 1)[:3]
    assert len(told) <= 2


@pytest.mark.parametrize("grid", ASK.values(), ids=ASK)
def test_any_other_function_is_asked_each_time(grid):
    axes, told = counting()
    for number in range(4):
        given = (number, number + 5, number, float(number))
        says = grid(dict(zip(NAMES, (*given, *CONSTANTS.values()), strict=True)))

        assert axes(grid, given) == (*says, 1, 1)[:3]
    assert len(told) == 4


@pytest.mark.parametrize("grid", [(5,), [5, 6], (5, 6, 7, 8)])
def test_a_grid_that_is_no_function_is_taken_as_it_is(grid):
    axes, told = counting()

    assert axes(grid, (1, 2, 3, 4.0)) == (*grid, 1, 1)[:3]
    assert told == []


def test_what_a_closure_holds_counts_by_its_value_and_its_type():
    axes, told = counting()
    for _ in range(3):
        for size in (64, 65, int("70000"), 70000):
            assert axes(holding(size), (1, 2, 3, 4.0)) == (-(-size // 64), 1, 1)
    assert len(told) == 3

    assert repr(axes(holding(70000.0), (1, 2, 3, 4.0))) == "(1094.0, 1, 1)"
    assert axes(holding(70000), (1, 2, 3, 4.0)) == (1094, 1, 1)


def test_what_a_closure_holds_is_not_kept():
    class Sized:
        def __radd__(self, other):
            return other + 1

    def of(one):
        return lambda meta: (meta["n"] + one,)

    axes, _ = counting()
    for first in (1, Sized()):
        axes(of(first), (1, 2, 3, 4.0))
        kept = Sized()
        axes(of(kept), (1, 2, 3, 4.0))
        gone = weakref.ref(kept)
        del kept
        gc.collect()

        assert gone() is None


def test_a_cell_that_holds_nothing_yet_is_told_by_python():
    def made():
        grid = lambda meta: (later + meta["n"],)  # noqa: E731
        with pytest.raises(NameError):
            axes(grid, (1, 2, 3, 4.0))
        later = 1
        assert axes(grid, (1, 2, 3, 4.0)) == (3, 1, 1)

    axes, _ = counting()
    for _ in range(2):
        made()


def test_what_changes_while_a_function_is_asked_is_not_kept():
    size, during = 1, []

    def tell(given):
        nonlocal size
        size = during.pop() if during else size
        return dict(zip(NAMES, (*given, *CONSTANTS.values()), strict=True))

    grid = lambda meta: (size + meta["n"],)  # noqa: E731
    typed = [("x", None), ("n", int), ("m", int), ("scale", float)]
    axes = counted_by(Counting(typed, CONSTANTS, tell))
    during.append(5)  # as another thread would
    assert axes(grid, (1, 2, 3, 4.0)) == (7, 1, 1)
    size = 1
    assert axes(grid, (1, 2, 3, 4.0)) == (3, 1, 1)


def test_a_number_of_the_module_that_changes_is_read_anew(monkeypatch):
    axes, _ = counting()
    grid = COUNT["what is outside"]
    given = (1, 10**6, 1, 1.0)

    assert [axes(grid, given) for _ in range(2)] == [(1000, 1, 1)] * 2
    monkeypatch.setitem(globals(), "SIZE", 5)
    assert axes(grid, given) == (5, 1, 1)
    monkeypatch.setitem(globals(), "SIZE", 7)
    assert axes(grid, given) == (7, 1, 1)
    monkeypatch.setitem(globals(), "min", max)
    assert axes(grid, given) == (15625, 1, 1)


def test_a_function_of_tritons_that_is_replaced_is_called(monkeypatch):
    axes, _ = counting()
    grid = COUNT["a quotient"]

    assert [axes(grid, (1, 640, 1, 1.0)) for _ in range(2)] == [(10, 1, 1)] * 2
    monkeypatch.setattr(triton, "cdiv", lambda one, two: one + two)
    assert axes(grid, (1, 640, 1, 1.0)) == (704, 1, 1)


def test_the_same_code_with_other_globals_is_another_function():
    axes, _ = counting()
    grid = COUNT["what is outside"]
    other = FunctionType(grid.__code__, {"triton": triton, "SIZE": 3})

    for _ in range(2):
        assert axes(grid, (1, 10**6, 1, 1.0)) == (1000, 1, 1)
        assert axes(other, (1, 10**6, 1, 1.0)) == (3, 1, 1)


def test_a_stream_of_functions_is_forgotten():
    blocks = Counting([("n", int)], {}, lambda given: {"n": given[0]})
    for number in range(600):
        grid = eval(f"lambda meta: (meta['n'] + {number},)")  # noqa: S307
        assert blocks.count(grid, (2,)) == blocks.of(grid, (2,)) == (2 + number, 1, 1)

    assert len(blocks._known) <= 256


def test_functions_and_shapes_that_take_turns_are_each_counted():
    axes, told = counting()
    for _ in range(4):
        for grid, expected in (
            (COUNT["a quotient"], (8, 1, 1)),
            ((5, 6), (5, 6, 1)),
            (COUNT["two axes"], (8, 3, 1)),
            (ASK["a length"], (6, 1, 1)),
        ):
            assert axes(grid, (1, 500, 3, 4.0)) == expected
    assert len(told) == 2 + 4


def test_a_function_with_an_effect_has_it_each_time():
    made = 0

    def grid(meta):
        nonlocal made
        made += 1
        return (meta["n"],)

    axes, _ = counting()
    for _ in range(3):
        axes(grid, (1, 2, 3, 4.0))

    assert made == 3
    assert "STORE_DEREF" in {one.opname for one in dis.get_instructions(grid)}
