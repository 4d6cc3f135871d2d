"""What a call of a function gave, and what it left in the arrays it was given."""

from types import SimpleNamespace

import numpy as np
import pytest

import vyre
from vyre.adapter import portable
from vyre.adapter.portable import as_numpy, portable_call, ran, runs


def there_and_back(function, *args, **kwargs):
    """A call as another process has it, and what came of it: by name, where it has one."""
    taken = portable_call("vyre.adapter.portable:runs", function, (args, kwargs))
    written = runs(taken.kernel)({"k": 2}, taken.arguments)
    return taken.names, [one.tolist() for one in written]


def test_arrays_are_told_by_their_names_wherever_they_are_held():
    def add(x, n, rest, *, k, held):
        x += k
        rest[0]["y"] += n
        held *= k
        return n

    names, written = there_and_back(
        add, np.zeros(2), 5, ({"y": np.ones(1), "z": "text"}, [1, 2]), held=np.ones(3)
    )

    assert names == ("argument 0", "argument 2[0]['y']", "held")
    assert written == [[2.0] * 2, [6.0], [2.0] * 3, 5]


def test_what_stood_in_a_place_is_compared_though_something_else_stands_there_now():
    def swap(pair, *, k):
        pair[0] += k
        pair[0] = None

    assert there_and_back(swap, [np.zeros(1), "x"])[1] == [[2.0], None]


@pytest.mark.parametrize(
    ("given", "results"),
    [
        (None, [None]),
        (3.5, [3.5]),
        ([1, 2.5, True], [[1.0, 2.5, 1.0]]),
        ((1, "two"), [1, "two"]),
        ({"a": np.arange(2), "b": (1, 2)}, [[0, 1], [1, 2]]),
        (([1, 2], [3]), [[1, 2], [3]]),
        ([], [[]]),
    ],
)
def test_results_of_any_form_come_apart_into_what_is_compared(given, results):
    assert [one.tolist() for one in ran(lambda: given, ((), {}))] == results


def test_an_array_of_a_device_comes_to_the_host():
    x = vyre.open("reference").array([1.0, 2.0])

    assert as_numpy(x).tolist() == [1.0, 2.0]
    assert [one.tolist() for one in ran(lambda _: None, ((x,), {}))] == [[1.0, 2.0], None]


def test_arrays_of_others_come_by_what_their_library_has_for_it(monkeypatch):
    kinds = (SimpleNamespace, np.recarray)
    monkeypatch.setattr(portable, "kind_of", lambda one: isinstance(one, kinds) or None)

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
