"""The names and files of the Rust crate, kept bit for bit, over the same policies and learner.

They are for whoever comes from the crate, or shares files with it. A kernel needs none of them.
"""

from vyre.model import Mode
from vyre.plan.config import DispatchConfig, SpeculationMode
from vyre.plan.counter_tail import SpeculationReport, encode_counter_tail, parse_counter_tail
from vyre.plan.geometry import LaunchLimits
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
from vyre.policy.seed_cold_start import (
    WORKGROUP_CANDIDATES,
    estimate_cold_start_ns,
    seed_cold_start,
)
from vyre.policy.speculate import DEFAULT_THRESHOLD_PCT, AdaptiveSpeculator
from vyre.seed.dispatch import (
    SpeculationOutcome,
    SpeculationTimes,
    SpeculativeDispatchPlan,
    dispatch_prefilter_confirm,
)
from vyre.seed.feedback import LaunchFeedback, record_launch_measurement
from vyre.seed.tuner import BackendTimer, Tuner
from vyre.seed.variants import (
    VariantDecision,
    VariantKeys,
    VariantKind,
    VariantRace,
    record_variant_race,
    time_in_turns,
)
from vyre.seed.versions import (
    Version,
    counted,
    load_cache,
    mode_from_env_value,
    suggest_resize,
    variant_winner,
)
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import (
    AutotuneKey,
    StaticProgramShape,
    TunerProgramKey,
    adapter_file_stem,
    launch_feedback_key,
)
from vyre.store.records import AutotuneRecord
from vyre.store.specialization import SpecCacheKey, SpecMap, SpecValue

__all__ = [
    "DEFAULT_THRESHOLD_PCT",
    "Q16_ONE",
    "WORKGROUP_CANDIDATES",
    "AdaptiveSpeculator",
    "AutotuneKey",
    "AutotuneRecord",
    "AutotuneStore",
    "BackendTimer",
    "DefaultPolicy",
    "DispatchConfig",
    "EmptyMeasurements",
    "FisherMatrixShape",
    "LaunchFeedback",
    "LaunchLimits",
    "Mode",
    "NaturalGradientPolicy",
    "NaturalGradientStep",
    "NaturalGradientTuningError",
    "ResizePolicy",
    "SpecCacheKey",
    "SpecMap",
    "SpecValue",
    "SpeculationMode",
    "SpeculationOutcome",
    "SpeculationReport",
    "SpeculationTimes",
    "SpeculativeDispatchPlan",
    "StaticProgramShape",
    "Tuner",
    "TunerCache",
    "TunerFeedback",
    "TunerProgramKey",
    "TuningMeasurement",
    "VariantDecision",
    "VariantKeys",
    "VariantKind",
    "VariantRace",
    "Version",
    "ZeroTemperature",
    "adapter_file_stem",
    "counted",
    "dispatch_prefilter_confirm",
    "encode_counter_tail",
    "estimate_cold_start_ns",
    "identity_fisher_q16",
    "launch_feedback_key",
    "load_cache",
    "mode_from_env_value",
    "parse_counter_tail",
    "record_launch_measurement",
    "record_variant_race",
    "seed_cold_start",
    "suggest_resize",
    "time_in_turns",
    "variant_winner",
]
