"""`vyre store` and `vyre report` through their real entry point."""

import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import vyre
from vyre import kernels
from vyre.model import Schedule
from vyre.store.exchange.imported import imported_choice
from vyre.store.keys import (
    StaticProgramShape,
    TunerProgramKey,
    adapter_file_stem,
    launch_feedback_key,
)
from vyre.store.sqlite.database import Database

COMMAND = Path(sys.executable).with_name("vyre")


def test_path_is_where_the_store_is(run, inside, tmp_path):
    shown, value = run("store", "path"), json.loads(inside("store", "path", "--json").stdout)

    assert shown.stdout == f"{tmp_path / 'cache' / 'store.sqlite3'}\n"
    assert value["folder"] == str(tmp_path / "cache")


def test_an_empty_store_says_how_to_fill_it(inside):
    shown = inside("store", "list")

    assert shown.returncode == 0
    assert (
        shown.stdout
        == "nothing is remembered yet; vyre tune, or calls of kernels, fill the store\n"
    )


@pytest.mark.usefixtures("filled")
def test_list_shows_each_decision_by_name(run, inside):
    shown = run("store", "list", columns=60)
    value = json.loads(inside("store", "list", "--json").stdout)

    assert "Acme G1" in shown.stdout
    (row,) = [line for line in shown.stdout.splitlines() if "blur" in line]
    assert row.split()[1:4] == ["blur", "2^20", "3.00x"]
    assert max(map(len, shown.stdout.splitlines())) <= 60
    assert [one["kernel"] for one in value] == ["blur"]
    assert value[0]["schedule"]["items"] == 4


@pytest.mark.usefixtures("filled")
def test_show_gives_a_decision_whole_by_key_or_name(run, inside):
    key = json.loads(inside("store", "list", "--json").stdout)[0]["workload"]["key"]
    by_name, by_key = run("store", "show", "blur"), inside("store", "show", key[:6])

    assert by_name.stdout == by_key.stdout
    assert "  toolchain  acme, 1.2, cc 3\n" in by_name.stdout
    assert "  3.00 µs       4 timings  256, 4 items strided, vectors of 4\n" in by_name.stdout
    assert "  failed     1024: out of registers\n" in by_name.stdout
    assert "decided    2023-11-14 22:13 UTC by ada-1" in by_name.stdout


@pytest.mark.usefixtures("filled")
def test_show_of_what_is_not_there_is_a_mistake(inside):
    shown = inside("store", "show", "zebra")

    assert (shown.returncode, shown.stdout) == (1, "")
    assert shown.stderr == (
        "error: nothing is remembered under 'zebra'\n"
        'Fix: take a key that "vyre store list" prints\n'
    )


def test_check_finds_damage_and_repair_mends_it(run, inside, filled):
    sound = inside("store", "check")
    data = bytearray(filled.read_bytes())
    data[0:16] = b"not a database.."
    filled.write_bytes(bytes(data))
    damaged = run("store", "check")
    repaired = run("store", "repair")
    after = inside("store", "check", "--json")

    assert sound.returncode == 0
    assert f"{filled}: sound, 1 decisions, 9 measurements" in sound.stdout
    assert damaged.returncode == 1
    assert damaged.stdout == (
        f"{filled}: damaged\n"
        'Fix: run "vyre store repair"; what can be read is kept, and the file is set aside\n'
    )
    assert repaired.returncode == 0, repaired.stderr
    assert "repaired; now sound, 1 decisions, 9 measurements" in repaired.stdout
    assert json.loads(after.stdout)[0]["decisions"] == 1


