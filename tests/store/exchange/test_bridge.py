from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.model import Reason, Schedule, Timed
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.bridge import (
    cache_workload,
    export_cache,
    export_records,
    import_cache,
    import_records,
)
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.keys import AutotuneKey
from vyre.store.memory import MemoryStore
from vyre.store.records import AutotuneRecord, WriterEvidence
from vyre.testing.configs import odd_ones
from vyre.testing.store_contract import (
    KNOBS,
    START_NS,
    contents,
    decision,
    measurement,
    schedule,
    workload,
)

CACHE = TunerCache({"v1-a": (64, 1, 1), "v1-b": (128, 1, 1)})
RECORDS = AutotuneStore(
    {
        AutotuneKey("0" * 32, "sm"): AutotuneRecord(
            workgroup_size=(64, 1, 1), recorded_at="2026-01-02"
        )
    }
)


def test_a_cache_goes_through_a_store_unchanged():
    store = MemoryStore()
    import_cache(CACHE, "sm120", store, now_ns=START_NS)

    found = store.get(cache_workload("v1-a", "sm120"))

    assert found is not None
    assert (found.config, found.reason) == (Schedule((64, 1, 1)), Reason.REMEMBERED)
    assert export_cache(store, "sm120") == CACHE
    assert export_cache(store, "other") == TunerCache()


def test_importing_again_changes_nothing():
    store = MemoryStore()
    import_cache(CACHE, "sm120", store, now_ns=START_NS)
    import_records(RECORDS, store, now_ns=START_NS)
    before = contents(store)

    import_records(RECORDS, store, now_ns=START_NS)
    import_cache(CACHE, "sm120", store, now_ns=START_NS)

    assert contents(store) == before


def test_what_was_learned_here_stands_against_an_import():
    store = MemoryStore()
    learned = replace(decision(1), workload=cache_workload("v1-a", "sm120"))
    store.put(learned)

    import_cache(CACHE, "sm120", store, now_ns=START_NS)

    assert store.get(learned.workload) == learned


def test_records_of_the_crate_go_through_a_store_unchanged():
    store = MemoryStore()
    import_records(RECORDS, store, now_ns=START_NS)

    assert export_records(store, "here") == RECORDS


def test_of_two_imports_the_later_day_holds():
    key = AutotuneKey("0" * 32, "sm")
    later = AutotuneStore(
        {key: AutotuneRecord(workgroup_size=(32, 1, 1), recorded_at="2026-01-03")}
    )
    one, two = MemoryStore(), MemoryStore()

    for store, order in ((one, (RECORDS, later)), (two, (later, RECORDS))):
        for records in order:
            import_records(records, store, now_ns=START_NS)

    assert contents(one) == contents(two)
    assert export_records(one, "") == later


def test_a_tiled_record_stays_in_its_file():
    store = MemoryStore()
    tiled = AutotuneRecord(workgroup_size=(64, 1, 1), tile=(8, 8, 1))

    import_records(AutotuneStore({AutotuneKey("0" * 32, "sm"): tiled}), store, now_ns=START_NS)

    assert list(store.kept()) == []


def test_a_choice_is_exported_with_its_workload_and_what_each_writer_measured():
    store = MemoryStore(now_ns=lambda: START_NS)
    store.put(decision(1, 3))
    store.append([measurement(1, 0, "a"), measurement(1, 3, "a"), measurement(1, 6, "a")])
    store.append([measurement(1, 0, "b")])

    ((key, record),) = export_records(store, "vyre on an H200")

    assert key == AutotuneKey(workload(1).key(), workload(1).device)
    assert record.schedule == schedule(3)
    assert (record.workload, record.provenance) == (workload(1), "vyre on an H200")
    assert record.recorded_at == "2027-01-15"
    assert record.evidence == (
        WriterEvidence(
            writer="a",
            schedule=schedule(0),
            count=2,
            median_ns=101.5,
            last_at_ns=START_NS + 3,
        ),
        WriterEvidence(
            writer="b", schedule=schedule(0), count=1, median_ns=100.0, last_at_ns=START_NS
        ),
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=6))
def test_exported_choices_come_back_in_another_store(choices: list[tuple[int, int]]):
    store, other = MemoryStore(), MemoryStore()
    for number, choice in choices:
        store.put(decision(number, choice))

    import_records(export_records(store, "x"), other, now_ns=START_NS)

    for kept in store.kept():
        found = other.get(kept.decision.workload)
        assert found is not None
        assert found.config == kept.decision.config


def test_choices_of_kernels_of_others_go_through_a_file(tmp_path: Path):
    store, other = MemoryStore(now_ns=lambda: START_NS), MemoryStore()
    for number, knobs in enumerate(KNOBS):
        store.put(replace(decision(number), config=knobs))
        store.append([replace(measurement(number, number), outcome=Timed(knobs, 9.0))])
    export_records(store, "here").save_if_dirty(tmp_path / "choices.toml")

    import_records(AutotuneStore.load(tmp_path / "choices.toml"), other, now_ns=START_NS)

    assert [other.get(workload(number)).config for number in range(len(KNOBS))] == list(KNOBS)
    assert all(record.evidence for _, record in AutotuneStore.load(tmp_path / "choices.toml"))


def test_failures_are_not_exported_as_evidence():
    store = MemoryStore()
    store.put(decision(1))
    store.append([measurement(1, 6)])
    assert not isinstance(measurement(1, 6).outcome, Timed)

    ((_, record),) = export_records(store, "x")

    assert record.evidence == ()


@pytest.mark.parametrize("one", odd_ones(), ids=lambda one: one.text)
def test_every_part_of_a_schedule_crosses_by_a_file(one: Schedule, tmp_path: Path):
    here, there = MemoryStore(), MemoryStore()
    here.put(replace(decision(1), config=one))
    here.append([replace(measurement(1, 0), outcome=Timed(one, 5.0))])

    export_records(here, "x").save_if_dirty(tmp_path / "store.toml")
    records = AutotuneStore.load(tmp_path / "store.toml")
    import_records(records, there, now_ns=START_NS)

    (record,) = dict(records).values()
    found = there.get(workload(1))
    assert found is not None
    assert found.config == record.evidence[0].schedule == one
