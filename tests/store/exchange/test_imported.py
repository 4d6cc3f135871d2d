"""Files of the Rust crate, written by hand in its form, are found for the programs they are of."""

from dataclasses import replace
from pathlib import Path

import blake3
import pytest

from vyre.ir import DataType, Program
from vyre.ir.declare import BufferDecl
from vyre.model import Decision, DeviceInfo, DeviceKind, Knobs, Limits, Reason, Schedule
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.bridge import cache_workload, import_cache, import_records
from vyre.store.exchange.imported import (
    adapters_of,
    imported_choice,
    imported_workloads,
    is_adapter_stem,
)
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import (
    StaticProgramShape,
    TunerProgramKey,
    adapter_file_stem,
    launch_feedback_key,
)
from vyre.store.memory import MemoryStore
from vyre.store.specialization import SpecCacheKey
from vyre.testing.store_contract import START_NS

COUNT = 4096
PROGRAM = Program.wrapped(
    (BufferDecl.output("out", 0, DataType.U32).with_count(COUNT),), (32, 1, 1), ()
)
FINGERPRINT = bytes.fromhex("16a3b5c250a06f7949bf3197d46c7695c79dee2530bdac2de479f64b1e9c8d7d")
LIMITS = Limits(
    max_threads=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65535, 65535),
    max_threads_per_unit=2048,
)
INFO = DeviceInfo(
    backend="cuda", model="Acme G1", driver="1", compiler="c", kind=DeviceKind.GPU, limits=LIMITS
)
LIMIT_WORDS = (1024, 1024, 1024, 64, 2**31 - 1, 65535, 65535)
CHOICE = Schedule((256, 1, 1))


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def digest(*parts: bytes) -> str:
    return blake3.blake3(b"".join(parts)).hexdigest()


LAUNCH_KEYS = {
    version: f"launch-v{version}-"
    + digest(
        f"vyre-natural-launch-feedback-v{version}\0".encode(),
        FINGERPRINT,
        words(32, 1, 1, COUNT, *LIMIT_WORDS, *tail),
    )
    for version, tail in ((1, ()), (2, (2048,)))
}
STEMS = {
    version: f"natural-launch-feedback-v{version}-"
    + digest(
        f"vyre-natural-launch-adapter-v{version}\0".encode(), b"CUDA", words(*LIMIT_WORDS, *tail)
    )
    for version, tail in ((1, ()), (2, (2048,)))
}


def tuner_key(count: bytes, output_bytes: int) -> str:
    return "v1-" + digest(
        b"vyre-driver-workgroup-tuner-v1\0program\0",
        FINGERPRINT,
        b"\0workgroup-size\0",
        words(32, 1, 1),
        b"\0workgroup-count\0",
        count,
        b"\0output-bytes\0",
        output_bytes.to_bytes(8, "little"),
    )


