"""The public names, nothing else."""

import builtins
from importlib.metadata import version

from vyre import ir, substrate
from vyre.errors import (
    DeviceFailed,
    InvalidInput,
    InvalidProgram,
    LanguageError,
    NotRemembered,
    StoreFailed,
    UnsupportedFeature,
    VyreError,
    WireError,
)
from vyre.lang import *  # noqa: F403  # the kernel language: types, parameters and functions, listed in its __all__
from vyre.lang import __all__ as _language
from vyre.learn.explain import Explanation, Stats
from vyre.learn.process import stats
from vyre.learn.rules import freeze, mode, policy
from vyre.model import (
    Code,
    Decision,
    DeviceInfo,
    Failed,
    Knobs,
    Limits,
    Measurement,
    Mode,
    Reason,
    Schedule,
    Summary,
    Timed,
    Workload,
)
from vyre.plan import DispatchConfig, SpeculationMode
from vyre.plan.counter_tail import SpeculationReport, encode_counter_tail, parse_counter_tail
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
from vyre.policy.speculate import DEFAULT_THRESHOLD_PCT, AdaptiveSpeculator
from vyre.policy.ways import Way
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.call.arguments import CopyWarning
from vyre.runtime.call.kernel import Kernel, kernel
from vyre.runtime.devices.device import Device
from vyre.runtime.devices.opened import SlowDeviceWarning, devices
from vyre.runtime.devices.opened import open as open  # noqa: A004  # read as vyre.open; not for a star import
from vyre.runtime.feedback import LaunchFeedback, record_launch_measurement
from vyre.runtime.speculation.call import Speculation, speculate
from vyre.runtime.speculation.dispatch import (
    SpeculationOutcome,
    SpeculationTimes,
    SpeculativeDispatchPlan,
    dispatch_prefilter_confirm,
)
from vyre.runtime.speculation.variants import (
    VariantDecision,
    VariantKeys,
    VariantKind,
    VariantRace,
    record_variant_race,
    time_in_turns,
)
from vyre.runtime.tuner import BackendTimer, Tuner
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import AutotuneKey, StaticProgramShape, TunerProgramKey
from vyre.store.records import AutotuneRecord
from vyre.store.specialization import SpecCacheKey, SpecMap, SpecValue

__version__ = version("vyre")

__all__ = [
    "AdaptiveSpeculator",
    "AutotuneKey",
    "AutotuneRecord",
    "AutotuneStore",
    "BackendTimer",
    "Code",
    "CopyWarning",
    "DEFAULT_THRESHOLD_PCT",
    "Decision",
    "DefaultPolicy",
    "Device",
    "DeviceArray",
    "DeviceFailed",
    "DeviceInfo",
    "DispatchConfig",
    "EmptyMeasurements",
    "Explanation",
    "Failed",
    "FisherMatrixShape",
    "InvalidInput",
    "InvalidProgram",
    "Kernel",
    "Knobs",
    "LanguageError",
    "LaunchFeedback",
    "Limits",
    "Measurement",
    "Mode",
    "NaturalGradientPolicy",
    "NaturalGradientStep",
    "NaturalGradientTuningError",
    "NotRemembered",
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
    "Speculation",
    "SpeculationMode",
    "SpeculationOutcome",
    "SpeculationReport",
    "SpeculationTimes",
    "SpeculativeDispatchPlan",
    "StaticProgramShape",
    "Stats",
    "StoreFailed",
    "Summary",
    "Timed",
    "Tuner",
    "TunerCache",
    "TunerFeedback",
    "TunerProgramKey",
    "TuningMeasurement",
    "UnsupportedFeature",
    "VariantDecision",
    "VariantKeys",
    "VariantKind",
    "VariantRace",
    "VyreError",
    "WORKGROUP_CANDIDATES",
    "Way",
    "WireError",
    "Workload",
    "ZeroTemperature",
    "__version__",
    "devices",
    "dispatch_prefilter_confirm",
    "encode_counter_tail",
    "estimate_cold_start_ns",
    "freeze",
    "identity_fisher_q16",
    "ir",
    "kernel",
    "mode",
    "parse_counter_tail",
    "policy",
    "record_launch_measurement",
    "record_variant_race",
    "speculate",
    "stats",
    "substrate",
    "time_in_turns",
    *(name for name in _language if name not in vars(builtins)),  # a star import takes no builtin
]
