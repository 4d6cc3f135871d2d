from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vyre.errors import InvalidInput, StoreFailed
from vyre.model import PARTS, Code, Knobs, Order, Schedule, Workload
from vyre.plain import plain
from vyre.store.exchange import autotune_store
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.keys import AutotuneKey
from vyre.store.records import AutotuneRecord, WriterEvidence
from vyre.testing.configs import odd_ones
from vyre.testing.store_contract import KNOBS

KEY = AutotuneKey("42000100010000000240000000000000", "native-sm120")
RECORD = AutotuneRecord(
    workgroup_size=(64, 1, 1), unroll=4, tile=(16, 16, 1), recorded_at="2026-04-23"
)
FIRST = """schema = 1

[[record]]
key = "42000100010000000240000000000000"
adapter = "native-sm120"
workgroup_size = [64, 1, 1]
unroll = 4
tile = [16, 16, 1]
recorded_at = "2026-04-23"
"""
PRETTY = FIRST.replace("[64, 1, 1]", "[\n    64,\n    1,\n    1,\n]").replace(
    "[16, 16, 1]", "[\n    16,\n    16,\n    1,\n]"
)
INLINE = """schema = 1
record = [
  {key = "42000100010000000240000000000000", adapter = "native-sm120", workgroup_size = [64, 1, 1],
   unroll = 4, tile = [16, 16, 1], recorded_at = "2026-04-23"},
]
""".replace(",\n   unroll", ", unroll")
WORKLOAD = Workload(
    fingerprint=bytes(range(32)), buckets=(20, 3), traits=("a, b",), device="d", toolchain="t"
)
EVIDENCE = WriterEvidence(
    writer="host-1",
    schedule=Schedule((256, 1, 1), Code(items=4, vector=4, order=Order.BLOCKED, checked=False)),
    count=12,
    median_ns=730.5,
    last_at_ns=1_800_000_000_000_000_000,
)
FULL = AutotuneRecord(
    workgroup_size=(256, 1, 1),
    recorded_at="2026-11-15",
    items=4,
    vector=4,
    order=Order.BLOCKED,
    checked=False,
    provenance="vyre 0.1.0",
    workload=WORKLOAD,
    evidence=(EVIDENCE,),
)
FULL_KEY = AutotuneKey(WORKLOAD.key(), "d")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "store.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [FIRST, PRETTY, INLINE])
def test_schema_1_loads_in_every_style_of_arrays(text: str, tmp_path: Path):
    store = AutotuneStore.load(written(tmp_path, text))

    assert dict(store) == {KEY: RECORD}
    assert not store.is_dirty


def test_records_that_schema_1_can_hold_are_written_in_it(tmp_path: Path):
    store = AutotuneStore({KEY: RECORD})

    assert store.save_if_dirty(tmp_path / "store.toml")
    assert (tmp_path / "store.toml").read_text() == FIRST
    assert not store.save_if_dirty(tmp_path / "store.toml")


def test_schema_2_holds_the_whole_schedule_its_workload_and_its_evidence(tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: FULL, KEY: RECORD}).save_if_dirty(path)

    assert path.read_text().startswith("schema = 2\n")
    assert dict(AutotuneStore.load(path)) == {FULL_KEY: FULL, KEY: RECORD}


def test_rows_are_written_where_there_are_several(tmp_path: Path):
    """A version that knows of none reads every other record."""
    path = tmp_path / "store.toml"
    lanes = replace(EVIDENCE, schedule=Schedule((512, 8, 1), Code(vector=32, rows=4, staged=True)))
    tall = replace(FULL, items=1, vector=32, rows=4, staged=True, evidence=(EVIDENCE, lanes))
    AutotuneStore({FULL_KEY: FULL, KEY: RECORD}).save_if_dirty(path)
    assert "rows" not in path.read_text()
    assert "staged" not in path.read_text()

    AutotuneStore({FULL_KEY: tall}).save_if_dirty(path)
    assert path.read_text().count("rows = 4\nstaged = true\n") == 2
    assert dict(AutotuneStore.load(path))[FULL_KEY] == tall
    assert tall.schedule == Schedule(
        (256, 1, 1),
        Code(vector=32, rows=4, staged=True, order=Order.BLOCKED, checked=False),
    )


def test_the_day_may_be_left_out(tmp_path: Path):
    text = FIRST.replace('recorded_at = "2026-04-23"\n', "")

    assert dict(AutotuneStore.load(written(tmp_path, text))) == {
        KEY: replace(RECORD, recorded_at="")
    }


