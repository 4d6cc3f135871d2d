"""The public names, nothing else."""

import builtins
from importlib.metadata import version

from vyre import ir
from vyre.errors import (
    DeviceFailed,
    InvalidInput,
    InvalidProgram,
    LanguageError,
    UnsupportedFeature,
    VyreError,
    WireError,
)
from vyre.lang import *  # noqa: F403  # the kernel language: types, parameters and functions, listed in its __all__
from vyre.lang import __all__ as _language
from vyre.model import Code, Decision, DeviceInfo, Failed, Limits, Schedule, Timed, Workload
from vyre.plan import DispatchConfig
from vyre.runtime.arguments import CopyWarning
from vyre.runtime.array import DeviceArray
from vyre.runtime.device import Device
from vyre.runtime.devices import SlowDeviceWarning, devices
from vyre.runtime.devices import open as open  # noqa: A004  # read as vyre.open; not for a star import
from vyre.runtime.kernel import Kernel, kernel

__version__ = version("vyre")

__all__ = [
    "Code",
    "CopyWarning",
    "Decision",
    "Device",
    "DeviceArray",
    "DeviceFailed",
    "DeviceInfo",
    "DispatchConfig",
    "Failed",
    "InvalidInput",
    "InvalidProgram",
    "Kernel",
    "LanguageError",
    "Limits",
    "Schedule",
    "SlowDeviceWarning",
    "Timed",
    "UnsupportedFeature",
    "VyreError",
    "WireError",
    "Workload",
    "__version__",
    "devices",
    "ir",
    "kernel",
    *(name for name in _language if name not in vars(builtins)),  # a star import takes no builtin
]
