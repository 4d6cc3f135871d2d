"""What every store must do: a test class to inherit from, with the store's own maker.

class TestMine(StoreContract):
    def make(self, folder, now_ns):
        return Mine(folder / "mine", now_ns)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest

from vyre.model import (
    STRUCTURE,
    Code,
    Config,
    Decision,
    Failed,
    Knobs,
    Measurement,
    Order,
    Outcome,
    Reason,
    Schedule,
    Setting,
    Summary,
    Timed,
    Workload,
)
from vyre.store.base import DAY_NS, Bounds, Kept, Pruned, Store, merge_into
from vyre.store.memory import MemoryStore

START_NS = 1_800_000_000_000_000_000
CLOCKS = ("about 2048 MHz", "about 1024 MHz, throttled", "", "")

_SETTINGS: tuple[dict[str, Setting], ...] = (
    {"BLOCK": 256, "num_warps": 4, "fast": True, "alpha": 0.1},
    {},
    {"n": 1},
    {"n": 1.0},
    {"n": True},
    {"n": "1"},
    {"": ""},
    {"large": 2**62, "small": -(2**62), "tiny": 5e-324, "huge": 1.7e308, "zero": -0.0},
    {"'; DROP TABLE decisions; --": '"', "\\": "\\u0000", "{}": "[]", "null": "null"},
    {"\0\x1b]0;owned\x07": "\r\n\u2028\x7f\x9b", "\u202e\ufeff": "\U0001f600e\u0301"},
    {"knobs": 1, "workgroup": 2, "default": 3, "unfinished_s": 4.0},
    {"long": "\U0001f600" * 1000},
)
KNOBS = tuple(map(Knobs.of, _SETTINGS))
"""Configs of what Vyre did not write, with whatever names and settings its author likes."""


def workload(number: int) -> Workload:
    """One of many workloads, none of whose fields is at its simplest."""
    return Workload(
        fingerprint=number.to_bytes(32, "little"),
        buckets=(number % 40, 7),
        traits=("aligned", "größe, 16"),
        device=f"device {number % 3}",
        toolchain="toolchain",
    )


def schedule(number: int) -> Schedule:
    """One of a few schedules."""
    code = Code(
        items=1 + number % 4,
        vector=1 + number % 2,
        unroll=1 + number % 3,
        order=Order.BLOCKED if number % 2 else Order.STRIDED,
        checked=number % 5 != 0,
        rows=1 << number % 3,
        staged=number % 4 == 1,
        lines=1 + number % 3,
        planes=1 + number % 2,
        depth=8 * (number % 2),
        loaders=number % 2,
    )
    return Schedule((32 << number % 6, 1, 1), code)


def decision(number: int, choice: int = 0) -> Decision:
    """A decision for `workload(number)`."""
    return Decision(
        workload=workload(number),
        config=schedule(choice),
        reason=Reason.ADOPTED,
        detail=f"choice {choice}",
        gain=1.25,
        confidence=0.99,
        default=schedule(choice + 1) if choice % 2 else None,
        unfinished_s=choice / 2 if choice % 3 else None,
    )


def measurement(number: int, sequence: int, writer: str = "a", *, age_ns: int = 0) -> Measurement:
    """A row for `workload(number)`; every seventh failed, others have clocks or do not tell."""
    outcome: Outcome = Timed(schedule(sequence % 3), 100.0 + sequence, clock=CLOCKS[sequence % 4])
    if sequence % 7 == 6:
        outcome = Failed(schedule(sequence % 3), "device lost")
    return Measurement(
        writer=writer,
        sequence=sequence,
        workload=workload(number),
        outcome=outcome,
        size=1000 + sequence,
        at_ns=START_NS - age_ns + sequence,
    )


def contents(store: Store) -> tuple[frozenset[Kept], frozenset[Measurement]]:
    """Everything a store holds."""
    return frozenset(store.kept()), frozenset(store.measurements())


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.ns = START_NS

    def __call__(self) -> int:
        return self.ns


class StoreContract:
    """Holds for any store that `make` opens in an empty folder."""

    def make(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        """Make the store under test, empty."""
        raise NotImplementedError

    def rewrite(self, folder: Path, change: Callable[[str], str]) -> bool:  # noqa: ARG002  # for those that do
        """Change the JSON of every config that the store of a folder keeps.

        Whether it keeps any: another version of this program may have written it.
        """
        return False

    @pytest.fixture(autouse=True)
    def _close_what_was_opened(self) -> Iterator[None]:
        self._opened: list[Store] = []
        yield
        for store in self._opened:
            store.close()

    def open(self, folder: Path, now_ns: Callable[[], int]) -> Store:
        """Make a store that is closed when the test ends."""
        self._opened.append(self.make(folder, now_ns))
        return self._opened[-1]

    def test_it_gives_back_the_decision_it_was_given(self, tmp_path: Path) -> None:
        """Every field, and nothing for another workload."""
        store = self.open(tmp_path, Clock())
        store.put(decision(1), decision(2, 3))

        assert store.get(workload(1)) == decision(1)
        assert store.get(workload(2)) == decision(2, 3)
        assert store.get(workload(3)) is None

    def test_the_last_decision_put_holds_even_if_the_clock_goes_back(self, tmp_path: Path) -> None:
        """A clock is set back by daylight, users and time servers."""
        clock = Clock()
        store = self.open(tmp_path, clock)
        store.put(decision(1, 1))
        clock.ns -= DAY_NS
        store.put(decision(1, 2))

        assert store.get(workload(1)) == decision(1, 2)

    def test_it_finds_decisions_of_the_same_and_of_lookalike_programs(self, tmp_path: Path) -> None:
        """On the same device with the same toolchain, and never its own."""
        store = self.open(tmp_path, Clock())
        asked = replace(workload(1), traits=(f"{STRUCTURE}abc", "checked"))
        another_size = replace(asked, buckets=(7, 7))
        lookalike = replace(asked, fingerprint=b"another")
        others = (
            replace(another_size, device="another"),
            replace(another_size, toolchain="another"),
            replace(lookalike, traits=(f"{STRUCTURE}abx",)),
        )
        for of in (asked, another_size, lookalike, *others):
            store.put(replace(decision(1), workload=of))

        found = store.related(asked)

        assert {one.workload for one in found} == {another_size, lookalike}
        assert all(one == replace(decision(1), workload=one.workload) for one in found)

    def test_it_gives_back_the_rows_it_was_given_each_once(self, tmp_path: Path) -> None:
        """A row that is appended again is the same row."""
        store = self.open(tmp_path, Clock())
        rows = [measurement(number, sequence) for sequence, number in enumerate([1, 2, 1, 1] * 4)]
        store.append(rows)
        store.append(rows[3:9])

        assert frozenset(store.measurements()) == frozenset(rows)
        ours = [row for row in rows if row.workload == workload(1)]
        assert sorted(store.measurements(workload(1)), key=lambda row: row.sequence) == ours

    def test_summaries_say_what_the_rows_say(self, tmp_path: Path) -> None:
        """Count, median and spread of the times, when, and why others failed."""
        store = self.open(tmp_path, Clock())
        outcomes: list[Outcome] = [Timed(schedule(1), time) for time in (5.0, 9.0, 6.0)]
        outcomes += [Failed(schedule(1), "lost")] * 2 + [Failed(schedule(2), "no")]
        store.append(
            Measurement(
                writer="a",
                sequence=sequence,
                workload=workload(1),
                outcome=outcome,
                size=1,
                at_ns=10 + sequence,
            )
            for sequence, outcome in enumerate(outcomes)
        )

        said = {summary.config: summary for summary in store.summaries(workload(1))}

        assert said == {
            schedule(1): Summary(
                config=schedule(1),
                count=3,
                median_ns=6.0,
                spread_ns=1.4826,
                first_at_ns=10,
                last_at_ns=14,
                failures=("lost",),
            ),
            schedule(2): Summary(
                config=schedule(2),
                count=0,
                median_ns=None,
                spread_ns=None,
                first_at_ns=15,
                last_at_ns=15,
                failures=("no",),
            ),
        }
        assert store.summaries(workload(2)) == ()

    def test_absorbing_in_any_order_any_number_of_times_is_the_same(self, tmp_path: Path) -> None:
        """Of two decisions the later stamp counts, whoever comes first."""
        kept = [
            Kept(
                decision=decision(number, choice),
                stamp_ns=stamp,
                writer=writer,
                used_ns=START_NS + stamp,
            )
            for number in range(3)
            for stamp, writer, choice in [(1, "a", 1), (2, "a", 2), (2, "b", 3), (2, "b", 4)]
        ]
        rows = [measurement(n, s, w) for n in range(2) for s in range(3) for w in (f"a{n}", "b")]
        found = set()
        for seed in range(4):
            folder = tmp_path / str(seed)
            folder.mkdir()
            store, rng = self.open(folder, Clock()), Random(seed)
            for _ in range(3):
                rng.shuffle(kept)
                store.absorb(kept, rows[:6])
                store.absorb((), reversed(rows[4:]))
            found.add(frozenset(store.kept()))
            assert store.get(workload(1)) == decision(1, 4)
            store.close()

        assert len(found) == 1

    def test_a_store_merged_into_another_gives_it_everything(self, tmp_path: Path) -> None:
        """And itself, nothing new."""
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        clock = Clock()
        one, two = self.open(tmp_path / "one", clock), self.open(tmp_path / "two", clock)
        one.put(decision(1, 1), decision(2, 1))
        one.append([measurement(1, 1, "one")])
        clock.ns += 1
        two.put(decision(2, 2), decision(3, 2))
        two.append([measurement(1, 1, "two")])

        merge_into(one, two)
        merge_into(two, one)
        merge_into(two, one)

        assert contents(one) == contents(two)
        assert [one.get(workload(n)) for n in (1, 2, 3)] == [
            decision(1, 1),
            decision(2, 2),
            decision(3, 2),
        ]

    def test_it_keeps_names_and_the_last_one_given_holds(self, tmp_path: Path) -> None:
        """Names are for people; whoever gives one means it."""
        store = self.open(tmp_path, Clock())
        store.name({"ab": "saxpy", "cd": "Acme G1"})
        store.name({"ab": "axpy"})
        store.name({})

        assert store.names() == {"ab": "axpy", "cd": "Acme G1"}

    def test_merging_brings_names_and_keeps_those_that_are_there(self, tmp_path: Path) -> None:
        """Another's name for what we have named changes nothing here."""
        mine, other = self.open(tmp_path / "mine", Clock()), MemoryStore()
        mine.name({"ab": "mine"})
        other.name({"ab": "theirs", "cd": "new"})

        merge_into(mine, other)

        assert mine.names() == {"ab": "mine", "cd": "new"}

    def test_pruning_removes_what_is_old(self, tmp_path: Path) -> None:
        """Rows by their time, decisions by their last use."""
        clock = Clock()
        store = self.open(tmp_path, clock)
        store.append([measurement(1, 0, age_ns=10 * DAY_NS), measurement(1, 1)])
        store.put(decision(1), decision(2))
        clock.ns += 10 * DAY_NS
        store.used([workload(2)])

        pruned = store.prune(Bounds(age_ns=5 * DAY_NS))

        assert pruned == Pruned(decisions=1, measurements=2)
        assert store.get(workload(1)) is None
        assert store.get(workload(2)) == decision(2)

    def test_pruning_keeps_what_was_used_last(self, tmp_path: Path) -> None:
        """The bound on entries takes the longest unused."""
        clock = Clock()
        store = self.open(tmp_path, clock)
        for number in range(10):
            store.put(decision(number))
            clock.ns += 2 * DAY_NS
        store.used([workload(0), workload(3)])
        store.append(measurement(1, sequence) for sequence in range(20))

        pruned = store.prune(Bounds(decisions=4, measurements=5))

        assert pruned == Pruned(decisions=6, measurements=15)
        left = {number for number in range(10) if store.get(workload(number))}
        assert left == {0, 3, 8, 9}
        assert sorted(row.sequence for row in store.measurements()) == [15, 16, 17, 18, 19]

    def test_pruning_keeps_within_bytes(self, tmp_path: Path) -> None:
        """Until it fits, or nothing is left."""
        store = self.open(tmp_path, Clock())
        store.append(measurement(s % 50, s) for s in range(2000))
        store.put(*(decision(number) for number in range(50)))

        store.prune(Bounds(size_bytes=200_000))

        assert 0 < len(list(store.measurements())) < 2000
        assert len(list(store.kept())) == 50

    def test_numbers_that_do_not_compare_are_kept_as_none(self, tmp_path: Path) -> None:
        """Two stores could not agree on them, and a report could not add them up."""
        store = self.open(tmp_path, Clock())
        for gain in (nan, inf, -inf, 0.0, -1.0, 1e300):
            store.put(replace(decision(1), gain=gain, confidence=gain))

            found = store.get(workload(1))
            assert found is not None
            assert found.gain is None
            assert found.confidence == (0.0 if gain == 0.0 else None)

    def test_knobs_come_back_as_they_were_given(self, tmp_path: Path) -> None:
        """Chosen, as a default, and measured, whatever their names and settings are."""
        store = self.open(tmp_path, Clock())
        made = [
            replace(decision(number), config=knobs, default=KNOBS[number - 1])
            for number, knobs in enumerate(KNOBS)
        ]
        rows = [
            replace(measurement(number, number), outcome=outcome)
            for number, outcome in enumerate(
                outcome for knobs in KNOBS for outcome in (Timed(knobs, 5.0), Failed(knobs, "no"))
            )
        ]
        store.put(*made)
        store.append(rows)

        assert [store.get(one.workload) for one in made] == made
        assert {kept.decision for kept in store.kept()} == set(made)
        assert set(store.measurements()) == set(rows)
        assert [
            exactly(row.outcome.config) for row in sorted(store.measurements(), key=_place)
        ] == [exactly(row.outcome.config) for row in rows]

    def test_a_number_a_fraction_and_a_truth_stay_apart(self, tmp_path: Path) -> None:
        """Python takes 1, 1.0 and True for the same; a kernel's author does not."""
        store = self.open(tmp_path, Clock())
        alike = [Knobs.of({"n": setting}) for setting in (1, 1.0, True, "1")]
        store.append(
            replace(measurement(1, place), outcome=Timed(knobs, 1.0 + place), size=1)
            for place, knobs in enumerate(alike)
        )

        said = {summary.config: summary.median_ns for summary in store.summaries(workload(1))}

        assert said == {knobs: 1.0 + place for place, knobs in enumerate(alike)}
        assert {exactly(knobs) for knobs in said} == set(map(exactly, alike))

    def test_knobs_merge_like_any_other_config(self, tmp_path: Path) -> None:
        """The later decision holds; of two at once, the same one in either order."""
        found = set()
        for order in (1, -1):
            folder = tmp_path / str(order)
            folder.mkdir()
            store = self.open(folder, Clock())
            configs: list[Config] = [*KNOBS, schedule(1)]
            for config in configs[::order]:
                of = replace(decision(1), config=config)
                store.absorb([Kept(decision=of, stamp_ns=7, writer="a", used_ns=7)], ())
            kept = store.get(workload(1))
            assert kept is not None
            found.add(exactly(kept.config))

        assert len(found) == 1

    def test_a_config_of_a_newer_version_is_left_out(self, tmp_path: Path) -> None:
        """What an unknown field changes cannot be guessed; rows beside it stand."""
        store = self.open(tmp_path, Clock())
        store.put(decision(1), decision(2, 1))
        store.append([measurement(1, 0), measurement(1, 1)])

        def newer(text: str) -> str:
            value = json.loads(text)
            return json.dumps({**value, "tiles": 2} if value["items"] == 1 else value)

        if not self.rewrite(tmp_path, newer):
            pytest.skip("it keeps values, not text")

        assert store.get(workload(1)) is None
        assert store.get(workload(2)) == decision(2, 1)
        assert list(store.measurements()) == [measurement(1, 1)]

    def test_a_field_that_an_older_version_did_not_have_is_at_its_default(
        self, tmp_path: Path
    ) -> None:
        """A decision outlives the version that made it."""
        store = self.open(tmp_path, Clock())
        chosen = Schedule((64, 1, 1), Code(items=4, vector=2, unroll=8, checked=False))
        store.put(replace(decision(1), config=chosen))
        store.append([replace(measurement(1, 1), outcome=Timed(chosen, 5.0))])

        def older(text: str) -> str:
            value: dict[str, Any] = json.loads(text)
            return json.dumps({k: v for k, v in value.items() if k not in ("unroll", "checked")})

        if not self.rewrite(tmp_path, older):
            pytest.skip("it keeps values, not text")

        plain = Schedule((64, 1, 1), Code(items=4, vector=2))
        assert store.get(workload(1)) == replace(decision(1), config=plain)
        assert [row.outcome for row in store.measurements()] == [Timed(plain, 5.0)]


def exactly(config: Config) -> str:
    """A config by the types of its settings, too; a zero of either sign is one."""
    return repr(config).replace("-0.0", "0.0")


def _place(row: Measurement) -> int:
    return row.sequence