def test_a_database_of_another_program_is_never_repaired(inside, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    code = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE t(x)')"
    subprocess.run([sys.executable, "-c", code, str(folder / "store.sqlite3")], check=True)

    shown = inside("store", "repair")

    assert "is a database of another program; left as it is" in shown.stdout
    assert [path.name for path in folder.iterdir() if "damaged" in path.name] == []


def test_merge_takes_in_another_store_with_its_names(run, inside, filled, tmp_path, fill_store):
    from_ada = fill_store(tmp_path / "ada", workload=_other(filled), name="sharpen")

    first, second = run("store", "merge", str(from_ada)), inside("store", "merge", str(from_ada))

    assert first.stdout == "added 1 decisions and 0 measurements\n"  # the rows have one identity
    assert second.stdout == "added 0 decisions and 0 measurements\n"
    names = {one["kernel"] for one in json.loads(inside("store", "list", "--json").stdout)}
    assert names == {"blur", "sharpen"}


def _other(filled):
    store = Database(filled, writer="x")
    (kept,) = store.kept()
    store.close()
    return replace(kept.decision.workload, fingerprint=bytes(32))


@pytest.mark.usefixtures("filled")
def test_export_and_import_carry_decisions_as_text(run, inside, tmp_path):
    there = tmp_path / "elsewhere"

    written = run("store", "export", "choices.toml")
    taken = run("store", "import", "choices.toml", cache=there)
    again = inside("store", "import", "choices.toml", cache=there)

    assert written.stdout == "wrote 1 decisions to choices.toml\n"
    assert taken.stdout == "added 1 decisions and 0 measurements\n"
    assert again.stdout == "added 0 decisions and 0 measurements\n"
    (kept,) = json.loads(inside("store", "list", "--json", cache=there).stdout)
    assert kept["schedule"]["text"] == "256, 4 items strided, vectors of 4"


PROGRAM, COUNT = kernels.saxpy.program, 4096


def found_here(folder: Path) -> Schedule | None:
    """What the store in a folder holds from the Rust crate for a program on the default device."""
    with closing(Database(folder / "store.sqlite3", writer="reader")) as store:
        return imported_choice(store.get, PROGRAM, COUNT, vyre.open().info)


def tuner_line(width: int) -> str:
    key = TunerProgramKey.from_program(PROGRAM, StaticProgramShape.of(PROGRAM))
    return f'"{key}" = [{width}, 1, 1]\n'


def test_a_tuner_cache_of_the_crate_is_taken_in_for_the_device_that_is_here(inside, tmp_path):
    (tmp_path / "my-card.toml").write_text(tuner_line(128) + '"odd" = [64, 1]\n')

    taken = inside("store", "import", "my-card.toml")

    assert taken.stdout == (
        "added 1 decisions and 0 measurements\n"
        'left out line 2, "odd" = [64, 1]: 2 sizes; a workgroup has 3\n'
    ), taken.stderr
    assert found_here(tmp_path / "cache") == Schedule((128, 1, 1))
    assert vyre.open().info.model.split()[0] in inside("store", "list").stdout


def test_a_launch_file_of_the_crate_keeps_the_name_that_it_has(inside, tmp_path):
    info = vyre.open().info
    key = launch_feedback_key(PROGRAM.fingerprint(), PROGRAM.workgroup_size, COUNT, info.limits)
    name = f"{adapter_file_stem(info.backend, info.limits)}.toml"
    (tmp_path / name).write_text(f'"{key}" = [32, 1, 1]\n')

    taken = inside("store", "import", name)

    assert taken.stdout == "added 1 decisions and 0 measurements\n"
    assert found_here(tmp_path / "cache") == Schedule((32, 1, 1))


def test_an_adapter_can_be_named_and_one_that_is_not_here_is_said_to_be(inside, tmp_path):
    (tmp_path / "a.toml").write_text(tuner_line(64))

    foreign = inside("store", "import", "a.toml", "--adapter", "sm120")
    before = found_here(tmp_path / "cache")
    own = inside("store", "import", "a.toml", "--adapter", vyre.open().info.model)

    assert foreign.stdout == (
        "added 1 decisions and 0 measurements\n"
        'no device here is "sm120": they are kept for the one that is\n'
    )
    assert before is None
    assert own.stdout == "added 1 decisions and 0 measurements\n"
    assert found_here(tmp_path / "cache") == Schedule((64, 1, 1))


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["store", "merge", "a.toml"], 'run "vyre store import a.toml" for a file of choices'),
        (["store", "import", "cache/store.sqlite3"], 'run "vyre store merge cache/store.sqlite3"'),
        (["store", "import", "none.toml"], "give the path of a TOML file"),
        (["store", "merge", "none"], "give the path of a store's database"),
    ],
    ids=str,
)
def test_a_file_of_the_wrong_kind_says_what_to_do(inside, tmp_path, words, fix):
    (tmp_path / "a.toml").write_text("schema = 2\n")

    shown = inside(*words)

    assert shown.returncode == 1
    assert shown.stderr.endswith(f"\nFix: {fix}\n")


@pytest.mark.usefixtures("filled")
def test_prune_forgets_what_is_old(run, inside):
    kept, pruned = inside("store", "prune", "--older-than", "36500d"), run("store", "prune")

    assert kept.stdout == "removed 0 decisions and 0 measurements\n"
    assert pruned.stdout == "removed 1 decisions and 9 measurements\n"


@pytest.mark.usefixtures("filled")
def test_report_writes_one_page_and_says_what_is_in_it(run, inside, tmp_path):
    shown = run("report", "-o", "out.html")
    value = json.loads(inside("report", "--json").stdout)

    assert shown.stdout == "wrote out.html: 1 workloads, 8 timings\n"
    page = (tmp_path / "out.html").read_text()
    assert "<h3>blur" in page
    assert value["cases"][0]["kernel"] == "blur"


