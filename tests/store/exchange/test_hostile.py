"""Exchange files of others: whatever is in them, they are read, refused with a message, or both."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput, StoreFailed, VyreError
from vyre.model import Decision, Reason, Schedule, Workload
from vyre.store.base import Kept
from vyre.store.exchange import text as module
from vyre.store.exchange.autotune_store import AutotuneStore
from vyre.store.exchange.bridge import export_cache, export_records, import_cache, import_records
from vyre.store.exchange.text import quoted
from vyre.store.exchange.tuner_cache import TunerCache
from vyre.store.memory import MemoryStore
from vyre.store.sound import LONGEST_FIELD
from vyre.store.sqlite.database import Database

NOW = 1_790_000_000_000_000_000
RECORD = """schema = 2

[[record]]
key = "00000000000000000000000000000000"
adapter = "a"
workgroup_size = [64, 1, 1]
unroll = 1
tile = [0, 0, 0]
recorded_at = "2026-04-23"
"""
WORKLOAD = """
[record.workload]
fingerprint = ""
buckets = [1]
traits = ["a"]
device = "d"
toolchain = "t"
"""
ESCAPES = "\\u001B]0;owned\\u0007\\u009B31m\\u202E"

RECORDS = {
    "a schema in colours": RECORD.replace("schema = 2", f'"{ESCAPES}" = 2\nschema = 2'),
    "a field in colours": RECORD.replace("unroll", f'"{ESCAPES}"'),
    "an order in colours": RECORD + f'order = "{ESCAPES}"\n',
    "a key in colours": RECORD.replace("0" * 32, ESCAPES),
    "a day in colours": RECORD.replace("2026-04-23", ESCAPES),
    "a long key": RECORD.replace("0" * 32, "0" * 3_000_000),
    "a long adapter": RECORD.replace('"a"', f'"{"a" * 3_000_000}"'),
    "a bucket of very many digits": RECORD + WORKLOAD.replace("[1]", f"[0x{'f' * 20_000}]"),
    "a bucket beyond 64 bits": RECORD + WORKLOAD.replace("[1]", f"[{2**70}]"),
    "very many traits": RECORD + WORKLOAD.replace('["a"]', str(["a"] * 200_000)),
    "an unroll of very many digits": RECORD.replace("unroll = 1", f"unroll = {'9' * 4000}"),
    "an unroll that is no number": RECORD.replace("unroll = 1", "unroll = nan"),
    "an infinite median": RECORD
    + "[[record.evidence]]\nwriter = 'w'\nworkgroup_size = [1, 1, 1]\nitems = 1\nvector = 1\n"
    "unroll = 1\ncount = 1\nmedian_ns = inf\nlast_at_ns = 0\n",
    "an evidence of no type": RECORD + "evidence = 1\n",
    "a schema of very many digits": f"schema = {'9' * 4000}\n",
    "a record that is a number": "schema = 1\nrecord = [1, 2]\n",
    "deep nesting": "schema = " + "[" * 4000,
    "deep tables": "schema = " + "{a=" * 4000,
    "a key of very many parts": "schema = 1\n" + "a." * 200_000 + "a = 1\n",
    "a table of very many parts": "schema = 1\n[" + "a." * 200_000 + "a]\n",
    "an inline key of very many parts": "schema = 1\nx = {" + "a." * 200_000 + "a = 1}\n",
    "quoted parts": "schema = 1\n" + '"a".' * 200_000 + "a = 1\n",
    "too much": "#" * (module.MOST_BYTES + 1),
    "no UTF-8": "schema = 1 # \udcff",
}
CACHES = {
    "an entry in colours": f'"{ESCAPES}" = [0, 1, 1]\n',
    "a table in colours": f'["{ESCAPES}"]\n',
    "a size in colours": f'a = ["{ESCAPES}", 1, 1]\n',
    "a long key": f'"{"k" * 3_000_000}" = [1, 1, 1]\n',
    "a size of very many digits": f"a = [0x{'f' * 20_000}, 1, 1]\n",
    "sizes that are no numbers": "a = [nan, inf, -inf]\n",
    "a size that is a table": "a = [{b = 1}, 1, 1]\n",
    "a size that nests": f"a = [{'[' * 200}{']' * 200}, 1, 1]\n",
    "a size that is a day": "a = [1979-05-27, 1979-05-27T07:32:00Z, 07:32:00]\n",
    "truth values": "a = [true, true, true]\n",
    "very many entries that are refused": "".join(f"k{n} = 1\n" for n in range(5_000)),
    **{name: text for name, text in RECORDS.items() if "parts" in name or "deep" in name},
}


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path


def refuse_what_cannot_be_shown(text: str) -> None:
    assert all(line.isprintable() for line in text.split("\n")), text
    assert len(text) < 2_000


@pytest.mark.parametrize("text", RECORDS.values(), ids=RECORDS)
def test_hostile_records_are_refused_in_words_that_can_be_shown(tmp_path: Path, text: str):
    path = write(tmp_path / "records.toml", text)
    before = path.read_bytes()

    with pytest.raises(StoreFailed) as caught:
        AutotuneStore.load(path)

    refuse_what_cannot_be_shown(str(caught.value))
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", CACHES.values(), ids=CACHES)
def test_hostile_entries_are_refused_and_stay_in_the_file(tmp_path: Path, text: str):
    path = write(tmp_path / "cache.toml", text)
    before = path.read_bytes()

    try:
        cache = TunerCache.load(path)
    except StoreFailed as error:
        refuse_what_cannot_be_shown(str(error))
    else:
        assert len(cache) == 0
        assert cache.refused
        for refused in cache.refused:
            refuse_what_cannot_be_shown(refused.problem)
    with pytest.raises(StoreFailed) as caught:
        TunerCache({"new": (1, 1, 1)}).save(path)
    refuse_what_cannot_be_shown(str(caught.value))
    assert path.read_bytes() == before


def test_a_key_of_many_parts_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Parsing takes time by the square of their number: minutes for a file that may be read."""
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it was parsed"))
    path = write(tmp_path / "cache.toml", "\n\n" + "a." * 65 + "a = [1, 1, 1]\n")

    with pytest.raises(StoreFailed) as caught:
        TunerCache.load(path)

    assert str(caught.value) == (
        f"{path} line 3 has a key of more than 64 parts\n"
        "Fix: mend that line, or move the file away; it is left as it is"
    )


