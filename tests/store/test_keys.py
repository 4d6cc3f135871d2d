import struct
from dataclasses import replace
from itertools import product

import blake3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput
from vyre.ir import Program
from vyre.model import DeviceInfo, DeviceKind, Limits, Workload
from vyre.store.keys import (
    AutotuneKey,
    StaticProgramShape,
    TunerProgramKey,
    adapter_file_stem,
    launch_feedback_key,
)
from vyre.store.specialization import SpecCacheKey

ZERO = bytes(32)
EMPTY_64 = bytes.fromhex("d4d3dd011826abf09974279ffe53201c522208f0b87e2df67c86fa6edbdd37b8")
LIMITS = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(2**32 - 1,) * 3)
VARIANT = SpecCacheKey(
    shader_hash=0xFEED, binding_sig=0xBEEF, workgroup_size=(64, 1, 1), spec_hash=2
)

u32s = st.integers(0, 2**32 - 1)
u64s = st.integers(0, 2**64 - 1)
dims = st.tuples(u32s, u32s, u32s)
variants = st.builds(
    SpecCacheKey, shader_hash=u64s, binding_sig=u64s, workgroup_size=dims, spec_hash=u64s
)


def test_a_tuner_key_without_a_workgroup_count_is_the_seeds():
    key = TunerProgramKey.from_fingerprint(ZERO, StaticProgramShape(workgroup_size=(64, 1, 1)))

    assert str(key) == "v1-82f6c97a104374a199e49f1407e38b1b35478916d064e7cf5f8aad54176819b7"


def test_a_tuner_key_with_a_workgroup_count_is_the_seeds():
    shape = StaticProgramShape(
        workgroup_size=(64, 1, 1), workgroup_count=(4, 1, 1), output_bytes=16_384
    )

    key = TunerProgramKey.from_fingerprint(ZERO, shape)

    assert str(key) == "v1-2f87ae8683ee1d8948774e3310c29bd8b8312bb1bf4ec86dd0033bc4c99325eb"
    assert len(str(key)) == 67


def test_a_programs_tuner_key_is_that_of_its_fingerprint():
    program = Program.wrapped((), (64, 1, 1), ())
    shape = StaticProgramShape.of(program, workgroup_count=(2, 1, 1), output_bytes=8)

    assert shape == StaticProgramShape(
        workgroup_size=(64, 1, 1), workgroup_count=(2, 1, 1), output_bytes=8
    )
    assert TunerProgramKey.from_program(program, shape) == TunerProgramKey.from_fingerprint(
        EMPTY_64, shape
    )


def test_every_part_of_a_shape_changes_the_tuner_key():
    shapes = [
        StaticProgramShape(workgroup_size=size, workgroup_count=count, output_bytes=output)
        for size, count, output in product(
            [(64, 1, 1), (1, 64, 1)], [None, (0, 0, 0), (4, 1, 1)], [0, 1, 2**64 - 1]
        )
    ]

    assert len({TunerProgramKey.from_fingerprint(ZERO, shape) for shape in shapes}) == len(shapes)


@pytest.mark.parametrize("text", ["", "v1-", "v2-" + "0" * 64, "v1-" + "A" * 64, 'v1-"\n'])
def test_text_that_is_no_tuner_key_is_refused(text: str):
    with pytest.raises(InvalidInput) as caught:
        TunerProgramKey(text)

    assert str(caught.value) == (
        f"tuner key {text!r} is not v1- and 64 lower-case hex digits\n"
        "Fix: make it with TunerProgramKey.from_program or TunerProgramKey.from_fingerprint"
    )


def test_a_fingerprint_of_another_length_is_refused():
    with pytest.raises(InvalidInput) as caught:
        launch_feedback_key(bytes(31), (32, 1, 1), 8192, LIMITS)

    assert str(caught.value) == (
        "a fingerprint of 31 bytes; it has 32\nFix: use Program.fingerprint()"
    )


def test_a_number_that_does_not_fit_its_field_is_refused():
    with pytest.raises(InvalidInput) as caught:
        launch_feedback_key(ZERO, (32, 1, 2**32), 8192, LIMITS)

    assert str(caught.value) == (
        "an axis of declared is 4294967296; 0 to 2**32 - 1 allowed\nFix: use a value in that range"
    )


def test_a_size_without_three_axes_is_refused():
    with pytest.raises(InvalidInput) as caught:
        launch_feedback_key(ZERO, (32, 1), 8192, LIMITS)  # type: ignore[arg-type]

    assert str(caught.value) == "declared (32, 1) has 2 axes\nFix: give three, such as (64, 1, 1)"


def test_a_launch_key_is_the_seeds():
    key = launch_feedback_key(ZERO, (32, 1, 1), 8192, LIMITS)

    assert key == "launch-v1-e9615f6a2eae1985eb2dabe0c81d1fa6fd8f9d7110b00c7b4253a8f12888b2b3"
    assert len(key) == 74


