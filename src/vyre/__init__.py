"""The names that whoever writes kernels needs, nothing else."""

import builtins
import sys as _sys
from importlib import import_module as _import_module
from importlib.metadata import version
from types import ModuleType as _ModuleType

from vyre import ir, seed, substrate
from vyre.adapter.template.templated import template
from vyre.adapter.tuned import tuned
from vyre.errors import (
    AssertionFailed,
    DeviceFailed,
    DoubtFound,
    InvalidInput,
    InvalidProgram,
    LanguageError,
    NotRemembered,
    StoreFailed,
    UnsupportedFeature,
    VyreError,
)
from vyre.lang import *  # noqa: F403  # the kernel language: types, parameters and functions, listed in its __all__
from vyre.lang import __all__ as _language
from vyre.learn.explain import Explanation
from vyre.learn.process import stats
from vyre.learn.rules import freeze, mode, policy
from vyre.model import (
    Code,
    Decision,
    DeviceInfo,
    Failed,
    Knobs,
    Mode,
    Reason,
    Schedule,
    Timed,
    Workload,
)
from vyre.plan.config import DispatchConfig
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.call.arguments import CopyWarning
from vyre.runtime.call.debug import Finding, debug
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.call.making import kernel
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import SlowDeviceWarning, devices
from vyre.runtime.devices.opened import open as open  # noqa: A004  # read as vyre.open; not for a star import
from vyre.runtime.speculation.call import Speculation, speculate

__version__ = version("vyre")

__all__ = [
    "AssertionFailed",
    "Code",
    "CopyWarning",
    "Decision",
    "Device",
    "DeviceArray",
    "DeviceFailed",
    "DeviceInfo",
    "DispatchConfig",
    "DoubtFound",
    "Explanation",
    "Failed",
    "Finding",
    "InvalidInput",
    "InvalidProgram",
    "Kernel",
    "Knobs",
    "LanguageError",
    "Mode",
    "NotRemembered",
    "Reason",
    "Schedule",
    "SlowDeviceWarning",
    "Speculation",
    "StoreFailed",
    "Timed",
    "UnsupportedFeature",
    "VyreError",
    "Way",
    "Workload",
    "__version__",
    "debug",
    "devices",
    "freeze",
    "ir",
    "kernel",
    "mode",
    "policy",
    "seed",
    "speculate",
    "stats",
    "substrate",
    "template",
    "tuned",
    *(name for name in _language if name not in vars(builtins)),  # a star import takes no builtin
]

del builtins, version, _language

_LOADED_BY_NAME = ("cupy", "kernels", "numba", "opencl", "torch", "triton")
"""Modules for users that load more than everybody needs: kernels, and libraries of others."""


def __getattr__(name: str) -> _ModuleType:
    """Load such a module where it is first named: `vyre.torch.choose` without another import."""
    if name in _LOADED_BY_NAME:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__]
    )


def __dir__() -> list[str]:
    return [*__all__, "kernels"]
