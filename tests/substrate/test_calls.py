"""Steps through a dispatch: what is checked before it, what is passed, and what is decoded."""

import math
import struct
import tracemalloc

import numpy as np
import pytest

import vyre
from vyre import DispatchConfig, substrate
from vyre.errors import DeviceFailed, InvalidInput
from vyre.substrate import ABSENT, Scratch, fixed, floats

ONE = 1 << 16


def reference(program, inputs, config):
    return vyre.open("reference").dispatch(program, inputs, config)


def never(*_):
    raise AssertionError("dispatched before every input was checked")


class Recorder:
    """A dispatch that keeps what it was given."""

    def __init__(self):
        self.seen = []

    def __call__(self, program, inputs, config):
        self.seen.append((program, list(inputs), config))
        return reference(program, inputs, config)


def test_probabilities_are_normalised_weights():
    assert substrate.pick_config_pre_exp(reference, [65_536, 131_072, 65_536]).tolist() == [
        16_384,
        32_768,
        16_384,
    ]


def test_the_best_candidate_has_the_largest_probability():
    """Its weight is 65536, which a 32-bit numerator wraps to 0."""
    found = substrate.pick_config_pre_exp(reference, [1_000, 65_536, 30_000])

    assert found.argmax() == 1
    assert found.sum() == ONE


def test_gradient_magnitudes_are_the_probabilities():
    weights = [65_536, 196_608]

    found = substrate.config_gradient_magnitude(reference, weights)

    assert found.tolist() == [16_384, 49_152]
    assert found.tolist() == substrate.pick_config_pre_exp(reference, weights).tolist()


