from dataclasses import replace
from math import inf, nan

import pytest

from vyre.errors import InvalidInput
from vyre.ir import DataType, Program
from vyre.store.specialization import (
    SpecCacheKey,
    SpecKind,
    SpecMap,
    SpecValue,
    vsa_specialization_key,
)

VARIANT = SpecCacheKey(
    shader_hash=0xFEED, binding_sig=0xBEEF, workgroup_size=(64, 1, 1), spec_hash=2
)


@pytest.mark.parametrize(
    ("value", "contribution"),
    [
        (SpecValue.u32(1), 0x1_00),
        (SpecValue.u32(2**32 - 1), 0xFFFF_FFFF_00),
        (SpecValue.i32(-1), 0xFFFF_FFFF_01),
        (SpecValue.f32(1.0), 0x3F80_0000_02),
        (SpecValue.f32(-0.0), 0x8000_0000_02),
        (SpecValue.f32(inf), 0x7F80_0000_02),
        (SpecValue.f32(nan), 0x7FC0_0000_02),
        (SpecValue.boolean(False), 0x03),
        (SpecValue.boolean(True), 0x1_03),
        (SpecValue.dtype(DataType.U32), 0x1_04),
        (SpecValue.dtype(DataType.F32), 0xB_04),
    ],
)
def test_a_value_contributes_its_kind_and_its_bits(value: SpecValue, contribution: int):
    assert value.cache_hash() == contribution


def test_floats_are_equal_by_their_bits():
    assert SpecValue.f32(0.0) != SpecValue.f32(-0.0)
    assert SpecValue.f32(nan) == SpecValue.f32(nan)
    assert SpecValue.f32(0.1) == SpecValue(SpecKind.F32, 0x3DCCCCCD)


@pytest.mark.parametrize("value", [-(2**31) - 1, 2**31])
def test_an_i32_outside_its_range_is_refused(value: int):
    with pytest.raises(InvalidInput) as caught:
        SpecValue.i32(value)

    assert str(caught.value) == (
        f"i32 value {value} is outside -2**31 to 2**31 - 1\nFix: use a value in that range"
    )


def test_a_u32_outside_its_range_is_refused():
    with pytest.raises(InvalidInput) as caught:
        SpecValue.u32(-1)

    assert str(caught.value) == (
        "bits of a U32 value is -1; 0 to 2**32 - 1 allowed\nFix: use a value in that range"
    )


def test_a_float_beyond_f32_is_refused():
    with pytest.raises(InvalidInput) as caught:
        SpecValue.f32(1e39)

    assert str(caught.value) == (
        "f32 value 1e+39 is beyond the largest f32\n"
        "Fix: use a value that an f32 can hold, or math.inf"
    )


def test_types_that_would_share_a_tag_are_refused():
    with pytest.raises(InvalidInput) as caught:
        SpecValue.dtype(DataType.vec(DataType.F32, 4))

    assert str(caught.value) == (
        "type vec<f32, 4> is more than a tag, so its key would be shared with other types\n"
        "Fix: specialise for its element type and its numbers, one value each"
    )


def test_the_hash_of_no_values_is_the_offset_of_fnv():
    assert SpecMap().cache_hash() == 0xCBF29CE484222325


def test_the_hash_of_one_value_is_the_seeds():
    assert SpecMap.of({"K": SpecValue.u32(1)}).cache_hash() == 0xB4A95573D6942805


def test_the_order_of_insertion_does_not_change_a_map():
    a, b = SpecValue.u32(1), SpecValue.i32(-2)

    assert SpecMap.of({"A": a, "B": b}) == SpecMap.of({"B": b, "A": a})
    assert SpecMap.of({"A": a, "B": b}).cache_hash() != SpecMap.of({"A": b, "B": a}).cache_hash()


def test_names_out_of_order_are_refused():
    with pytest.raises(InvalidInput) as caught:
        SpecMap((("B", SpecValue.u32(1)), ("A", SpecValue.u32(1))))

    assert str(caught.value) == (
        "specialisation names ['B', 'A'] are not in order, each once\n"
        "Fix: build the map with SpecMap.of"
    )


def test_a_variants_key_holds_the_hash_of_its_values():
    specs = SpecMap.of({"K": SpecValue.u32(1)})

    key = SpecCacheKey.of(0xFEED, 0xBEEF, (64, 1, 1), specs)

    assert key == replace(VARIANT, spec_hash=0xB4A95573D6942805)


def test_a_hash_beyond_64_bits_is_refused():
    with pytest.raises(InvalidInput) as caught:
        replace(VARIANT, shader_hash=2**64)

    assert str(caught.value) == (
        "shader_hash is 18446744073709551616; 0 to 2**64 - 1 allowed\n"
        "Fix: use a value in that range"
    )


def test_a_specialisation_key_has_the_fingerprint_above_and_the_hash_below():
    program = Program.wrapped((), (64, 1, 1), ())

    key = vsa_specialization_key(program, 0x11)

    low, high = program.fingerprint_words()[:2]
    assert key == 0xF0AB261801DDD3D4 << 64 | 0x11
    assert key >> 64 == low | high << 32
