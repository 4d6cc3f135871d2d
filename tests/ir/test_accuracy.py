from vyre.ir.accuracy import ULP_BOUND
from vyre.ir.expr import BinaryOp
from vyre.ir.typing import TRANSCENDENTAL


def test_every_function_that_devices_round_differently_has_a_bound_and_no_other():
    assert set(ULP_BOUND) == TRANSCENDENTAL | {BinaryOp.POW, BinaryOp.ATAN2, BinaryOp.HYPOT}
    assert min(ULP_BOUND.values()) >= 1
