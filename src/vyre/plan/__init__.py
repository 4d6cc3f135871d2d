"""Bindings, the legal schedules, the cold-start guess, the launch plan."""

from vyre.plan.binding import Binding, BindingPlan, BindingRole
from vyre.plan.config import (
    DispatchConfig,
    PersistentThreadMode,
    SpeculationMode,
    refuse_unsupported,
)
from vyre.plan.geometry import LaunchLimits
from vyre.plan.launch import LaunchPlan
from vyre.plan.resolve import (
    ColdStart,
    keep_declared,
    resolve_launch_workgroup,
    resolve_launch_workgroup_for_mode,
)
from vyre.plan.words import DispatchShape, dispatch_param_words_into

__all__ = [
    "Binding",
    "BindingPlan",
    "BindingRole",
    "ColdStart",
    "DispatchConfig",
    "DispatchShape",
    "LaunchLimits",
    "LaunchPlan",
    "PersistentThreadMode",
    "SpeculationMode",
    "dispatch_param_words_into",
    "keep_declared",
    "refuse_unsupported",
    "resolve_launch_workgroup",
    "resolve_launch_workgroup_for_mode",
]