def test_a_natural_gradient_is_the_preconditioned_policy_gradient_in_one_dispatch():
    recorder = Recorder()

    found = substrate.natural_config_gradient_magnitude(recorder, [ONE, ONE], [ONE, 0, 0, ONE // 2])

    assert found.tolist() == [ONE // 2, ONE // 4]
    assert len(recorder.seen) == 1


def test_a_preconditioner_is_signed():
    found = substrate.precondition_gradient(reference, [[ONE, -ONE], [-ONE, -ONE]], [3, -5])

    assert found.tolist() == [8, 2]


def test_an_overflow_stops_at_the_ends_on_a_device_too():
    ends = [[fixed.I32_MAX, fixed.I32_MAX], [fixed.I32_MIN, fixed.I32_MIN]]

    found = substrate.precondition_gradient(reference, ends, [ONE, ONE])

    assert found.tolist() == [fixed.I32_MAX, fixed.I32_MIN]


def test_costs_and_a_temperature_give_probabilities():
    found = substrate.pick_config(reference, [12_000, 8_000, 10_000], 4_000)

    exact = floats.pick_config([12_000, 8_000, 10_000], 4_000) * ONE
    assert found.sum() == ONE
    assert np.abs(found - exact).max() < 1.5


def test_a_gradient_is_minus_the_probabilities():
    found = substrate.config_gradient(reference, [1, 2, 3], 1)

    assert found.sum() == -ONE
    assert found.tolist() == (-substrate.pick_config(reference, [1, 2, 3], 1).astype(int)).tolist()


def test_the_best_of_each_row_is_the_first_of_its_least_costs():
    assert int(substrate.pick_best_config(reference, [3, 1, 4, 1, 9])) == 1
    assert substrate.pick_best_config(reference, [[2, 1], [1, 2], [5, 5]]).tolist() == [1, 0, 0]


def test_temperatures_mean_the_same_as_in_float64():
    costs = [2, 1, 1, 9]

    assert substrate.pick_config(reference, costs, 0).tolist() == [0, ONE // 2, ONE // 2, 0]
    assert substrate.pick_config(reference, costs, math.inf).tolist() == [ONE // 4] * 4


@pytest.mark.parametrize("temperature", [-1, -math.inf, math.nan, 2.5])
@pytest.mark.parametrize("call", [substrate.pick_config, substrate.config_gradient])
def test_a_temperature_that_means_nothing_is_refused(call, temperature):
    with pytest.raises(InvalidInput) as error:
        call(never, [1, 2], temperature)

    assert str(error.value) == (
        f"temperature {temperature}\n"
        "Fix: use 0 for the best alone, a positive whole number, or infinity for all alike"
    )


def test_rows_of_a_batch_are_workloads_of_their_own_in_one_dispatch():
    recorder = Recorder()
    costs = np.array([[5, 1, 9], [7, 7, ABSENT]])

    found = substrate.pick_config(recorder, costs, [2, math.inf])

    ((_, _, config),) = recorder.seen
    assert config == DispatchConfig(grid_override=(2, 1, 1))
    assert found[0].tolist() == substrate.pick_config(reference, costs[0], 2).tolist()
    assert found[1].tolist() == [ONE // 2, ONE // 2, 0]


def test_each_row_of_a_batch_has_a_matrix_of_its_own():
    weights = np.array([[ONE, ONE], [ONE, 0]])
    matrix = np.array([[[ONE, 0], [0, -ONE]], [[0, ONE], [ONE, 0]]])

    found = substrate.natural_config_gradient_magnitude(reference, weights, matrix)

    assert found.tolist() == [[ONE // 2, -ONE // 2], [0, ONE]]


def test_inputs_are_little_endian_words_in_the_order_of_the_declarations():
    recorder = Recorder()

    substrate.natural_config_gradient_magnitude(recorder, [ONE, 1], [1, -1, 2, -2])

    ((program, inputs, _),) = recorder.seen
    assert [decl.name for decl in program.buffers if not decl.is_shared] == [
        *("pre_exp", "matrix", "probabilities", "out", "size")
    ]
    assert [array.tobytes() for array in inputs] == [
        struct.pack("<2I", ONE, 1),
        struct.pack("<4i", 1, -1, 2, -2),
        bytes(8),
        bytes(8),
        struct.pack("<I", 2),
    ]


CHECKED = [
    (
        lambda: substrate.pick_config_pre_exp(never, []),
        "no candidates in an array of shape (0,)\nFix: give at least one candidate",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, np.zeros((0, 3), np.uint32)),
        "no candidates in an array of shape (0, 3)\nFix: give at least one candidate",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, [[[1]]]),
        "candidates in an array of shape (1, 1, 1)\n"
        "Fix: give one row of them, or a row for each workload",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, [[1], [1, 2]]),
        "rows of different lengths\nFix: pad them with weight 0 or cost ABSENT",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, np.zeros(65_536, np.uint32)),
        "65536 candidates in a row; 65535 allowed\nFix: give at most 65535 candidates",
    ),
    (
        lambda: substrate.pick_best_config(never, np.broadcast_to(np.int64(0), (1 << 17, 1 << 15))),
        "4294967296 cells in an array of shape (131072, 32768); 4294967295 allowed\n"
        "Fix: dispatch fewer rows at a time",
    ),
    (
        lambda: substrate.natural_config_gradient_magnitude(
            never, np.broadcast_to(np.uint32(1), (2, 65_535)), []
        ),
        "8589672450 cells in an array of shape (2, 65535, 65535); 4294967295 allowed\n"
        "Fix: dispatch fewer rows at a time",
    ),
    (
        lambda: substrate.natural_config_gradient_magnitude(never, [1, 2], [1, 2, 3]),
        "a matrix of 3 cells for 1 by 2 candidates, which need 4\n"
        "Fix: give a row-major 2 by 2 matrix for each row",
    ),
    (
        lambda: substrate.precondition_gradient(never, [1 << 31], [1]),
        "a matrix entry of 2147483648; -2147483648 to 2147483647 allowed\n"
        "Fix: use signed 16.16 numbers of 32 bits",
    ),
    (
        lambda: substrate.precondition_gradient(never, [1], [-(1 << 31) - 1]),
        "a gradient entry of -2147483649; -2147483648 to 2147483647 allowed\n"
        "Fix: use signed 16.16 numbers of 32 bits",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, [-1]),
        "a weight of -1; 0 to 4294967295 allowed\nFix: use unsigned 16.16 numbers",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, [0.5]),
        "a weight of type float64\nFix: use unsigned 16.16 numbers",
    ),
    (
        lambda: substrate.pick_config(never, [1 << 63], 1),
        "a cost of 9223372036854775808; -9223372036854775808 to 9223372036854775807 allowed\n"
        "Fix: use whole numbers of 64 bits",
    ),
    (
        lambda: substrate.pick_config(never, [1, 2], [1, 2]),
        "2 temperatures for 1 rows\nFix: give one, or one for each row",
    ),
    (
        lambda: substrate.pick_config_pre_exp(never, [1, 2], out=np.empty(3, np.uint32)),
        "out is uint32[3]; the result is uint32[2]\n"
        "Fix: give an array of that shape and type, or none",
    ),
]


@pytest.mark.parametrize(("call", "said"), CHECKED)
def test_every_input_is_checked_before_the_first_dispatch(call, said):
    with pytest.raises(InvalidInput) as error:
        call()

    assert str(error.value) == said


def test_errors_come_in_one_order():
    """No candidates, then too many, then too many cells, then the matrix, then the numbers."""
    with pytest.raises(InvalidInput, match="no candidates"):
        substrate.natural_config_gradient_magnitude(never, [], [1])
    with pytest.raises(InvalidInput, match="65536 candidates in a row"):
        substrate.natural_config_gradient_magnitude(never, [-1] * 65_536, [1])
    with pytest.raises(InvalidInput, match="a matrix of 1 cells"):
        substrate.natural_config_gradient_magnitude(never, [-1, -1], [1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            [],
            "the dispatch gave 0 outputs; the program has 1\n"
            "Fix: return an array for each written buffer, in the order of the declarations",
        ),
        (
            [np.zeros(3, np.uint32)],
            "the dispatch gave an output of 12 bytes; 8 are due\n"
            "Fix: return each written buffer whole",
        ),
    ],
)
def test_an_output_of_another_length_is_the_device_s_failure(given, said):
    with pytest.raises(DeviceFailed) as error:
        substrate.pick_config_pre_exp(lambda *_: given, [1, 2])

    assert str(error.value) == said


def test_arrays_are_used_again_and_the_result_is_written_where_asked():
    recorder, scratch, out = Recorder(), Scratch(), np.empty(2, np.int32)

    for _ in range(2):
        found = substrate.natural_config_gradient_magnitude(
            recorder, [ONE, ONE], [ONE, 0, 0, ONE], scratch=scratch, out=out
        )
        assert found is out

    (_, first, _), (_, again, _) = recorder.seen
    assert all(a is b for a, b in zip(first, again, strict=True))
    assert out.tolist() == [ONE // 2, ONE // 2]


def test_a_result_does_not_change_with_the_next_call():
    scratch = Scratch()
    first = substrate.pick_config_pre_exp(
        lambda _p, inputs, _c: [inputs[0]], [1, 2], scratch=scratch
    )

    substrate.pick_config_pre_exp(lambda _p, inputs, _c: [inputs[0]], [3, 4], scratch=scratch)

    assert first.tolist() == [1, 2]


def test_ten_thousand_calls_leave_nothing_behind():
    """The host's side; scripts/soak_substrate.py --calls does the same on a device."""
    scratch, out = Scratch(), np.empty((4, 16), np.int32)
    weights = np.full((4, 16), ONE, np.uint32)
    matrix = np.broadcast_to(np.eye(16, dtype=np.int32) * ONE, (4, 16, 16))
    probabilities, product = np.zeros((4, 16), np.uint32), np.zeros((4, 16), np.int32)

    def dispatch(*_):
        return [probabilities, product]

    def call():
        substrate.natural_config_gradient_magnitude(
            dispatch, weights, matrix, scratch=scratch, out=out
        )

    for _ in range(100):
        call()
    tracemalloc.start()
    call()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10_000):
        call()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert grown < 1024


@pytest.mark.parametrize("device", vyre.devices(), ids=lambda device: device.name)
def test_the_policy_s_step_on_a_device_gives_the_bits_of_the_host(device):
    random = np.random.default_rng(0)
    step = substrate.step_on(device.dispatch)

    for n in (24, 17, 24):
        root = random.integers(-(1 << 20), 1 << 20, (n, n))
        weights = fixed.softmax_q16(random.integers(0, 65537, n)).astype(np.int64)
        assert step(root, weights).tolist() == substrate.step(root, weights).tolist()
