"""Arguments made up for kernels, and what people write on a command line."""

import numpy as np
import pytest
import typer
from hypothesis import given

import vyre
from vyre.cli.targets import made_up
from vyre.cli.words import parse_schedule, parse_size, parse_span
from vyre.kernels import ALL, gather
from vyre.model import UNSAID, Code, Order, Schedule
from vyre.testing.configs import schedules


@vyre.kernel
def mixed(
    a: vyre.In[vyre.f32, 2],
    b: vyre.InOut[vyre.i16],
    c: vyre.In[vyre.f64, (3, 3)],
    d: vyre.In[vyre.bf16],
    flag: vyre.bool_,
    n: vyre.u32,
    out: vyre.Out[vyre.f32],
):
    i = vyre.gid()
    if flag and n > 0:
        out[i] = a[0, 0] + vyre.f32(c[1, 1]) + vyre.f32(d[i])
    b[i] = b[i] + 1


def test_arrays_have_their_declared_shapes_or_about_the_size():
    call = made_up(mixed, 10_000)

    assert {name: array.shape for name, array in call.arrays.items()} == {
        "a": (100, 100),
        "b": (10_000,),
        "c": (3, 3),
        "d": (10_000,),
        "out": (10_000,),
    }
    assert call.scalars == {"flag": True, "n": 1}
    assert call.made_up


def test_whole_numbers_can_serve_as_indices():
    call = made_up(gather, 500)

    assert call.arrays["index"].max() < call.arrays["table"].size
    assert call.arrays["index"].dtype == np.uint32


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.name)
def test_what_is_made_up_can_be_passed_to_the_kernel(kernel):
    device = vyre.open("reference")
    call = made_up(kernel, 64)
    if kernel.name in ("stencil9", "histogram"):  # arrays of fixed and of free sizes
        assert len({array.shape for array in call.arrays.values()}) > 1

    outputs = [d.name for d in kernel.program.buffers if d.access.name == "WRITE_ONLY"]
    arrays = {name: device.array(array) for name, array in call.arrays.items()}
    out = tuple(arrays.pop(name) for name in outputs)

    kernel(**arrays, **call.scalars, out=out or None)


@pytest.mark.parametrize(
    ("word", "size"),
    [("1000", 1000), ("2^20", 1 << 20), ("2**10", 1024), ("3Ki", 3072), ("1M", 10**6)],
)
def test_sizes_are_written_as_people_do(word, size):
    assert parse_size(word) == size


@pytest.mark.parametrize("word", ["", "-1", "1.5", "2^99", "many", "0"])
def test_what_is_no_size_is_refused(word):
    with pytest.raises(typer.BadParameter):
        parse_size(word)


@pytest.mark.parametrize(
    ("word", "seconds"), [("60", 60), ("1.5s", 1.5), ("2m", 120), ("1h", 3600)]
)
def test_spans_are_written_as_people_do(word, seconds):
    assert parse_span(word) == seconds


@pytest.mark.parametrize("word", ["", "0", "0s", "-3s", "3 weeks"])
def test_what_is_no_span_is_refused(word):
    with pytest.raises(typer.BadParameter):
        parse_span(word)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule((64, 1, 1)),
        Schedule((1, 1, 1)),
        Schedule((64, 4, 2)),
        Schedule((256, 1, 1), Code(items=8, order=Order.BLOCKED, vector=4, unroll=4)),
    ],
    ids=lambda schedule: schedule.text,
)
def test_a_schedule_can_be_copied_from_a_table(schedule):
    assert parse_schedule(schedule.text, Schedule((32, 1, 1))) == schedule


@given(schedules())
def test_so_can_any_other(schedule):
    like = Schedule((32, 1, 1), Code(**{name: getattr(schedule.code, name) for name in UNSAID}))

    assert parse_schedule(schedule.text, like) == schedule


@given(schedules())
def test_every_part_can_be_given_by_its_name(schedule):
    parts = [f"{name}={str(part).lower()}" for name, part in schedule.code.parts().items()]
    word = ",".join(["x".join(map(str, schedule.workgroup)), *parts])

    assert parse_schedule(word, Schedule((32, 1, 1))) == schedule


@pytest.mark.parametrize("part", ["4 depth", "lines", "lines=", "3 loaders 2", "group=4", "un 4"])
def test_what_is_no_part_of_a_schedule_is_refused(part):
    with pytest.raises(typer.BadParameter, match=f"'{part}' is no part of a schedule"):
        parse_schedule(f"64,{part}", Schedule((32, 1, 1)))


def test_what_a_schedule_does_not_say_is_as_in_the_default():
    like = Schedule((32, 2, 1), Code(checked=False))

    assert parse_schedule("items=4", like) == Schedule((32, 2, 1), Code(items=4, checked=False))
    assert parse_schedule("checked,16", like) == Schedule((16, 1, 1))
