"""What a call of a function gave, and what it left in the arrays it was given."""

import time
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import vyre
from vyre.adapter.trial import parts
from vyre.adapter.trial.differences import differ
from vyre.adapter.trial.parts import as_numpy
from vyre.adapter.trial.portable import portable_call, ran, runs

ALWAYS = ("the process", "the memory beside")


def there_and_back(function, *args, **kwargs):
    """A call as another process has it, and what came of it: by name, where it has one."""
    taken = portable_call("vyre.adapter.trial.portable:runs", function, (args, kwargs))
    return by_name(runs(taken.kernel)({"k": 2}, taken.arguments))


def by_name(parts):
    """What was left and given, by its names; not what is there of every call."""
    return {one.name: plain(one) for one in parts if not one.name.startswith(ALWAYS)}


def plain(part):
    return part.kind if part.array is None else part.array.tolist()


def test_arrays_are_told_by_their_names_wherever_they_are_held():
    def add(x, n, rest, *, k, held):
        x += k
        rest[0]["y"] += n
        held *= k
        return n

    assert there_and_back(
        add, np.zeros(2), 5, ({"y": np.ones(1), "z": "text"}, [1, 2]), held=np.ones(3)
    ) == {
        "argument 0": [2.0] * 2,
        "argument 1": 5,
        "argument 2": "tuple of 2",
        "argument 2[0]": "dict of 'y', 'z'",
        "argument 2[0]['y']": [6.0],
        "argument 2[0]['z']": "text",
        "argument 2[1]": [1, 2],
        "held": [2.0] * 3,
        "result 1": 5,
    }


def test_what_stood_in_a_place_is_compared_though_something_else_stands_there_now():
    def swap(pair, *, k):
        pair[0] += k
        pair[0] = None

    assert there_and_back(swap, [np.zeros(1), "x"]) == {
        "argument 0": "list of 2",
        "argument 0[0]": None,
        "argument 0[1]": "x",
        "what stood at argument 0[0]": [2.0],
        "result 1": None,
    }


@dataclass
class Held:
    x: object


class Counted:
    """An object that says when it was last called."""

    def __init__(self, x):
        self.x, self.when = x, time.perf_counter_ns()


def loop():
    made = [1]
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("given", "results"),
    [
        (None, {"result 1": None}),
        (3.5, {"result 1": 3.5}),
        (
            [1, 2.5, True],
            {
                "result 1": "list of 3",
                "result 1[0]": 1,
                "result 1[1]": 2.5,
                "result 1[2]": True,
            },
        ),
        ((1, "two"), {"what it gave": "a tuple of 2", "result 1": 1, "result 2": "two"}),
        (
            {"a": np.arange(2), "b": (1, 2)},
            {"result 1": "dict of 'a', 'b'", "result 1['a']": [0, 1], "result 1['b']": [1, 2]},
        ),
        ([], {"result 1": "list of 0"}),
        ([2**63, -1], {"result 1": [2**63, -1]}),
        ({2, 1}, {"result 1": ["1", "2"]}),
        (b"ab", {"result 1": [97, 98]}),
        (Held(1.5), {"result 1": f"{__name__}.Held", "result 1.x": 1.5}),
        (
            loop(),
            {
                "result 1": "list of 2",
                "result 1[0]": 1,
                "result 1[1]": "the same as result 1",
            },
        ),
        (
            np.ma.masked_array([1, 2], [False, True]),
            {"the mask of result 1": [False, True], "result 1": [1, 0]},
        ),
    ],
    ids=str,
)
def test_results_of_any_form_come_apart_into_what_is_compared(given, results):
    assert by_name(ran(lambda: given, ((), {}))) == results


def test_of_an_object_that_is_passed_arrays_count_and_of_one_that_is_given_all():
    def step(held):
        held.x += 1
        return Held(held.when)

    parts = ran(step, ((Counted(np.zeros(1)),), {}))

    assert [*by_name(parts)] == [
        *("argument 0", "argument 0.x"),
        *("result 1", "result 1.x"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            lambda _: {"a": 1, "b": 2},
            lambda _: {"b": 1, "a": 2},
            "result 1 is dict of 'b', 'a', and not dict of 'a', 'b'",
        ),
        (lambda _: 2.0, lambda _: np.float64(2), "result 1 is numpy.float64, and not float"),
        (lambda _: (1, 2), lambda _: [1, 2], "what it gave is list of 2 int, and not a tuple of 2"),
        (
            lambda x: x.copy(),
            lambda x: x[:],
            "result 1 is numpy.ndarray in the memory of argument 0, and not numpy.ndarray",
        ),
        (
            lambda x: x,
            lambda x: x + 0,
            "result 1 is numpy.ndarray, and not numpy.ndarray in the memory of argument 0",
        ),
        (
            lambda _: [2**53, 0.5],
            lambda _: [2**53 + 1, 0.5],
            "result 1[0] has 1 of 1 elements that differ, such as 9007199254740993 at its one "
            "place, where it should be 9007199254740992",
        ),
    ],
)
def test_what_is_given_differs_by_its_form_as_well(one, other, said):
    wanted, found = (ran(function, ((np.zeros(2),), {})) for function in (one, other))

    assert differ(wanted, found, (), 0.0, 0.0) == said


def test_a_list_that_is_passed_is_compared_as_it_was_left():
    def grow(given, by):
        given.append(by)

    wanted, found = (ran(partial(grow, by=by), (([],), {})) for by in (1, 2))

    assert differ(wanted, found, (), 0.0, 0.0) == (
        "argument 0 has 1 of 1 elements that differ, such as 2 at 0, where it should be 1"
    )


def test_what_was_given_is_compared_as_it_was_though_its_memory_is_used_again():
    out = np.empty(2)

    def fill(by):
        out[:] = by
        return out

    wanted, found = (ran(partial(fill, by), ((), {})) for by in (1, 2))

    assert differ(wanted, found, (), 0.0, 0.0) is not None


def test_an_array_of_a_device_comes_to_the_host():
    x = vyre.open("reference").array([1.0, 2.0])

    assert as_numpy(x).tolist() == [1.0, 2.0]
    assert [*by_name(ran(lambda _: None, ((x,), {}))).values()] == [[1.0, 2.0], None]


def test_arrays_of_others_come_by_what_their_library_has_for_it(monkeypatch):
    kinds = (SimpleNamespace, np.recarray)
    monkeypatch.setattr(parts, "kind_of", lambda one: isinstance(one, kinds) or None)

    assert as_numpy(SimpleNamespace(get=lambda: [1, 2])).tolist() == [1, 2]
    assert as_numpy(np.zeros(1).view(np.recarray)).tolist() == [0.0]


def test_tensors_come_whatever_their_type_and_layout():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.5])
    kinds = [
        *(x, x.to(torch.bfloat16), x.to(torch.float8_e4m3fn), x.requires_grad_(), x.to_sparse()),
        *(x.to(torch.complex64).conj(), x.to(torch.complex64).conj().imag + x, x.half()),
    ]

    assert [as_numpy(one).tolist() for one in kinds] == [[1.0, 2.5]] * len(kinds)