def test_a_full_disk_leaves_no_half_a_page_and_no_traceback(filled, tmp_path):
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    shown = subprocess.run(
        [str(COMMAND), "report", "-o", "out.html"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        preexec_fn=small,
        # Truncated bytecode would be left for everybody else.
        env={"VYRE_CACHE_DIR": str(filled.parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert shown.returncode == 1
    assert shown.stderr == (
        "error: out.html cannot be written: File too large\n"
        "Fix: make room and give write permission there, or name another folder; that of the "
        "store is VYRE_CACHE_DIR\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


HOSTILE = "[red]x[/red] [link=file:///etc/passwd]y[/link]\x1b]0;owned\x07\x1b[2J\u202e"


@pytest.mark.parametrize(
    "words",
    [
        ["store", "list"],
        ["store", "list", "--json"],
        ["store", "show", "HOSTILE"],
        ["store", "show", "HOSTILE", "--json"],
        ["store", "check"],
        ["report", "--json"],
        ["report", "-o", "-"],
    ],
    ids=" ".join,
)
def test_a_name_is_no_markup_and_commands_no_terminal(run, tmp_path, fill_store, words):
    fill_store(tmp_path / "cache", name=HOSTILE)

    shown = run(*[HOSTILE if word == "HOSTILE" else word for word in words], FORCE_COLOR="1")

    assert shown.returncode == 0, shown.stderr
    for command in ("\x1b]", "\x1b[2J", "\x07", "\x1b[31m", "\u202e", "\x1b]8;"):
        assert command not in shown.stdout + shown.stderr
    if "check" not in words:
        assert "[red]x[/red]" in shown.stdout


def test_rows_that_make_no_sense_are_left_out_and_said_once(run, filled, inside):
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("UPDATE measurements SET size = 7 WHERE sequence < 3")
        connection.commit()

    shown, checked = run("store", "show", "blur"), run("store", "check")
    repaired, after = run("store", "repair"), inside("store", "check")

    assert shown.returncode == 0
    assert "  9.00 µs       1 timings  64\n" in shown.stdout
    assert shown.stderr == (
        f"note: {filled} holds rows that are damaged or make no sense; they are left out\n"
        'Fix: run "vyre store check", which says what to do\n'
    )
    assert (checked.returncode, checked.stdout.partition("\n")[0]) == (1, f"{filled}: damaged")
    assert "repaired; now sound, 1 decisions, 6 measurements" in repaired.stdout
    assert after.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_damaged_file_of_another_user_is_left_to_them(inside, filled):
    theirs = filled.with_name("store.user-40001.sqlite3")
    theirs.write_bytes(b"not a database" * 999)
    os.chown(theirs, 40_001, 40_001)

    checked, repaired = inside("store", "check"), inside("store", "repair")

    assert checked.returncode == 1
    assert checked.stdout.endswith(
        f"{theirs}: damaged\n"
        'Fix: ask user 40001, who writes it, to run "vyre store repair"; '
        "what can be read is kept, and the file is set aside\n"
    )
    assert f"{theirs}: damaged; left as it is\n" in repaired.stdout
    assert theirs.read_bytes() == b"not a database" * 999


@pytest.mark.parametrize(
    "words",
    [
        ["report", "-o", "LOOP"],
        ["report", "-o", "PIPE"],
        ["report", "-o", "LONG"],
        ["report", "-o", "FOLDER"],
        ["store", "export", "LOOP"],
        ["store", "export", "PIPE"],
        ["store", "export", "LONG"],
        ["store", "import", "LOOP"],
        ["store", "import", "PIPE"],
        ["store", "import", "LONG"],
        ["store", "merge", "LOOP"],
        ["store", "merge", "PIPE"],
        ["store", "merge", "LONG"],
        ["store", "merge", "FOLDER"],
        ["scan", "-f", "LONG", "x"],
        ["explain", "LONG.py"],
        ["tune", "FOLDER.py"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("filled")
def test_a_place_that_cannot_be_used_is_a_mistake_without_a_traceback(inside, tmp_path, words):
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.py").mkdir()
    places = {"LOOP": "loop", "PIPE": "pipe", "LONG": "x" * 300, "FOLDER": "folder"}
    given = [
        word.replace(name, place)
        for word in words
        for name, place in [next(((n, p) for n, p in places.items() if n in word), ("", ""))]
    ]

    shown = inside(*given)

    assert shown.returncode in (1, 2), shown
    assert shown.stderr.startswith("error: ")
    assert "\nFix: " in shown.stderr


def test_what_a_command_wrote_is_in_the_file_that_is_sent(run, tmp_path):
    """Whoever copies it copies no log that stands beside it."""
    tuned = run("tune", "saxpy", "--size", "4000", "--budget", "30s")

    assert tuned.returncode == 0, tuned.stderr
    files = {path.name for path in (tmp_path / "cache").glob("store*")}
    assert files == {"store.sqlite3", "store.sqlite3.lock"}


@pytest.mark.usefixtures("filled")
def test_no_age_is_too_great_to_prune_by(inside):
    shown = inside("store", "prune", "--older-than", "99999999999999999999d")

    assert shown.returncode == 0, shown.stderr
