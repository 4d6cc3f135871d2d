"""How a choice came about is kept beside it, in stores of every version."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest

from vyre.model import Reason
from vyre.store.sqlite.database import Database
from vyre.store.sqlite.tables import DECISIONS, seal
from vyre.testing.store_contract import decision, schedule, workload

DEFAULT = replace(
    decision(1), reason=Reason.DEFAULT, gain=None, confidence=None, default=schedule(0)
)


def change(path: Path, column: str, text: str) -> None:
    """Write another text into the one decision, and seal it as whoever writes to the file can."""
    with closing(sqlite3.connect(path)) as connection:
        columns = ", ".join(DECISIONS.columns)
        row = list(connection.execute(f"SELECT {columns} FROM decisions").fetchone())
        row[DECISIONS.columns.index(column)] = text
        connection.execute(
            f"UPDATE decisions SET {column} = ?, seal = ?", (text, seal("decisions", row))
        )
        connection.commit()


def found(path: Path):
    with closing(Database(path, writer="reader")) as store:
        return store.get(workload(1))


def put(path: Path, made) -> None:
    with closing(Database(path, writer="me")) as store:
        store.put(made)


@pytest.mark.parametrize("unfinished_s", [None, 0.0, 4.0])
@pytest.mark.parametrize("default", [None, schedule(3)])
def test_the_next_process_knows_how_thoroughly_it_was_looked_for(path, unfinished_s, default):
    made = replace(DEFAULT, unfinished_s=unfinished_s, default=default)

    put(path, made)

    assert found(path) == made


def test_a_choice_that_says_nothing_more_is_kept_as_ever(path):
    """Older versions read it, and what they wrote is read."""
    put(path, replace(decision(1), default=None, unfinished_s=None))

    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT schedule FROM decisions").fetchone()

    assert text == (
        '{"workgroup":[32,1,1],"items":1,"vector":1,"unroll":1,"order":"strided","checked":false}'
    )


def test_what_an_older_version_cut_short_was_given_no_time(path):
    put(path, replace(DEFAULT, default=None))
    change(path, "detail", "nothing was faster with 99% confidence within the budget")

    assert found(path).unfinished_s == 0.0


@pytest.mark.parametrize("value", ["nan", "-1.0", "Infinity", '"4"', "true", "[]", "10", "1e999"])
def test_a_time_that_is_none_makes_no_sense(path, value):
    put(path, DEFAULT)
    plain = '{"workgroup":[32,1,1],"items":1,"vector":1,"unroll":1,"order":"strided","checked":true'
    change(path, "schedule", f'{plain},"unfinished_s":{value}}}')

    assert found(path) is None


@pytest.mark.parametrize("value", ["3", "{}", '"default"', '{"workgroup":[0,0,0]}'])
def test_a_default_that_is_none_makes_no_sense(path, value):
    put(path, DEFAULT)
    plain = '{"workgroup":[32,1,1],"items":1,"vector":1,"unroll":1,"order":"strided","checked":true'
    change(path, "schedule", f'{plain},"default":{value}}}')

    assert found(path) is None


@pytest.mark.parametrize("unfinished_s", [nan, inf])
def test_a_time_without_a_number_is_not_kept(path, unfinished_s):
    put(path, replace(DEFAULT, unfinished_s=unfinished_s))

    assert found(path).unfinished_s is None