def test_a_store_counts_and_forgets():
    store = AutotuneStore()
    assert store.is_empty

    store.put(KEY, RECORD)
    assert (len(store), store.get(KEY), store.is_dirty) == (1, RECORD, True)
    assert store.forget(KEY)
    assert not store.forget(KEY)
    assert store.get(KEY) is None


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("schema = 1", "schema = 3", "line 1 has schema 3; this version of Vyre knows 1 and 2"),
        ("schema = 1\n", "", "is not an autotune store: it has no schema number and records"),
        (
            "schema = 1",
            "schema = 1\nmine = 1",
            "line 2 has 'mine', which is no part of an autotune store",
        ),
        ('"native-sm120"', "1", "line 5: adapter is not a string"),
        ('adapter = "native-sm120"\n', "", "line 3: adapter is missing"),
        (
            "0100010000000240",
            "zz",
            "line 4: key '4200zz000000000000' is not 32 or 64 lower-case hex digits",
        ),
        ("[64, 1, 1]", "[64, 1]", "line 6: workgroup_size is not three sizes"),
        ("[64, 1, 1]", "[64, 1, 1.0]", "line 6: workgroup_size is not a whole number"),
        ("[64, 1, 1]", "[64, 0, 1]", "line 6: workgroup_size (64, 0, 1) has an axis of 0"),
        ("[64, 1, 1]", "[64, 1, -1]", "line 6: workgroup_size is outside 0 to 4294967295"),
        ("unroll = 4", "unroll = true", "line 7: unroll is not a whole number"),
        ("unroll = 4\n", "", "line 3: unroll is missing"),
        ("[16, 16, 1]", "[16, 0, 1]", "line 8: tile (16, 0, 1) has an axis of 0 beside others"),
        ("2026-04-23", "yesterday", "line 9: recorded_at 'yesterday' is not a day"),
        ("unroll = 4", "unroll = 4\nitems = 2", "line 8: items is not a field of this schema"),
    ],
)
def test_a_bad_record_is_refused_with_its_line_and_the_file_stays(
    old: str, new: str, problem: str, tmp_path: Path
):
    text = FIRST.replace(old, new)
    path = written(tmp_path, text)

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)
    with pytest.raises(StoreFailed):
        AutotuneStore({KEY: RECORD}).save_if_dirty(path)

    assert caught.value.problem.removeprefix(f"{path} ") == problem
    assert path.read_text() == text


def test_the_fix_says_that_the_file_is_left(tmp_path: Path):
    path = written(tmp_path, FIRST + FIRST.partition("\n")[2])

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)

    assert str(caught.value) == (
        f"{path} line 12: key {KEY.key_hex} of 'native-sm120' is there twice\n"
        "Fix: mend or remove that record; the file is left as it is"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("buckets = [20, 3]", "buckets = [20, 4]", "workload has the key"),
        ("buckets = [20, 3]", 'buckets = ["a"]', "buckets is not an array of whole numbers"),
        ('traits = ["a, b"]', "traits = [1]", "traits is not an array of strings"),
        ('fingerprint = "', 'fingerprint = "z', "fingerprint is not hex digits"),
        ("median_ns = 730.5", "median_ns = nan", "evidence is refused: evidence of 12 times"),
        ("median_ns = 730.5", "median_ns = 1", "median_ns is not a number with a point"),
        ("count = 12", "count = 0", "evidence is refused: evidence of 0 times"),
        ('order = "blocked"', 'order = "x"', "order is 'x'; known: strided, blocked"),
        ("checked = false", "checked = 0", "checked is not true or false"),
    ],
)
def test_schema_2_is_read_as_strictly(old: str, new: str, problem: str, tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: FULL}).save_if_dirty(path)
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)

    assert f": {problem}" in caught.value.problem


TURNED = AutotuneRecord.of_knobs(
    Knobs.of({"BLOCK": 256, "alpha": 1.0, "fast": True, "unroll": "1"}),
    recorded_at="2026-11-15",
    provenance="vyre 0.1.0",
    workload=WORKLOAD,
    evidence=(replace(EVIDENCE, schedule=Knobs.of({"BLOCK": 64, "a, b": "}"})), EVIDENCE),
)
TURNED_TEXT = f"""schema = 2

[[record]]
key = "{WORKLOAD.key()}"
adapter = "d"
recorded_at = "2026-11-15"
provenance = "vyre 0.1.0"

[record.knobs]
"BLOCK" = 256
"alpha" = 1.0
"fast" = true
"unroll" = "1"

[record.workload]
"""


def test_a_record_of_another_authors_kernel_has_knobs_in_place_of_a_schedule(tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: TURNED}).save_if_dirty(path)

    assert path.read_text().startswith(TURNED_TEXT)
    assert '\nknobs = {"BLOCK" = 64, "a, b" = "}"}\n' in path.read_text()
    assert dict(AutotuneStore.load(path)) == {FULL_KEY: TURNED}