def test_dots_that_part_no_key_are_no_parts(tmp_path: Path):
    text = f'"{"a." * 99}" = [1, 1, 1] # {"a." * 99}\nb = [{"1.5, " * 99}1.5]\n'
    path = write(tmp_path / "cache.toml", text)

    assert dict(TunerCache.load(path).entries) == {"a." * 99: (1, 1, 1)}


def test_what_was_recorded_in_the_future_was_recorded_now(tmp_path: Path):
    path = write(tmp_path / "records.toml", RECORD.replace("2026-04-23", "9999-12-31"))
    store = Database(tmp_path / "store.sqlite3", writer="me")

    import_records(AutotuneStore.load(path), store, now_ns=NOW)

    (kept,) = store.kept()
    assert kept.stamp_ns == NOW
    store.put(kept.decision)
    store.close()


def test_a_cache_of_an_adapter_is_imported_whatever_its_keys(tmp_path: Path):
    cache = TunerCache({"a\x1b[2J": (1, 1, 1), "k" * LONGEST_FIELD: (2, 1, 1), "": (3, 1, 1)})
    store = Database(tmp_path / "store.sqlite3", writer="me")

    import_cache(cache, "a" * 1000, store, now_ns=NOW)

    assert export_cache(store, "a" * 1000) == cache
    store.close()


def test_a_key_that_no_file_could_give_back_is_refused():
    with pytest.raises(InvalidInput) as caught:
        TunerCache({"k" * (LONGEST_FIELD + 1): (1, 1, 1)})

    assert str(caught.value) == (
        "an entry with a key of 8193 letters; 8192 allowed\n"
        "Fix: use a shorter key, such as a digest"
    )


@pytest.mark.parametrize(
    "traits", [("autotune store",), ("autotune store", "no key"), ("tuner cache",), ("", "")]
)
def test_one_workload_that_makes_no_sense_does_not_stop_an_export(traits: tuple[str, ...]):
    store = MemoryStore()
    good = Workload(fingerprint=b"f", buckets=(1,), traits=(), device="d", toolchain="t")
    bad = Workload(fingerprint=b"", buckets=(), traits=traits, device="d", toolchain="")
    for workload in (bad, good):
        made = Decision(workload=workload, config=Schedule((64, 1, 1)), reason=Reason.ADOPTED)
        store.absorb([Kept(decision=made, stamp_ns=1, writer="", used_ns=1)], ())

    records = export_records(store, "vyre")
    assert good.key() in {key.key_hex for key, _ in records}
    assert len(export_cache(store, "d")) == 0


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_written_so_that_it_can_be_shown_and_comes_back(text: str):
    written = quoted(text)

    assert written.isprintable()
    assert tomllib.loads(f"a = {written}") == {"a": text}


def test_a_record_that_cannot_be_refers_to_nothing_that_can_be_run(tmp_path: Path):
    path = write(tmp_path / "records.toml", RECORD.replace("[64, 1, 1]", "[4294967296, 1, 1]"))

    with pytest.raises(VyreError, match="is outside 0 to 4294967295"):
        AutotuneStore.load(path)
