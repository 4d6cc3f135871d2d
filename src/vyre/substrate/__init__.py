"""The policy's own maths as programs: softmax step, Fisher preconditioning."""

from vyre.substrate import fixed, floats
from vyre.substrate.calls import (
    Dispatch,
    Scratch,
    config_gradient,
    config_gradient_magnitude,
    natural_config_gradient_magnitude,
    pick_best_config,
    pick_config,
    pick_config_pre_exp,
    precondition_gradient,
    step_on,
)
from vyre.substrate.fixed import ABSENT, step, to_q16
from vyre.substrate.programs import (
    best_step,
    natural_step,
    pick_step,
    precondition,
    softmax_step,
)
from vyre.substrate.root import InverseRoot, inverse_root, product_on

__all__ = [
    "ABSENT",
    "Dispatch",
    "InverseRoot",
    "Scratch",
    "best_step",
    "config_gradient",
    "config_gradient_magnitude",
    "fixed",
    "floats",
    "inverse_root",
    "natural_config_gradient_magnitude",
    "natural_step",
    "pick_best_config",
    "pick_config",
    "pick_config_pre_exp",
    "pick_step",
    "precondition",
    "precondition_gradient",
    "product_on",
    "softmax_step",
    "step",
    "step_on",
    "to_q16",
]