TUNER_KEYS = {
    "nothing": tuner_key(b"\0", 0),
    "the bytes": tuner_key(b"\0", 4 * COUNT),
    "the grid": tuner_key(b"\1" + words(COUNT // 32, 1, 1), 0),
    "both": tuner_key(b"\1" + words(COUNT // 32, 1, 1), 4 * COUNT),
}


def store_of(folder: Path, text: str, adapter: str) -> MemoryStore:
    """A store that a tuner cache of this text was imported into."""
    file = folder / f"{adapter}.toml"
    file.write_text(text)
    store = MemoryStore()
    import_cache(TunerCache.load(file), adapter, store, now_ns=START_NS)
    return store


def test_the_program_is_the_one_that_the_crate_knows():
    assert PROGRAM.fingerprint() == FINGERPRINT


@pytest.mark.parametrize("version", [1, 2])
def test_a_launch_file_of_the_crate_is_found_by_the_name_it_has(tmp_path, version):
    text = f'"{LAUNCH_KEYS[version]}" = [256, 1, 1]\n'
    store = store_of(tmp_path, text, STEMS[version])

    assert imported_choice(store.get, PROGRAM, COUNT, INFO) == CHOICE


@pytest.mark.parametrize("known", TUNER_KEYS)
@pytest.mark.parametrize("adapter", [INFO.identity, INFO.model])
def test_a_tuner_cache_is_found_whatever_its_writer_knew_of_the_dispatch(tmp_path, known, adapter):
    store = store_of(tmp_path, f'"{TUNER_KEYS[known]}" = [256, 1, 1]\n', adapter)

    assert imported_choice(store.get, PROGRAM, COUNT, INFO) == CHOICE


@pytest.mark.parametrize("adapter", [INFO.identity, INFO.model])
def test_a_launch_key_is_found_in_a_file_that_was_renamed(tmp_path, adapter):
    store = store_of(tmp_path, f'"{LAUNCH_KEYS[1]}" = [256, 1, 1]\n', adapter)

    assert imported_choice(store.get, PROGRAM, COUNT, INFO) == CHOICE


@pytest.mark.parametrize(
    ("program", "count", "info"),
    [
        (PROGRAM, COUNT - 1, INFO),
        (replace(PROGRAM, workgroup_size=(64, 1, 1)), COUNT, INFO),
        (PROGRAM, COUNT, replace(INFO, limits=replace(LIMITS, max_threads=512))),
        (PROGRAM, COUNT, replace(INFO, backend="opencl")),
        (PROGRAM, 0, INFO),
        (PROGRAM, 1 << 32, INFO),
    ],
    ids=["size", "declared", "limits", "backend", "nothing", "beyond 32 bits"],
)
def test_another_launch_is_not_found(tmp_path, program, count, info):
    store = store_of(tmp_path, f'"{LAUNCH_KEYS[1]}" = [256, 1, 1]\n', STEMS[1])

    assert imported_choice(store.get, program, count, info) is None


def test_what_the_device_cannot_launch_gives_way_to_what_it_can(tmp_path):
    text = f'"{LAUNCH_KEYS[2]}" = [2048, 1, 1]\n"{TUNER_KEYS["nothing"]}" = [256, 1, 1]\n'
    store = store_of(tmp_path, text, INFO.identity)

    assert imported_choice(store.get, PROGRAM, COUNT, INFO) == CHOICE


def test_what_is_said_of_exactly_this_launch_comes_before_what_is_said_of_the_program(tmp_path):
    text = f'"{TUNER_KEYS["nothing"]}" = [64, 1, 1]\n"{LAUNCH_KEYS[1]}" = [256, 1, 1]\n'
    store = store_of(tmp_path, text, INFO.identity)

    assert imported_choice(store.get, PROGRAM, COUNT, INFO) == CHOICE


def test_what_is_no_schedule_is_passed_over():
    workload = cache_workload(LAUNCH_KEYS[1], STEMS[1])
    knobs = Decision(workload=workload, config=Knobs(()), reason=Reason.REMEMBERED)

    assert imported_choice({workload: knobs}.get, PROGRAM, COUNT, INFO) is None


def test_a_record_of_the_crate_is_found_by_whoever_knows_its_variant(tmp_path):
    file = tmp_path / "records.toml"
    file.write_text(
        "schema = 1\n\n[[record]]\n"
        'key = "42000100010000000240000000000000"\n'
        'adapter = "Acme G1"\n'
        "workgroup_size = [256, 1, 1]\nunroll = 4\ntile = [0, 0, 0]\n"
    )
    store = MemoryStore()
    import_records(AutotuneStore.load(file), store, now_ns=START_NS)
    variant = SpecCacheKey(
        shader_hash=0xFEED, binding_sig=0xBEEF, workgroup_size=(64, 1, 1), spec_hash=2
    )

    found = imported_choice(store.get, PROGRAM, COUNT, INFO, variants=[variant])

    assert found is not None
    assert (found.workgroup, found.code.unroll) == ((256, 1, 1), 4)
    assert imported_choice(store.get, PROGRAM, COUNT, INFO) is None


def test_a_program_over_a_plane_has_only_the_keys_of_a_tuner():
    plane = Program.wrapped((), (8, 8, 1), ())

    found = imported_workloads(plane, COUNT, INFO)

    assert {workload.traits[1][:3] for workload in found} == {"v1-"}


def test_an_output_without_a_length_has_an_element_for_each():
    buffers = (
        BufferDecl.read("x", 0, DataType.U32),
        BufferDecl.read_write("out", 1, DataType.F32),
    )
    program = Program.wrapped(buffers, (32, 1, 1), ())
    shape = StaticProgramShape.of(program, None, 20)

    key = TunerProgramKey.from_program(program, shape).text

    assert cache_workload(key, INFO.model) in imported_workloads(program, 5, INFO)


def test_a_device_has_the_names_that_the_crate_gives_it_and_its_own():
    assert adapters_of(INFO) == (
        INFO.identity,
        "Acme G1",
        STEMS[2],
        adapter_file_stem("cuda", LIMITS, version=2),
        STEMS[1],
        adapter_file_stem("cuda", LIMITS, version=1),
    )
    assert [is_adapter_stem(name) for name in adapters_of(INFO)] == [False] * 2 + [True] * 4
    assert LAUNCH_KEYS[1] == launch_feedback_key(FINGERPRINT, (32, 1, 1), COUNT, LIMITS)
