"""Merging stores in any order, any number of times, gives the same store."""

from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from vyre.model import Measurement
from vyre.store.base import Kept, Store, merge_into
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database
from vyre.testing.store_contract import START_NS, contents, decision, measurement

kept = st.builds(
    lambda number, choice, stamp, writer, used: Kept(
        decision=decision(number, choice), stamp_ns=stamp, writer=writer, used_ns=START_NS + used
    ),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from("ab"),
    st.integers(0, 3),
)
rows = st.builds(measurement, st.just(1), st.integers(0, 9), st.sampled_from("abc"))
parts = st.lists(st.tuples(st.lists(kept, max_size=4), st.lists(rows, max_size=4)), max_size=4)


def merged(
    stores: list[Store], target: Store, order: list[int]
) -> tuple[frozenset[Kept], frozenset[Measurement]]:
    for place in order:
        merge_into(target, stores[place])
    return contents(target)


@settings(max_examples=25)
@given(parts, st.integers(0, 2**32))
def test_databases_and_memory_agree_on_every_order(
    held: list[tuple[list[Kept], list[Measurement]]], seed: int
):
    rng = Random(seed)
    orders = [[*range(len(held))], [*range(len(held))] * 2]
    for order in orders:
        rng.shuffle(order)
    with TemporaryDirectory() as folder, ExitStack() as open_stores:

        def database(name: str) -> Database:
            path = Path(folder) / f"{name}.sqlite3"
            return open_stores.enter_context(closing(Database(path, writer=name)))

        stores: list[Store] = []
        for number, (decisions, measured) in enumerate(held):
            stores.append(database(f"s{number}") if number % 2 else MemoryStore())
            stores[-1].absorb(decisions, measured)

        found = {
            merged(stores, database("one"), orders[0]),
            merged(stores, database("two"), orders[1]),
            merged(stores, MemoryStore(), orders[1][::-1]),
        }

    assert len(found) == 1


@given(kept, kept, kept)
def test_joining_is_associative_commutative_and_idempotent(a: Kept, b: Kept, c: Kept):
    assert a.joined(a) == a
    if a.decision.workload == b.decision.workload == c.decision.workload:
        assert a.joined(b) == b.joined(a)
        assert a.joined(b).joined(c) == a.joined(b.joined(c))