@pytest.mark.parametrize("knobs", KNOBS, ids=lambda knobs: plain(knobs.text, 20))
def test_knobs_come_back_from_a_file_as_they_were_given(knobs: Knobs, tmp_path: Path):
    path = tmp_path / "store.toml"
    made = replace(TURNED, knobs=knobs, evidence=(replace(EVIDENCE, schedule=knobs),))
    AutotuneStore({FULL_KEY: made, KEY: RECORD}).save_if_dirty(path)

    found = AutotuneStore.load(path)

    assert dict(found) == {FULL_KEY: made, KEY: RECORD}
    assert repr(found.get(FULL_KEY).knobs) == repr(knobs)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            '"BLOCK" = 256',
            f'"BLOCK" = {2**63}',
            "line 10: knobs set 'BLOCK' to what is no text, no truth value and no number",
        ),
        ('"alpha" = 1.0', '"alpha" = nan', "line 11: knobs set 'alpha' to what is no text"),
        ('"alpha" = 1.0', '"\\u001b[2J" = [1]', "line 11: knobs set '\\x1b[2J' to what is no text"),
        ('"unroll" = "1"', '"unroll" = 1979-05-27', "line 13: knobs set 'unroll' to what is no"),
        ('"alpha" = 1.0', '"alpha" = {x = 1}', "line 11: knobs set 'alpha' to what is no text"),
        (
            'adapter = "d"',
            'adapter = "d"\nunroll = 4',
            "line 6: unroll is of a schedule, and there",
        ),
        ('adapter = "d"', 'adapter = "d"\nchecked = true', "line 6: checked is of a schedule"),
        ("[record.knobs]", "[[record.knobs]]", "line 9: knobs is not a table"),
        ("schema = 2", "schema = 1", "is not a field of this schema"),
        (
            'knobs = {"BLOCK" = 64',
            'knobs = {"BLOCK" = nan',
            "evidence is refused: knobs set 'BLOCK'",
        ),
        (
            'knobs = {"BLOCK" = 64',
            'items = 2\nknobs = {"B" = 1',
            "evidence is refused: items is of",
        ),
        (
            '"BLOCK" = 256',
            "\n".join(f'"{k}" = 1' for k in range(65)),
            "line 9: knobs is refused: 68",
        ),
        (
            '"fast" = true',
            f'"fast" = "{"x" * 1025}"',
            "line 12: knobs set 'fast' to what is no text",
        ),
    ],
)
def test_knobs_are_read_as_strictly(old: str, new: str, problem: str, tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: TURNED}).save_if_dirty(path)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)

    assert problem in caught.value.problem


def test_a_record_has_knobs_or_a_schedule():
    with pytest.raises(InvalidInput) as caught:
        AutotuneRecord(workgroup_size=(64, 1, 1), knobs=Knobs.of({"n": 1}))

    assert str(caught.value) == "knobs 'n=1' beside the schedule 64\nFix: give one of them"


def test_two_writers_keep_each_others_records(tmp_path: Path):
    """Of the seed's two writers one record survives."""
    path = written(tmp_path, FIRST)
    one, two = AutotuneStore.load(path), AutotuneStore.load(path)
    one.put(AutotuneKey("0" * 32, "a"), RECORD)
    two.put(AutotuneKey("1" * 32, "a"), RECORD)
    two.forget(KEY)

    one.save_if_dirty(path)
    two.save_if_dirty(path)

    assert [key.key_hex[0] for key, _ in AutotuneStore.load(path)] == ["0", "1"]


def test_a_record_put_again_keeps_the_evidence_of_others(tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: FULL}).save_if_dirty(path)
    other = replace(EVIDENCE, writer="host-2", count=1)

    AutotuneStore({FULL_KEY: replace(FULL, items=2, evidence=(other,))}).save_if_dirty(path)

    assert AutotuneStore.load(path).get(FULL_KEY) == replace(
        FULL, items=2, evidence=(EVIDENCE, other)
    )


def test_a_file_that_would_be_too_large_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path, FIRST)
    monkeypatch.setattr(autotune_store, "MOST_BYTES", len(FIRST))

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore({FULL_KEY: RECORD}).save_if_dirty(path)

    size = len(FIRST) * 2 - len("schema = 1\n") + 32 - len("native-sm120") + 1
    assert str(caught.value) == (
        f"{path} would have {size} bytes; {len(FIRST)} allowed\n"
        "Fix: forget records, or keep them in several files"
    )
    assert path.read_text() == FIRST


