"""Arrays of a call that share memory do so in copies of them as well."""

import cloudpickle
import numpy as np
import pytest

from vyre.adapter.grids import Launch
from vyre.adapter.trial.copying import copied
from vyre.adapter.trial.margins import Margins
from vyre.adapter.trial.together import Form, Together, groups, taken_together
from vyre.adapter.trial.trials import pickled
from vyre.adapter.trial.viewed import viewed
from vyre.testing import stand_ins


def elsewhere(value):
    """A value as another process has it."""
    return Margins().within(cloudpickle.loads(pickled(viewed(value))))


COPIES = {"here": copied, "elsewhere": elsewhere}


@pytest.fixture(params=COPIES.values(), ids=COPIES)
def copy(request):
    return request.param


def test_one_array_given_twice_is_one_in_the_copy(copy):
    x = np.zeros(4)

    one, again, held, apart = copy((x, x, [x, {"x": x}], np.zeros(4)))

    assert one is again is held[0] is held[1]["x"]
    assert one is not x
    assert not np.shares_memory(one, apart)


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: (x[2:], x[:-2]),
        lambda x: (x, x[::-1]),
        lambda x: (x[::8], x[::8]),
        lambda x: (x[:4].view("u4"), x),
    ],
    ids=["shifted", "reversed", "few of many", "of another type"],
)
def test_views_that_overlap_do_so_in_the_copy(copy, parts):
    x = np.arange(64, dtype="i4")
    given = parts(x)

    made = copy(given)

    for one, other in zip(given, made, strict=True):
        assert (other.dtype, other.shape, other.strides) == (one.dtype, one.shape, one.strides)
        assert other.tolist() == one.tolist()
    made[1][...] = 7
    assert x.tolist() == list(range(64))
    given[1][...] = 7
    assert made[0].tolist() == given[0].tolist()


def test_columns_that_lie_between_each_other_share_nothing(copy):
    x = np.arange(1000.0).reshape(10, 100)

    one, other = copy((x[:, 3], x[:, 40]))

    assert one.tolist() == x[:, 3].tolist()
    assert not np.may_share_memory(one, other)


def test_arrays_of_cupys_share_what_they_share(copy):
    held = np.arange(12, dtype="f4")
    with stand_ins.cupy_by_name():
        x, tail, back, apart = map(stand_ins.ndarray, (held, held[4:], held[::-1], np.ones(3)))

        one, again, part, turned, other = copy((x, x, tail, back, apart))

        assert one is again
        assert part.held.tolist() == held[4:].tolist()
        assert turned.held.tolist() == held[::-1].tolist()
        one.held[...] = 5
        assert set(part.held) == set(turned.held) == {5}
        assert other.held.tolist() == [1.0] * 3
        assert held.tolist() == list(range(12))


class TestTensors:
    """Of torch's."""

    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_views_of_one_overlap_in_the_copy(self, torch, copy):
        x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
        given = (x, x, x[1:], x.T, x[:, ::2], x.view(-1)[3:9], torch.ones(3))

        made = copy(given)

        assert made[0] is made[1]
        for one, other in zip(given, made, strict=True):
            assert (other.dtype, other.shape, other.stride()) == (
                one.dtype,
                one.shape,
                one.stride(),
            )
            assert torch.equal(one, other)
        made[0].zero_()
        assert not any(one.any() for one in made[:-1])
        assert made[-1].all()
        assert x[1, 0] == 6

    def test_what_is_read_otherwise_is_in_the_copy(self, torch, copy):
        x = torch.arange(4, dtype=torch.float32)
        z = torch.complex(x, x)
        wide = x[:1].expand(3)
        gradients = x.detach().requires_grad_()

        one, other, imaginary, narrow, broad, wants = copy(
            (z, z.conj(), z.conj().imag, x, wide, gradients)
        )

        assert torch.equal(other, z.conj())
        assert other.is_conj()
        assert torch.equal(imaginary, z.conj().imag)
        one.zero_()
        assert not other.any()
        assert not imaginary.any()
        narrow.fill_(3)
        assert broad.tolist() == [3.0] * 3
        assert broad.stride() == (0,)
        assert wants.requires_grad
        assert wants.tolist() == [3.0] * 4


def test_arrays_of_several_memories_are_told_apart():
    here = Form.rows((4,), np.dtype("f4"), "here", 16)
    there = Form.rows((4,), np.dtype("f4"), "there", 16)
    beyond = Form.rows((4,), np.dtype("f4"), "here", 32)

    assert list(groups({0: here, 1: there, 2: beyond})) == []
    assert list(groups({0: there, 1: here, 2: there, 3: beyond})) == [(0, 2)]


def test_what_shares_memory_is_taken_once():
    x = np.arange(8, dtype="u1")
    forms = {0: Form.rows((4,), x.dtype, "", 0), 2: Form.rows((4,), x.dtype, "", 2)}

    taken = taken_together((x[:4], 3, x[2:6]), forms, {0: 5, 2: 7})

    assert isinstance(taken[0], Together)
    assert taken[1:] == (3, None)
    assert taken[0].held.tolist() == list(range(6))
    assert taken[0].lies == 5


def add(place, x, y):
    """Adds y to x, an element for each thread."""
    at = place[0]
    x.held[at] += y.held[at]


def shifted(x, y):
    """What the kernel gives of these, one thread after the other."""
    for at in range(len(x)):
        x[at] += y[at]


@pytest.mark.parametrize(
    "of", [lambda x: (x, x), lambda x: (x[1:], x[:-1])], ids=["in place", "beside"]
)
def test_a_raw_kernel_is_tried_on_what_its_caller_runs(monkeypatch, of):
    with stand_ins.cupy_by_name(stand_ins.LAUNCHES.place):
        from vyre.adapter.cupy import copies, raw

        one = stand_ins.RawKernel("", "add")
        one.body = add
        monkeypatch.setattr(copies, "pickled", lambda _: b"kernel")
        monkeypatch.setattr(copies.cloudpickle, "loads", lambda _: one)
        monkeypatch.setattr(copies.copying, "refuse_to_copy_much", lambda *_: None)
        held = np.arange(9.0)
        args = of(held)
        if args[0] is args[1]:
            args = (stand_ins.ndarray(held),) * 2
        else:
            args = tuple(map(stand_ins.ndarray, args))
        launch = Launch.of((len(args[0].held),), (1,))
        variants = raw._Raw(one, launch, 0, frozenset((launch.default,)))

        taken = variants.portable((args, None, (8,), None))
        written = raw.runs(taken.kernel)({"block": 1}, taken.arguments)
        copies_of, *_ = raw._on_copies((args, None, (8,), None))
        for at in range(len(args[0].held)):
            add((at,), *copies_of)

        assert held.tolist() == list(range(9))
        shifted(*(one.held for one in args))
        assert written[0].tolist() == args[0].held.tolist()
        assert written[1].tolist() == args[1].held.tolist()
        assert [one.held.tolist() for one in copies_of] == [one.held.tolist() for one in args]
        assert (written[2].array == 0xA5).all()
