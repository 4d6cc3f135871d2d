from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput, StoreFailed
from vyre.ir import Program
from vyre.model import Dim3
from vyre.store.exchange import tuner_cache
from vyre.store.exchange.tuner_cache import Refused, TunerCache
from vyre.store.keys import StaticProgramShape, TunerProgramKey

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
sizes = st.tuples(*[st.integers(1, 2**32 - 1)] * 3)
caches = st.dictionaries(texts, sizes, max_size=6).map(TunerCache)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cache.toml"
    path.write_text(text)
    return path


def test_a_saved_cache_is_byte_for_byte_the_seeds(tmp_path: Path):
    cache = TunerCache({"v1-b": (128, 1, 1), "v1-a": (64, 2, 1)})

    cache.save(tmp_path / "cache.toml")

    assert (tmp_path / "cache.toml").read_bytes() == (
        b'"v1-a" = [64, 2, 1]\n"v1-b" = [128, 1, 1]\n'
    )


def test_an_empty_cache_is_an_empty_file(tmp_path: Path):
    TunerCache().save(tmp_path / "cache.toml")

    assert (tmp_path / "cache.toml").read_bytes() == b""


def test_a_file_that_is_not_there_is_an_empty_cache(tmp_path: Path):
    assert TunerCache.load(tmp_path / "none.toml") == TunerCache()


def test_entries_are_in_the_order_of_their_keys():
    cache = TunerCache({"b": (1, 1, 1), "a": (2, 1, 1)})

    assert list(cache.entries.items()) == [("a", (2, 1, 1)), ("b", (1, 1, 1))]


def test_typed_keys_name_the_same_entries_as_their_text():
    program = Program.wrapped((), (64, 1, 1), ())
    key = TunerProgramKey.from_program(program, StaticProgramShape.of(program))
    cache = TunerCache()
    cache.set_key(key, (256, 1, 1))

    assert cache.get_key(key) == cache.get(str(key)) == (256, 1, 1)


