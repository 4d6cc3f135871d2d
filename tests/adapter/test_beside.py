"""Work beside the calls: its thread, its processes, and forks of whoever asked for it."""

import os
import threading
import warnings

import pytest

import vyre
from vyre.adapter import beside, server
from vyre.adapter.beside import Aside
from vyre.adapter.kind import Job
from vyre.runtime.compile.worker import Refused

LONGEST_S = 600


def test_what_is_made_on_the_thread_is_said_to_be_over():
    aside, told = Aside(), threading.Event()
    made = []

    pending = aside.submit(lambda: made.append(threading.current_thread().name), told.set)

    assert not isinstance(pending.wait(LONGEST_S), Refused)
    assert told.wait(LONGEST_S)
    assert made == ["vyre-making"]


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (vyre.DeviceFailed("out of registers", "take fewer"), "out of registers"),
        (RuntimeError("no"), "RuntimeError: no"),
    ],
)
def test_what_fails_there_is_refused_and_the_thread_goes_on(raised, reason):
    def fail():
        raise raised

    aside, ran = Aside(), []

    assert aside.submit(fail, lambda: None).wait(LONGEST_S) == Refused(reason)
    assert aside.submit(lambda: ran.append(1), lambda: None).wait(LONGEST_S)
    assert ran == [1]


def test_what_nobody_wants_any_more_is_not_made():
    aside, going, ran = Aside(), threading.Event(), []
    aside.submit(lambda: going.wait(LONGEST_S), lambda: None)
    unwanted = aside.submit(lambda: ran.append("unwanted"), lambda: None)
    last = aside.submit(lambda: ran.append("last"), lambda: None)

    unwanted.cancel()
    going.set()

    assert last.wait(LONGEST_S)
    assert ran == ["last"]


def test_where_no_thread_can_be_started_it_is_refused_and_tried_again_later(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    aside, ran = Aside(), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        refused = aside.submit(lambda: ran.append("refused"), lambda: None).poll()

    assert refused.reason == "no thread could be started: can't start new thread"
    assert refused.by_helper
    assert aside.submit(lambda: ran.append("later"), lambda: None).wait(LONGEST_S)
    assert ran == ["later"]


def test_what_is_being_made_when_the_process_ends_is_not_cut_short():
    begun, may_end, ran = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        assert may_end.wait(LONGEST_S)
        ran.append("first")

    aside = Aside()
    first = aside.submit(work, lambda: None)
    second = aside.submit(lambda: ran.append("second"), lambda: None)
    assert begun.wait(LONGEST_S)
    closing = threading.Thread(target=aside.close)
    closing.start()
    while not aside._closed:
        pass
    may_end.set()
    closing.join(LONGEST_S)
    third = aside.submit(lambda: ran.append("third"), lambda: None)

    assert ran == ["first"]
    assert not isinstance(first.poll(), Refused)
    assert second.poll() == third.poll() == Refused("this process is ending")


def test_there_is_one_of_each_in_a_process_and_others_in_a_fork_of_it():
    before = beside.compiling(), beside.trying(), beside.aside()
    assert before == (beside.compiling(), beside.trying(), beside.aside())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if not child:
        after = beside.compiling(), beside.trying(), beside.aside()
        os._exit(any(one is other for one, other in zip(before, after, strict=True)))

    assert os.waitpid(child, 0)[1] == 0


def test_a_process_that_compiles_says_why_it_did_not():
    answer = beside.compiling().submit(Job(entry="vyre.adapter.none:none")).wait(LONGEST_S)

    assert answer.reason == "ModuleNotFoundError: No module named 'vyre.adapter.none'"
    assert "importlib.import_module" in answer.log


def test_it_reads_what_it_was_told_and_nothing_else():
    jobs = beside.compiling()

    assert jobs.read({"done": {"a": 1}}) == {"a": 1}
    assert jobs.read({"done": 3}) is None
    assert jobs.read({}) is None


class TestServer:
    """What the process answers, asked in this one."""

    def test_a_function_of_ours_is_called_with_what_is_given(self):
        answer = server.answer({"entry": "vyre.adapter.alike:alike", "given": (1, "x")})

        assert answer == {"ok": True, "done": (("int", 1), ("str", "x"))}

    def test_what_is_not_ours_is_not_called(self):
        answer = server.answer({"entry": "os:getpid", "given": {}})

        assert answer["reason"] == "AssertionError: os:getpid is not ours"

    def test_an_error_of_ours_is_its_problem(self, monkeypatch):
        def refuse(_):
            raise vyre.InvalidInput("it differs", "mend it")

        monkeypatch.setattr(server, "entry", lambda _: refuse)

        assert server.answer({"entry": "x", "given": {}}) == {
            "ok": False,
            "reason": "it differs",
            "log": "",
        }

    def test_an_error_of_others_has_its_end(self, monkeypatch):
        def fail(_):
            raise KeyError

        monkeypatch.setattr(server, "entry", lambda _: fail)
        answer = server.answer({"entry": "x", "given": {}})

        assert answer["reason"] == "KeyError: without a word"
        assert answer["log"].endswith("KeyError")
