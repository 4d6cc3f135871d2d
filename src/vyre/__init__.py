"""The public names, nothing else."""

import builtins
from importlib.metadata import version

from vyre import ir
from vyre.errors import (
    DeviceFailed,
    InvalidInput,
    InvalidProgram,
    LanguageError,
    StoreFailed,
    UnsupportedFeature,
    VyreError,
    WireError,
)
from vyre.lang import *  # noqa: F403  # the kernel language: types, parameters and functions, listed in its __all__
from vyre.lang import __all__ as _language
from vyre.model import (
    Code,
    Decision,
    DeviceInfo,
    Failed,
    Limits,
    Measurement,
    Mode,
    Reason,
    Schedule,
    Summary,
    Timed,
    Workload,
)
from vyre.plan import DispatchConfig
from vyre.policy.base import NothingToTry, Policy
from vyre.policy.natural import (
    Q16_ONE,
    EmptyMeasurements,
    FisherMatrixShape,
    NaturalGradientPolicy,
    NaturalGradientStep,
    NaturalGradientTuningError,
    TuningMeasurement,
    ZeroTemperature,
    identity_fisher_q16,
)
from vyre.policy.resize import DefaultPolicy, ResizePolicy, TunerFeedback
from vyre.policy.seed_cold_start import WORKGROUP_CANDIDATES, estimate_cold_start_ns
from vyre.runtime.arguments import CopyWarning
from vyre.runtime.array import DeviceArray
from vyre.runtime.device import Device
from vyre.runtime.devices import SlowDeviceWarning, devices
from vyre.runtime.devices import open as open  # noqa: A004  # read as vyre.open; not for a star import
from vyre.runtime.feedback import LaunchFeedback, record_launch_measurement
from vyre.runtime.kernel import Kernel, kernel
from vyre.runtime.tuner import BackendTimer, Tuner
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import AutotuneKey, StaticProgramShape, TunerProgramKey
from vyre.store.records import AutotuneRecord
from vyre.store.specialization import SpecCacheKey, SpecMap, SpecValue

__version__ = version("vyre")

__all__ = [
    "AutotuneKey",
    "AutotuneRecord",
    "AutotuneStore",
    "BackendTimer",
    "Code",
    "CopyWarning",
    "Decision",
    "DefaultPolicy",
    "Device",
    "DeviceArray",
    "DeviceFailed",
    "DeviceInfo",
    "DispatchConfig",
    "EmptyMeasurements",
    "Failed",
    "FisherMatrixShape",
    "InvalidInput",
    "InvalidProgram",
    "Kernel",
    "LanguageError",
    "LaunchFeedback",
    "Limits",
    "Measurement",
    "Mode",
    "NaturalGradientPolicy",
    "NaturalGradientStep",
    "NaturalGradientTuningError",
    "NothingToTry",
    "Policy",
    "Q16_ONE",
    "Reason",
    "ResizePolicy",
    "Schedule",
    "SlowDeviceWarning",
    "SpecCacheKey",
    "SpecMap",
    "SpecValue",
    "StaticProgramShape",
    "StoreFailed",
    "Summary",
    "Timed",
    "Tuner",
    "TunerCache",
    "TunerFeedback",
    "TunerProgramKey",
    "TuningMeasurement",
    "UnsupportedFeature",
    "VyreError",
    "WORKGROUP_CANDIDATES",
    "WireError",
    "Workload",
    "ZeroTemperature",
    "__version__",
    "devices",
    "estimate_cold_start_ns",
    "identity_fisher_q16",
    "ir",
    "kernel",
    "record_launch_measurement",
    *(name for name in _language if name not in vars(builtins)),  # a star import takes no builtin
]