def test_text_without_bytes_is_refused():
    with pytest.raises(InvalidInput) as caught:
        AutotuneStore({AutotuneKey("0" * 32, "\ud800"): RECORD})

    assert str(caught.value) == (
        f"record {'0' * 32} has text that UTF-8 cannot hold\n"
        "Fix: use an adapter and a provenance without surrogates"
    )


@pytest.mark.parametrize("schedule", odd_ones(), ids=lambda schedule: schedule.text)
def test_a_part_of_a_schedule_comes_back_from_a_file(schedule: Schedule, tmp_path: Path):
    """Chosen or measured, and in the file only where it says something."""
    path = tmp_path / "store.toml"
    measured = replace(EVIDENCE, schedule=schedule)
    parts = {**schedule.code.parts(), "workgroup_size": schedule.workgroup}
    made = replace(FULL, **parts, evidence=(measured,))
    AutotuneStore({FULL_KEY: made}).save_if_dirty(path)

    found = AutotuneStore.load(path).get(FULL_KEY)

    assert found == made
    assert found.config == found.evidence[0].schedule == schedule
    for name in PARTS.keys() - {"items", "vector", "unroll", "order", "checked"}:
        said = path.read_text().count(f"\n{name} = ")
        assert said == (2 if getattr(schedule.code, name) != PARTS[name] else 0)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("lines = 0", "lines is 0"),
        ("planes = true", "planes is not a whole number"),
        ("depth = -1", f"depth is outside 0 to {2**32 - 1}"),
        ("depth = 1.0", "depth is not a whole number"),
        ("loaders = 1", "loaders 1 of a code that fills no workgroup memory"),
        ("group = [64, 1, 1]", "group is not a field of this schema"),
    ],
)
def test_newer_parts_are_read_as_strictly(line: str, problem: str, tmp_path: Path):
    path = tmp_path / "store.toml"
    AutotuneStore({FULL_KEY: FULL}).save_if_dirty(path)
    text = path.read_text().replace("checked = false", f"checked = false\n{line}", 1)
    path.write_text(text)

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)

    number = text.splitlines().index(line) + 1
    assert caught.value.problem == f"{path} line {number}: {problem}"


def test_schema_1_has_no_newer_parts(tmp_path: Path):
    with pytest.raises(StoreFailed, match="lines is not a field of this schema"):
        AutotuneStore.load(written(tmp_path, FIRST + "lines = 2\n"))


small = st.integers(1, 3)
schedules = st.builds(
    Schedule, st.tuples(small, st.just(1), st.just(1)), st.builds(Code, items=small, depth=small)
)
evidence = st.builds(
    WriterEvidence,
    writer=st.sampled_from("ab"),
    schedule=schedules | st.builds(Knobs, st.sampled_from([(), (("n", 1),), (("n", 1.0),)])),
    count=small,
    median_ns=st.sampled_from([1.0, 2.0]),
    last_at_ns=small,
)
settings_of = st.one_of(st.booleans(), st.integers(0, 1), st.sampled_from([0.0, 1.0, "", "1"]))
turned = st.builds(
    AutotuneRecord.of_knobs,
    st.dictionaries(st.text(max_size=3), settings_of, max_size=3).map(Knobs.of),
    recorded_at=st.sampled_from(["", "2026-01-01", "2026-01-02"]),
    evidence=st.lists(evidence, max_size=3).map(tuple),
)
scheduled = st.builds(
    AutotuneRecord,
    workgroup_size=st.tuples(small, small, st.just(1)),
    recorded_at=st.sampled_from(["", "2026-01-01", "2026-01-02"]),
    items=small,
    lines=small,
    depth=small,
    provenance=st.sampled_from(["", "x"]),
    evidence=st.lists(evidence, max_size=3).map(tuple),
)
records = scheduled | turned
keys = st.builds(AutotuneKey, st.sampled_from(["0" * 32, "1" * 64]), st.sampled_from("ab"))
stores = st.dictionaries(keys, records, max_size=3).map(AutotuneStore)


@given(stores, stores, stores)
def test_merging_is_the_same_in_any_order_and_any_number_of_times(
    a: AutotuneStore, b: AutotuneStore, c: AutotuneStore
):
    merged = a.merged(b, c)

    assert c.merged(a.merged(b)) == a.merged(c.merged(b)) == merged
    assert merged.merged(merged, b, a) == merged


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stores)
def test_a_store_comes_back_from_its_file(tmp_path: Path, store: AutotuneStore):
    path = tmp_path / "store.toml"
    path.unlink(missing_ok=True)

    if store.save_if_dirty(path):
        assert AutotuneStore.load(path) == store
