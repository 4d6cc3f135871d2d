"""Jobs on the pool: every item exactly once, whoever calls, however many, whatever ends."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vyre.backend.cpu import compiler, pool_ir
from vyre.backend.cpu import pool as pools
from vyre.backend.cpu.target import Target
from vyre.errors import InvalidInput

from .conftest import ADD_ONE

SLOW = """
declare i64 @syscall(i64, ...)
define void @slow(ptr %threads, i64 %first, i64 %last) nounwind {
  %time = alloca { i64, i64 }
  store { i64, i64 } { i64 0, i64 2000000 }, ptr %time
  %r = call i64 (i64, ...) @syscall(i64 35, ptr %time, ptr null)
  %thread = call i64 (i64, ...) @syscall(i64 186)
  %at = getelementptr i64, ptr %threads, i64 %first
  store i64 %thread, ptr %at
  ret void
}
"""
"""Sleeps for 2 ms, then writes which thread it is, by Linux's calls of x86-64."""


def until(condition):
    """Wait for what other threads are about to do; a bound that only a broken pool reaches."""
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.001)


def test_every_item_is_done_exactly_once(make_pool, add_one):
    made = {threads: make_pool(threads) for threads in (1, 2, 3, 8)}

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from([1, 2, 3, 8]), st.integers(0, 5000), st.integers(1, 6000))
    def check(threads, count, grain):
        counts = np.zeros(count + 2, np.int32)
        made[threads].run(add_one, counts[1:].ctypes.data, count, grain)

        assert counts[0] == counts[-1] == 0
        assert (counts[1:-1] == 1).all()

    check()


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(
    ("count", "grain"), [(1000, 7), (1000, 1000), (1000, 2000), (1, 1), (64, 1)]
)
def test_pieces_are_no_longer_than_the_grain_and_no_more_than_needed(
    make_pool, longest, threads, count, grain
):
    record = np.zeros(2, np.int64)

    make_pool(threads).run(longest, record.ctypes.data, count, grain)

    assert list(record) == [min(count, grain), -(-count // grain)]


def test_a_range_near_the_end_of_its_type_is_cut_right(make_pool, longest):
    made = make_pool(2)
    for count, grain, pieces in [((1 << 63) - 1, 1 << 62, 2), (1 << 62, (1 << 62) - 1, 2)]:
        record = np.zeros(2, np.int64)
        made.run(longest, record.ctypes.data, count, grain)

        assert list(record) == [grain, pieces]


@pytest.mark.parametrize(("count", "grain"), [(-1, 1), (1, 0), (5, -3)])
def test_nonsense_is_an_error_that_names_it(make_pool, add_one, count, grain):
    with pytest.raises(InvalidInput) as caught:
        make_pool(2).run(add_one, 0, count, grain)

    assert str(caught.value) == (
        f"a count of {count} in pieces of {grain}\n"
        "Fix: use a count of at least 0 and a grain of at least 1"
    )


@pytest.mark.parametrize("threads", [0, 1025])
def test_so_is_a_number_of_threads_that_cannot_be(make_pool, threads):
    with pytest.raises(InvalidInput, match=f"a pool of {threads} threads"):
        make_pool(threads)


def test_helpers_start_with_the_first_job_of_more_than_one_piece(make_pool, add_one):
    made, counts = make_pool(3), np.zeros(100, np.int32)

    made.run(add_one, counts.ctypes.data, 100, 100)
    assert made.helpers == 0

    made.run(add_one, counts.ctypes.data, 100, 10)
    until(lambda: made.helpers == 2)
    assert (counts == 2).all()


def test_a_prepared_call_says_when_it_was_alone_for_want_of_helpers(make_pool, add_one):
    made, counts = make_pool(2), np.zeros(100, np.int32)
    block = ctypes.create_string_buffer(made.block(add_one, counts.ctypes.data, 100, 10))
    single = ctypes.create_string_buffer(made.block(add_one, counts.ctypes.data, 10, 10))

    assert made.entry(ctypes.addressof(single)) == 0
    assert made.entry(ctypes.addressof(block)) == 1
    made.start()
    assert made.entry(ctypes.addressof(block)) == 0
    assert list(counts[[0, 99]]) == [3, 2]


def test_starting_twice_starts_no_more(make_pool):
    made = make_pool(3)
    made.start()
    made.start()
    until(lambda: made.helpers == 2)

    assert made.helpers == 2


def test_helpers_end_when_asked_to_and_calls_go_on_alone(make_pool, add_one):
    made, counts = make_pool(4), np.zeros(1000, np.int32)
    made.run(add_one, counts.ctypes.data, 1000, 10)
    until(lambda: made.helpers == 3)

    made.close()
    until(lambda: made.helpers == 0)
    made.run(add_one, counts.ctypes.data, 1000, 10)

    assert (counts == 2).all()
    assert made.helpers == 0


@pytest.mark.skipif(sys.platform != "linux", reason="sleeps by Linux's own call")
def test_helpers_take_part(make_pool, objects, host):
    """Pieces sleep, so whoever is woken finds some left, whatever the cores do."""
    if not host.target.is_x86:
        pytest.skip("sleeps by the number of x86-64's call")
    (slow,) = objects.load(SLOW, ["slow"], host)
    made, threads = make_pool(4), np.zeros(400, np.int64)
    made.start()
    until(lambda: made.helpers == 3)

    made.run(slow, threads.ctypes.data, 400, 1)

    assert threads.all()
    assert threading.get_native_id() in threads
    assert len(set(threads)) == 4


def test_64_threads_at_once_each_get_their_own_jobs_done(make_pool, add_one):
    made, wrong = make_pool(3), []

    def caller(seed):
        rng = np.random.default_rng(seed)
        for count, grain in rng.integers(1, 300, (300, 2)):
            counts = np.zeros(count, np.int32)
            made.run(add_one, counts.ctypes.data, int(count), int(grain))
            if not (counts == 1).all():
                wrong.append((seed, count, grain))

    threads = [threading.Thread(target=caller, args=(seed,)) for seed in range(64)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert wrong == []
    assert in_order(made)


def in_order(made):
    """Whether no slot is left taken, and no piece unclaimed."""
    words = np.ctypeslib.as_array(
        (ctypes.c_int64 * (pool_ir.POOL_BYTES // 8)).from_address(made.address)
    )
    slots = words[32:].reshape(pool_ir.SLOTS, -1)
    tickets = slots[:, : 8 * pool_ir.SHARES : 8]
    return words[8] == 0 and not (tickets & 0xFFFFFFFF).any()


def test_a_job_among_more_callers_than_slots_is_done(make_pool, add_one):
    made = make_pool(1024, cores=1024)
    busy = ctypes.c_uint64.from_address(made.address + 64)
    ctypes.c_int32.from_address(made.address + pool_ir.ASKED).value = 1  # but none is there
    counts = np.zeros(1000, np.int32)

    busy.value = (1 << 64) - 1
    made.run(add_one, counts.ctypes.data, 1000, 3)
    busy.value = (1 << 64) - 2
    made.run(add_one, counts.ctypes.data, 1000, 3)

    assert (counts == 2).all()
    assert busy.value == (1 << 64) - 2
    busy.value = 0


def test_callers_that_nobody_helps_are_never_left_waiting(make_pool, add_one):
    """As in a child of a fork that Python does not know of: helpers counted, none alive."""
    made = make_pool(8)
    ctypes.c_int32.from_address(made.address + pool_ir.ASKED).value = 7
    ctypes.c_int32.from_address(made.address + 128).value = 7  # seven of them asleep
    counts = np.zeros(1000, np.int32)

    made.run(add_one, counts.ctypes.data, 1000, 3)

    assert (counts == 1).all()


def test_helpers_have_the_stack_that_tasks_need(make_pool, objects, host):
    text = """
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    define void @deep(ptr %sums, i64 %first, i64 %last) nounwind {
      %room = alloca [1048576 x i8]
      call void @llvm.memset.p0.i64(ptr %room, i8 1, i64 1048576, i1 true)
      %at = getelementptr i8, ptr %room, i64 %first
      %byte = load volatile i8, ptr %at
      %wide = zext i8 %byte to i32
      %old = atomicrmw add ptr %sums, i32 %wide seq_cst
      ret void
    }"""
    (deep,) = objects.load(text, ["deep"], host)
    before = threading.stack_size()
    made, sums = make_pool(4), np.zeros(1, np.int32)

    for _ in range(20):
        made.run(deep, sums.ctypes.data, 50, 1)

    assert sums[0] == 1000
    assert threading.stack_size() == before


def test_where_no_thread_can_be_had_jobs_are_done_alone(make_pool, add_one, monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pools._thread, "start_new_thread", refuse)
    made, counts = make_pool(4), np.zeros(100, np.int32)

    made.run(add_one, counts.ctypes.data, 100, 3)

    assert (counts == 1).all()
    assert made.helpers == 0


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("naps", [False, True])
def test_the_code_is_made_for_every_target(name, naps):
    assert isinstance(
        compiler.compile(pool_ir.text(Target.of(name), naps=naps), Target.of(name)), bytes
    )


@pytest.mark.parametrize(
    ("triple", "needs"),
    [
        ("arm64-apple-darwin", ["__ulock_wait", "__ulock_wake", "sched_yield"]),
        ("x86_64-pc-windows-msvc", ["WaitOnAddress", "WakeByAddressAll", "SwitchToThread"]),
        ("riscv64-unknown-linux-gnu", ["nanosleep", "sched_yield"]),
    ],
)
def test_the_code_for_other_systems_compiles_and_waits_as_they_do(triple, needs):
    target = Target(triple=triple, cpu="", features="")

    made = compiler.compile(pool_ir.text(target), target)

    assert isinstance(made, bytes)
    assert all(name.encode() in made for name in needs)


def test_waiting_by_naps_does_every_item_once(objects, host, add_one):
    """What systems of which nothing is known do, run on this one."""
    loaded = objects.load(pool_ir.text(host.target, naps=True), pool_ir.FUNCTIONS, host)
    made, counts = pools.Pool(loaded, 3, cores=3), np.zeros(1000, np.int32)

    for _ in range(200):
        made.run(add_one, counts.ctypes.data, 1000, 10)
    made.close()
    until(lambda: made.helpers == 0)

    assert (counts == 200).all()


BEGIN = f"""
import ctypes, os, signal, sys, threading, time
from pathlib import Path
import numpy as np
from vyre.backend.cpu import pool
from vyre.backend.cpu.objects import Objects

ADD_ONE = '''{ADD_ONE}'''
kept = Objects(Path(sys.argv[1]))
host = kept.host()
(add_one,) = kept.load(ADD_ONE, ["add_one"], host)
made = pool.opened(kept, host, 3, cores=3)

def right(size=1000, grain=7):
    counts = np.zeros(size, np.int32)
    made.run(add_one, counts.ctypes.data, size, grain)
    return bool((counts == 1).all())

def forever():
    while True:
        right()

def keep_busy(threads=4):
    for _ in range(threads):
        threading.Thread(target=forever, daemon=True).start()

assert right()
"""


def run_script(objects, code, status=0):
    python = [sys.executable, "-W", "ignore::DeprecationWarning", "-c"]
    done = subprocess.run(
        [*python, BEGIN + code, str(objects.folder)], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "",
        "time.sleep(0.3)  # asleep by now",
        "keep_busy(); time.sleep(0.05)",
        "keep_busy(); time.sleep(0.05); os._exit(0)",
        "import atexit; atexit.register(right)",
        "import atexit; fresh = pool.opened(kept, host, 4, cores=4)\n"
        "atexit.register(lambda: fresh.run(add_one, np.zeros(99, np.int32).ctypes.data, 99, 2))",
        "threading.Thread(target=lambda: (right(), sys.exit(0))).start()",
    ],
)
def test_a_process_ends_silently_whatever_its_helpers_do(objects, code):
    run_script(objects, code)


def test_a_status_and_an_exception_come_through(objects):
    run_script(objects, "keep_busy(); sys.exit(3)", status=3)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + "keep_busy(); 1 / 0", str(objects.folder)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert done.stderr.count("Traceback") == 1


fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

FORKS = """
def child():
    '''A fork; the child calls, starts its own helpers, and says whether all was right.'''
    number = os.fork()
    if number == 0:
        ok = right() and all(right(n, 3) for n in range(1, 60))
        while made.helpers < 2:
            time.sleep(0.001)
        os._exit(0 if ok and right() else 1)
    return number

def ended(numbers):
    return [os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in numbers]
"""


@fork
def test_a_forked_child_has_helpers_of_its_own(objects):
    said = run_script(objects, FORKS + "print(ended([child() for _ in range(5)]), right())")

    assert said == "[0, 0, 0, 0, 0] True\n"


@fork
def test_forks_in_the_middle_of_calls_harm_neither_side(objects):
    code = """
keep_busy(6)
codes = []
for _ in range(15):
    codes += ended([child()])
print(codes == [0] * 15, right())
"""
    assert run_script(objects, FORKS + code) == "True True\n"


@fork
def test_a_prepared_call_serves_in_the_child_as_well(objects):
    code = """
counts = np.zeros(100, np.int32)
block = ctypes.create_string_buffer(made.block(add_one, counts.ctypes.data, 100, 9))
made.entry(ctypes.addressof(block))
number = os.fork()
if number == 0:
    alone = made.entry(ctypes.addressof(block))
    made.start()
    again = made.entry(ctypes.addressof(block))
    os._exit(0 if (alone, again) == (1, 0) and (counts == 3).all() else 1)
print(ended([number]), bool((counts == 1).all()))
"""
    assert run_script(objects, FORKS + code) == "[0] True\n"


@fork
def test_a_pool_of_forked_processes_calls(objects):
    code = """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as processes:
        print(processes.map(right, range(1, 40)) == [True] * 39)
"""
    assert run_script(objects, code) == "True\n"


@fork
def test_a_fork_while_another_thread_compiles_leaves_the_child_able_to_compile(objects):
    code = """
from vyre.backend.cpu import compiler
def compile_many():
    for number in range(100000):
        compiler.compile(ADD_ONE.replace("1\\n", f"{number}\\n"), host.target)
threading.Thread(target=compile_many, daemon=True).start()
time.sleep(0.05)
codes = []
for _ in range(5):
    number = os.fork()
    if number == 0:
        os._exit(0 if isinstance(compiler.compile(ADD_ONE, host.target), bytes) else 1)
    codes += ended([number])
print(codes)
"""
    assert run_script(objects, FORKS + code) == "[0, 0, 0, 0, 0]\n"


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="needs a timer")
def test_interrupts_arrive_between_calls_and_leave_everything_in_order(objects):
    code = """
import random
rng = random.Random(3)
seen = wrong = 0
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
while seen < 300:
    counts = np.zeros(5000, np.int32)
    address = counts.ctypes.data
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-4))
        for _ in range(50):
            made.run(add_one, address, 5000, 50)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        seen += 1
        wrong += counts.min() != counts.max()  # a call is done whole or not at all
print(seen, wrong, right())
"""
    assert run_script(objects, code) == "300 0 True\n"