def test_the_second_launch_key_adds_the_threads_of_a_unit():
    limits = replace(LIMITS, max_threads_per_unit=1536)

    key = launch_feedback_key(ZERO, (32, 1, 1), 8192, limits, version=2)

    assert key == "launch-v2-47df45a8a6a8c5c1de44909c89eb1df738d030a2f0493a185ca6abfbd09a1dc9"


def test_the_first_launch_key_does_not_see_the_threads_of_a_unit():
    limits = replace(LIMITS, max_threads_per_unit=1536)

    assert launch_feedback_key(ZERO, (32, 1, 1), 8192, limits) == launch_feedback_key(
        ZERO, (32, 1, 1), 8192, LIMITS
    )


def test_an_adapter_file_is_named_as_in_the_seed():
    stem = adapter_file_stem("test", LIMITS)

    assert stem == (
        "natural-launch-feedback-v1-468a69d9e8e439b836f13e3503f06271a3feae88ece1b6ff49d15be496184e60"
    )


def test_common_cuda_limits_give_the_file_of_the_seed():
    limits = replace(LIMITS, max_grid=(2**31 - 1, 65_535, 65_535))

    assert adapter_file_stem("CUDA", limits).startswith("natural-launch-feedback-v1-9c4c8d15")


def test_the_second_adapter_file_adds_the_threads_of_a_unit():
    limits = replace(LIMITS, max_threads_per_unit=1536)
    words = struct.pack("<8I", 1024, 1024, 1024, 64, *[2**32 - 1] * 3, 1536)

    stem = adapter_file_stem("test", limits, version=2)

    digest = blake3.blake3(b"vyre-natural-launch-adapter-v2\0test" + words).hexdigest()
    assert stem == f"natural-launch-feedback-v2-{digest}"


def test_an_unknown_launch_key_version_is_refused():
    with pytest.raises(InvalidInput) as caught:
        adapter_file_stem("test", LIMITS, version=3)  # type: ignore[arg-type]

    assert str(caught.value) == "launch key version 3; known: 1, 2\nFix: use version=1"


def test_a_limit_beyond_32_bits_is_keyed_as_their_largest_value():
    endless = replace(LIMITS, max_grid=(2**64 - 1,) * 3)

    assert adapter_file_stem("test", endless) == adapter_file_stem("test", LIMITS)


def test_two_cards_with_equal_limits_share_the_seeds_file_but_no_workload():
    cards = [
        DeviceInfo(
            backend="cuda",
            model=model,
            driver="580.1",
            compiler="nvrtc 13.0",
            kind=DeviceKind.GPU,
            limits=LIMITS,
        )
        for model in ("NVIDIA H200", "NVIDIA L4")
    ]
    workloads = [
        Workload(
            fingerprint=ZERO,
            buckets=(13,),
            traits=(),
            device=card.identity,
            toolchain=card.toolchain,
        )
        for card in cards
    ]

    assert len({adapter_file_stem(card.backend, card.limits) for card in cards}) == 1
    assert len({workload.key() for workload in workloads}) == 2


def test_a_folded_autotune_key_is_the_seeds():
    key = AutotuneKey.of(VARIANT, "native-sm120")

    assert key == AutotuneKey("42000100010000000240000000000000", "native-sm120")


COLLISIONS = [
    (VARIANT, replace(VARIANT, shader_hash=0xBEEF, binding_sig=0xFEED)),
    (VARIANT, replace(VARIANT, spec_hash=2 ^ 64, workgroup_size=(0, 1, 1))),
    (
        replace(VARIANT, workgroup_size=(65536, 0, 1)),
        replace(VARIANT, workgroup_size=(0, 1, 1)),
    ),
]


@pytest.mark.parametrize(("one", "other"), COLLISIONS)
def test_variants_that_share_a_folded_key_have_exact_keys_of_their_own(
    one: SpecCacheKey, other: SpecCacheKey
):
    assert AutotuneKey.of(one, "a") == AutotuneKey.of(other, "a")
    assert AutotuneKey.exact(one, "a") != AutotuneKey.exact(other, "a")


@given(variants, variants, st.text(max_size=4), st.text(max_size=4))
def test_exact_keys_are_equal_only_for_equal_variants(
    one: SpecCacheKey, other: SpecCacheKey, adapter: str, other_adapter: str
):
    same = (one, adapter) == (other, other_adapter)
    first, second = AutotuneKey.exact(one, adapter), AutotuneKey.exact(other, other_adapter)

    assert (first.key_hex == second.key_hex) is same


@given(variants)
def test_a_folded_key_is_sixteen_bytes(key: SpecCacheKey):
    assert len(bytes.fromhex(AutotuneKey.of(key, "a").key_hex)) == 16


@pytest.mark.parametrize("key_hex", ["", "0" * 31, "0" * 48, "G" * 32, "A" * 32])
def test_text_that_is_no_autotune_key_is_refused(key_hex: str):
    with pytest.raises(InvalidInput) as caught:
        AutotuneKey(key_hex, "a")

    assert str(caught.value) == (
        f"autotune key {key_hex!r} is not 32 or 64 lower-case hex digits\n"
        "Fix: make it with AutotuneKey.of or AutotuneKey.exact"
    )
