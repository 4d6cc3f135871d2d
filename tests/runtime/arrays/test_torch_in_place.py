"""What torch's objects hold tells every change that is made to a tensor in place."""

import sys
import weakref
from types import SimpleNamespace

import pytest

from vyre.runtime.arrays import foreign_kinds, torch_in_place
from vyre.runtime.arrays.torch_in_place import layout_of
from vyre.runtime.call.repeat import LONGER
from vyre.runtime.call.same import Form, same_of


def test_what_is_not_as_expected_is_not_read():
    assert layout_of(SimpleNamespace()) is None


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def layout(torch):
    found = layout_of(torch)
    assert found is not None
    return found


CHANGES = {
    "another storage": lambda torch, x: x.set_(torch.zeros(4, 4)),
    "other data": lambda torch, x: setattr(x, "data", torch.zeros(4, 4)),
    "data of another shape": lambda torch, x: setattr(x, "data", torch.zeros(2, 8)),
    "data of another type": lambda torch, x: setattr(x, "data", torch.zeros(4, 4).double()),
    "a lazy sign": lambda torch, x: setattr(x, "data", (torch.zeros(4, 4) * 1j).conj().imag),
    "another shape": lambda _, x: x.resize_(2, 8),
    "transposed": lambda _, x: x.t_(),
    "an axis more": lambda _, x: x.unsqueeze_(0),
    "other strides": lambda _, x: x.as_strided_((2, 2), (1, 2)),
    "a storage that grew": lambda _, x: x.untyped_storage().resize_(1 << 20),
    "swapped": lambda torch, x: torch.utils.swap_tensors(x, torch.zeros(4, 4)),
    "to be differentiated": lambda _, x: x.requires_grad_(),
    "another class": lambda torch, x: setattr(x, "__class__", torch.nn.Parameter),
}


@pytest.mark.parametrize("among", [1, 3])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_in_place_is_told(torch, layout, change, among):
    tensors = [torch.zeros(4, 4) for _ in range(among)]
    changed = layout.watch_all([*tensors, None], range(among))
    assert not changed([*tensors, None])

    kept = change(torch, tensors[-1])

    assert changed([*tensors, None])
    del kept


def test_elements_that_are_set_are_no_change(torch, layout):
    x = torch.zeros(4, 4)
    changed = layout.watch_all([x], [0])
    x.add_(3)
    x[1:] = 7

    assert not changed([x])
    assert (x.sum().item(), x.t().is_contiguous()) == (12 + 84, False)
    assert not changed([x])


def test_a_view_that_comes_to_need_a_gradient_is_told(torch, layout):
    x = torch.zeros(4, 4)[1:]  # of which torch keeps what it is a view of from the start
    changed = layout.watch_all([x], [0])
    assert not changed([x])

    x.requires_grad_()

    assert changed([x])


def test_a_tensor_is_watched_without_being_kept(torch, layout):
    x = torch.zeros(4, 4)
    tensor, storage = weakref.ref(x), weakref.ref(x.untyped_storage())
    changed = layout.watch_all([x], [0])
    assert not changed([x])

    del x

    assert tensor() is None
    assert storage() is None


def test_a_tensor_of_a_known_call_can_be_swapped_for_another(torch):
    x, other, launched = torch.zeros(4, 4), torch.ones(4, 4), []
    step = SimpleNamespace(start=lambda arguments, _: launched.append(arguments))
    repeat = SimpleNamespace(
        fits=lambda _: True,
        scalars=(),
        ordered=None,
        site=SimpleNamespace(tick=int, asked=(), best=step),
        order=SimpleNamespace(
            backend=SimpleNamespace(fix=None, strayed=False), where=None, currents=(), own=()
        ),
    )
    form = Form(places=(0,), several=False, inputs=1, by_name=0, whole=())
    same = same_of(repeat, form, [x, None], [x.data_ptr()], {(): repeat.site}, lambda _: None, None)
    assert same([x, None], None, {}, None) is not LONGER

    torch.utils.swap_tensors(x, other)  # which torch refuses where there are weak references

    assert same([x, None], None, {}, None) is LONGER
    assert launched == [[other.data_ptr()]]


@pytest.mark.parametrize("make", ["a subclass", "six axes"])
def test_tensors_that_may_hold_more_are_asked(torch, layout, make):
    class Other(torch.Tensor):
        pass

    x = torch.zeros(4).as_subclass(Other) if make == "a subclass" else torch.zeros(*[1] * 6)

    assert layout.watch_all([x], [0]) is None
    changed, tells_of_others = foreign_kinds.kind_of(x).watch([x], [0])
    assert not tells_of_others
    assert not changed([x])
    x.data = torch.zeros(5)
    assert changed([x])


@pytest.mark.parametrize(
    ("name", "size"), [("_TENSOR", 8), ("_STORAGE", 0), ("_NEAR", 1), ("_MOST_AXES", 1)]
)
def test_tensors_of_which_a_change_would_not_show_are_asked(torch, monkeypatch, name, size):
    monkeypatch.setattr(torch_in_place, name, size)

    assert layout_of(torch) is None


def test_tensors_are_read_under_inference_too(torch):
    with torch.inference_mode():
        layout = layout_of(torch)
        x = torch.zeros(4, 4)
        changed = layout.watch_all([x], [0])
        assert not changed([x])
        x.resize_(2, 8)
        assert changed([x])


def test_another_interpreter_asks_torch(torch, monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")

    assert layout_of(torch) is None