def test_entries_in_any_toml_style_load(tmp_path: Path):
    path = written(
        tmp_path, "a = [64,1,1]\n'b' = [\n  128,\n  1,\n  1,\n]\n\"c\\u0041\" = [1, 2, 3]"
    )

    assert dict(TunerCache.load(path).entries) == {
        "a": (64, 1, 1),
        "b": (128, 1, 1),
        "cA": (1, 2, 3),
    }


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("[64.0, 1, 1]", "64.0 is not a whole number from 1 to 4294967295"),
        ('["64", 1, 1]', "64 is not a whole number from 1 to 4294967295"),
        ("[-1, 1, 1]", "-1 is not a whole number from 1 to 4294967295"),
        ("[4294967296, 1, 1]", "4294967296 is not a whole number from 1 to 4294967295"),
        ("[0, 1, 1]", "0 is not a whole number from 1 to 4294967295"),
        ("[true, 1, 1]", "True is not a whole number from 1 to 4294967295"),
        ("[64, 1]", "2 sizes; a workgroup has 3"),
        ("64", "not an array"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line_and_stays_in_the_file(
    entry: str, problem: str, tmp_path: Path
):
    """The seed loads the first four as 0, which no device can launch."""
    path = written(tmp_path, f'"a" = [64, 1, 1]\n\n"b" = {entry}\n')

    cache = TunerCache.load(path)
    cache.set("c", (32, 1, 1))
    cache.save(path)

    assert cache.refused == (Refused(3, f'"b" = {entry}: {problem}'),)
    assert path.read_text() == f'"b" = {entry}\n"a" = [64, 1, 1]\n"c" = [32, 1, 1]\n'
    assert dict(TunerCache.load(path).entries) == {"a": (64, 1, 1), "c": (32, 1, 1)}


def test_a_size_set_for_a_refused_key_takes_its_place(tmp_path: Path):
    path = written(tmp_path, '"a" = [64, 1, 1]\n"b" = [0, 1, 1]\n')
    cache = TunerCache.load(path)
    cache.set("b", (32, 1, 1))

    cache.save(path)

    assert path.read_text() == '"a" = [64, 1, 1]\n"b" = [32, 1, 1]\n'


def test_comments_and_tables_are_kept(tmp_path: Path):
    """The seed drops them."""
    path = written(tmp_path, '# mine\n"a" = [64, 1, 1] # fast\n[other]\nx = 1\n')
    cache = TunerCache.load(path)
    cache.set("b", (32, 1, 1))

    cache.save(path)

    assert path.read_text() == (
        '# mine\n"a" = [64, 1, 1] # fast\n"b" = [32, 1, 1]\n[other]\nx = 1\n'
    )


def test_a_key_that_needs_escapes_comes_back(tmp_path: Path):
    """The seed writes it as it is, and can never read the file again."""
    cache = TunerCache({'a"b\\c\nd': (64, 1, 1)})

    cache.save(tmp_path / "cache.toml")

    assert TunerCache.load(tmp_path / "cache.toml") == cache


@pytest.mark.parametrize("text", ["not toml", '"a" = [64, 1, 1]\n"a" = [32, 1, 1]\n', "\x00"])
def test_a_file_that_cannot_be_read_is_never_overwritten(text: str, tmp_path: Path):
    """The seed takes it for a missing file, and overwrites it."""
    path = written(tmp_path, text)

    with pytest.raises(StoreFailed):
        TunerCache.load(path)
    with pytest.raises(StoreFailed):
        TunerCache({"b": (64, 1, 1)}).save(path)

    assert path.read_text() == text


def test_a_file_of_another_program_is_never_overwritten(tmp_path: Path):
    path = written(tmp_path, '[project]\nname = "vyre"\n')

    with pytest.raises(StoreFailed) as caught:
        TunerCache({"b": (64, 1, 1)}).save(path)

    assert str(caught.value) == (
        f"{path} is not a tuner cache: line 1, [project]: a table\n"
        "Fix: save to another path; this file is left as it is"
    )
    assert path.read_text() == '[project]\nname = "vyre"\n'


def test_saving_keeps_what_others_wrote_meanwhile(tmp_path: Path):
    """The seed writes its own entries alone."""
    path = written(tmp_path, '"a" = [64, 1, 1]\n"b" = [64, 1, 1]\n')
    one, two = TunerCache.load(path), TunerCache.load(path)
    one.set("a", (128, 1, 1))
    one.set("c", (128, 1, 1))
    two.set("b", (256, 1, 1))

    one.save(path)
    two.save(path)

    assert path.read_text() == ('"a" = [128, 1, 1]\n"b" = [256, 1, 1]\n"c" = [128, 1, 1]\n')
    assert dict(two.entries) == dict(TunerCache.load(path).entries)


def test_entries_saved_to_another_file_win_there(tmp_path: Path):
    path, other = written(tmp_path, '"a" = [64, 1, 1]\n'), tmp_path / "other.toml"
    TunerCache({"a": (32, 1, 1), "b": (1, 1, 1)}).save(other)

    TunerCache.load(path).save(other)

    assert other.read_text() == '"a" = [64, 1, 1]\n"b" = [1, 1, 1]\n'


def test_the_entries_used_longest_ago_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The seed's file grows until the crate takes it for a missing one."""
    monkeypatch.setattr(tuner_cache, "MOST_BYTES", 100)  # five lines of 20
    path = written(tmp_path, "".join(f'"{k}" = [100, 1, 100]\n' for k in "abcd"))
    cache = TunerCache.load(path)
    cache.set("e", (100, 1, 100))
    cache.get("a")
    cache.set("f", (100, 1, 100))

    cache.save(path)

    assert list(cache.entries) == ["a", "c", "d", "e", "f"]
    assert dict(TunerCache.load(path).entries) == dict(cache.entries)


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        ((64, 0, 1), "0 is not a whole number from 1 to 4294967295"),
        ((64, 1), "2 sizes; a workgroup has 3"),
        ((64, 1, 2**32), "4294967296 is not a whole number from 1 to 4294967295"),
        ((64, 1, 10**6000), "a number beyond 128 bits is not a whole number from 1 to 4294967295"),
    ],
)
def test_a_size_that_is_no_workgroup_is_refused(size: Dim3, problem: str):
    with pytest.raises(InvalidInput) as caught:
        TunerCache().set("a", size)

    assert str(caught.value) == (f"entry 'a': {problem}\nFix: give three sizes from 1 to 2**32 - 1")


def test_a_key_without_bytes_is_refused():
    with pytest.raises(InvalidInput) as caught:
        TunerCache().set("\ud800", (1, 1, 1))

    assert str(caught.value) == (
        "entry '\\ud800' has a key that UTF-8 cannot hold\nFix: use a key without surrogates"
    )


@given(caches)
def test_a_cache_comes_back_from_its_file(
    tmp_path_factory: pytest.TempPathFactory, cache: TunerCache
):
    path = tmp_path_factory.mktemp("cache") / "cache.toml"

    cache.save(path)

    assert TunerCache.load(path) == cache


@given(caches, caches, caches)
def test_merging_is_the_same_in_any_order_and_any_number_of_times(
    a: TunerCache, b: TunerCache, c: TunerCache
):
    merged = a.merged(b, c)

    assert c.merged(a.merged(b)) == a.merged(c.merged(b)) == merged
    assert merged.merged(merged, b, a) == merged


def test_of_two_sizes_the_one_of_less_threads_is_merged():
    one, two = TunerCache({"a": (1024, 1, 1)}), TunerCache({"a": (64, 2, 1)})

    assert one.merged(two).get("a") == (64, 2, 1)
