from math import inf, nan

import pytest

from vyre.errors import InvalidInput, VyreError
from vyre.model import (
    Code,
    DeviceInfo,
    DeviceKind,
    Limits,
    Measurement,
    Order,
    Schedule,
    Timed,
    Workload,
)

LIMITS = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(1, 1, 1))


def device(**changed: object) -> DeviceInfo:
    facts = {
        "backend": "opencl",
        "model": "m",
        "driver": "1",
        "compiler": "c",
        "kind": DeviceKind.CPU,
        "limits": LIMITS,
    }
    return DeviceInfo(**(facts | changed))


def workload(**changed: object) -> Workload:
    facts = {
        "fingerprint": b"\1" * 32,
        "buckets": (20, 3),
        "traits": ("aligned",),
        "device": "d",
        "toolchain": "t",
    }
    return Workload(**(facts | changed))


def test_a_workload_key_changes_with_every_field():
    keys = {
        workload().key(),
        workload(fingerprint=b"\2" * 32).key(),
        workload(buckets=(20, 4)).key(),
        workload(buckets=(203,)).key(),
        workload(traits=()).key(),
        workload(device="e").key(),
        workload(toolchain="u").key(),
    }

    assert len(keys) == 7


def test_a_device_identity_holds_what_changes_timings_and_nothing_else():
    assert device().identity == device(driver="2").identity
    assert device().identity != device(model="n").identity
    assert device().identity != device(traits={"threads": "2"}).identity
    assert device().toolchain != device(driver="2").toolchain


def test_a_schedule_has_three_positive_sizes():
    with pytest.raises(InvalidInput) as caught:
        Schedule((0, 1, 1))

    assert str(caught.value) == (
        "workgroup (0, 1, 1) of a schedule\n"
        "Fix: give three sizes of at least 1, such as (256, 1, 1)"
    )
    with pytest.raises(InvalidInput):
        Code(items=0)


@pytest.mark.parametrize("workgroup", [64, (64,), [64, 1, 1], (64.0, 1, 1)])
def test_a_workgroup_is_a_tuple_of_three_whole_numbers(workgroup):
    with pytest.raises(InvalidInput) as caught:
        Schedule(workgroup)

    assert str(caught.value) == (
        f"workgroup {workgroup} of a schedule\n"
        "Fix: give three sizes of at least 1, such as (256, 1, 1)"
    )


def test_a_code_takes_whole_numbers_and_a_known_order():
    with pytest.raises(InvalidInput) as caught:
        Code(items=2.5)
    assert str(caught.value) == (
        "a code of items 2.5, vector 1, unroll 1\nFix: give whole numbers of at least 1"
    )
    with pytest.raises(InvalidInput) as caught:
        Code(order="zigzag")
    assert str(caught.value) == "no order 'zigzag'\nFix: use one of strided, blocked"


def test_an_order_may_be_given_by_its_word():
    assert Code(order="blocked").order is Order.BLOCKED


def test_the_default_width_is_64_on_a_cpu_and_256_on_a_gpu():
    assert (DeviceKind.CPU.default_width, DeviceKind.GPU.default_width) == (64, 256)


@pytest.mark.parametrize("elapsed_ns", [-1.0, inf, nan])
def test_a_measurement_is_a_finite_time(elapsed_ns: float):
    with pytest.raises(InvalidInput) as caught:
        measured(outcome=Timed(Schedule((1, 1, 1)), elapsed_ns))

    assert str(caught.value) == (
        f"a measurement of {elapsed_ns} ns\n"
        "Fix: give a finite time of at least 0, or a Failed outcome"
    )


@pytest.mark.parametrize("field", ["sequence", "size", "at_ns"])
def test_the_numbers_of_a_measurement_fit_63_bits(field: str):
    with pytest.raises(InvalidInput) as caught:
        measured(**{field: 1 << 63})

    assert "a measurement with sequence" in caught.value.problem
    assert caught.value.fix == "give numbers from 0 to 2**63 - 1"


def measured(**changes: object) -> Measurement:
    fields = {"writer": "w", "sequence": 1, "workload": workload(), "size": 1, "at_ns": 1}
    fields["outcome"] = Timed(Schedule((1, 1, 1)), 5.0)
    return Measurement(**(fields | changes))  # type: ignore[arg-type]


def test_an_error_survives_a_process_boundary():
    error = InvalidInput("what", "do that")

    rebuilt = type(error)(*error.args)

    assert isinstance(rebuilt, VyreError)
    assert str(rebuilt) == str(error) == "what\nFix: do that"
