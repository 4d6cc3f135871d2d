import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import ir, kernels
from vyre.analysis import analyse
from vyre.backend.base import Compiled, Unbuilt
from vyre.emit import OPENCL as OPENCL_C
from vyre.emit import emit
from vyre.errors import InvalidInput
from vyre.ir import BufferDecl, DataType, Program
from vyre.model import Code, Order, Schedule
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.compile import child
from vyre.runtime.compile import helper as helper_module
from vyre.runtime.compile.bundle import Bundle, Warm, from_request, spelt, to_request
from vyre.runtime.compile.helper import CompileHelper, Ready
from vyre.runtime.compile.worker import MAX_FAILED_STARTS, Refused
from vyre.runtime.devices.compile_server import _cut, compile_bundle
from vyre.testing.configs import odd_ones, schedules
from vyre.testing.programs import Case, race_free

REFERENCE = vyre.open("reference")
SAXPY = kernels.saxpy.program
BUNDLED = [value for value in vars(kernels).values() if isinstance(value, Kernel)]
OPENCL = pytest.mark.skipif(
    all(device.info.backend != "opencl" for device in vyre.devices()),
    reason="no OpenCL device is here",
)
POSIX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs fork and /proc")
LONG_S = 60.0
"""More than anything here takes; it only ends a test that would hang."""

# What goes wrong is told by the code's items; answers name the process and count the requests.
FAKE = """
import json, os, signal, sys, time
print(json.dumps({"ready": sys.argv[1]}), flush=True)
def compiled(name):
    return {"max_threads": 64, "name": name, "entry": "k", "guarded": [0, 1], "words": [2]}
for count, line in enumerate(sys.stdin):
    request = json.loads(line)
    answer = {"id": request["id"], "ok": True, "max_threads": [os.getpid(), count]}
    match request["codes"][0]["items"]:
        case 2: os.kill(os.getpid(), signal.SIGSEGV)
        case 3: time.sleep(600)
        case 4: answer = "\\xff not json"
        case 5:
            os.close(1)
            time.sleep(600)
        case 6: answer["id"] += 1
        case 7: sys.exit("the linker is missing")
        case 8: answer = {"id": request["id"], "ok": False, "reason": "no", "log": "line 3"}
        case 9: answer["max_threads"] = ["many"]
        case 10: answer["made"] = [compiled("../../elsewhere")] * 2
        case 11: answer["made"] = [compiled("a" * 64)]
        case 12: answer["made"] = [{"max_threads": 1}] * 2
        case 13: answer["made"] = 7
        case 14: answer["made"] = [compiled("a" * 64), {"reason": "no", "log": "line 3"}]
        case 15:
            forked = os.fork()
            if not forked: time.sleep(600)
            os.write(2, str(forked).encode())
            os._exit(3)
        case 16:
            for _ in range(64): os.write(2, b"x" * (1 << 16))
            time.sleep(1)
            answer["max_threads"][1] = os.fstat(2).st_size
    print(json.dumps(answer) if isinstance(answer, dict) else answer, flush=True)
"""


def fake(script: str = FAKE, **options: float) -> CompileHelper:
    command = (sys.executable, "-c", script, REFERENCE.info.toolchain)
    return CompileHelper(REFERENCE, command=command, **options)


def bundle(items: int = 1) -> Bundle:
    return Bundle(program=SAXPY, codes=(Code(items=items),))


def run_script(folder: Path, code: str, **options: object) -> subprocess.Popen[str]:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(code))
    return subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, **options
    )


def wait_until_gone(pid: int) -> None:
    """Return when the process has ended, whether or not anyone has asked how."""
    deadline = time.monotonic() + LONG_S
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} still runs")


class TestBundle:
    @pytest.mark.parametrize("kernel", BUNDLED, ids=lambda kernel: kernel.name)
    def test_a_program_arrives_spelt_as_it_was_sent(self, kernel):
        sent = Bundle(program=kernel.program, codes=(Code(),))

        arrived = from_request(json.loads(json.dumps(to_request(sent))))

        assert source(arrived.program) == source(kernel.program)

    @given(race_free())
    def test_so_does_any_program(self, case: Case):
        sent = Bundle(program=case.program, codes=(Code(),))

        arrived = from_request(json.loads(json.dumps(to_request(sent))))

        assert source(arrived.program) == source(case.program)

    def test_codes_and_launches_arrive_in_their_order(self):
        codes = (
            Code(items=4, vector=2, order=Order.BLOCKED),
            Code(unroll=2, checked=False),
            Code(vector=32, rows=4),
        )
        warm = (Warm(1, (64, 1, 1), (3, 1, 1)), Warm(0, (8, 8, 1), (5, 6, 7)))
        sent = Bundle(program=SAXPY, codes=codes, warm=warm)

        arrived = from_request(json.loads(json.dumps(to_request(sent))))

        assert (arrived.codes, arrived.warm) == (codes, warm)

    @given(st.lists(schedules(), min_size=1, max_size=3, unique_by=lambda one: one.code))
    def test_no_part_of_a_code_is_lost_on_the_way(self, many: list[Schedule]):
        codes = tuple(schedule.code for schedule in many)
        sent = Bundle(program=SAXPY, codes=codes)

        arrived = from_request(json.loads(json.dumps(to_request(sent))))

        assert arrived.codes == codes
        assert [repr(code) for code in arrived.codes] == [repr(code) for code in codes]
        assert set(arrived.codes) == set(codes)

    def test_every_field_of_a_code_arrives(self):
        (whole, *_) = odd_ones()
        usual = Code()
        assert all(
            getattr(whole.code, one.name) != getattr(usual, one.name) for one in fields(Code)
        )

        sent = Bundle(program=SAXPY, codes=(whole.code,))
        (arrived,) = from_request(json.loads(json.dumps(to_request(sent)))).codes

        assert arrived == whole.code
        assert arrived.group == (64, 2, 1)

    @pytest.mark.parametrize(
        ("codes", "warm", "message"),
        [
            (
                (),
                (),
                "a bundle of 0 codes, 0 of them different\n"
                "Fix: give at least one code, and each once",
            ),
            (
                (Code(), Code()),
                (),
                "a bundle of 2 codes, 1 of them different\n"
                "Fix: give at least one code, and each once",
            ),
            (
                (Code(), Code(items=2)),
                (Warm(2, (1, 1, 1), (1, 1, 1)),),
                "a launch of code 2 in a bundle of 2\nFix: count the codes from 0 to 1",
            ),
            (
                (Code(),),
                (Warm(0, (64, 0, 1), (1, 1, 1)),),
                "Warm(code=0, workgroup=(64, 0, 1), grid=(1, 1, 1)) has a size below 1\n"
                "Fix: give every axis at least 1",
            ),
        ],
    )
    def test_what_cannot_be_built_is_no_bundle(self, codes, warm, message):
        with pytest.raises(InvalidInput) as caught:
            Bundle(program=SAXPY, codes=codes, warm=warm)

        assert str(caught.value) == message


def source(program: Program) -> str:
    return emit(program, Code(checked=False), OPENCL_C, analyse(program)).text


class TestServer:
    """The real server, on the reference, which needs no driver."""

    def test_it_answers_for_every_bundled_kernel(self):
        with CompileHelper(REFERENCE) as helper:
            pending = [
                helper.submit(
                    Bundle(
                        program=kernel.program,
                        codes=(Code(), Code(checked=False)),
                        warm=(Warm(0, (64, 1, 1), (1 << 18, 1, 1)), Warm(1, (8, 1, 1), (1, 2, 3))),
                    )
                )
                for kernel in BUNDLED
            ]

            answers = {one.wait(LONG_S) for one in pending}

        assert answers == {Ready((0, 0))}

    def test_a_program_that_breaks_the_rules_is_refused_and_the_server_goes_on(self):
        out = BufferDecl.output("out", 0, DataType.F32).with_count(64)
        wrong = Program.wrapped([out], (64, 1, 1), [ir.store("out", ir.gid(), ir.var("nowhere"))])
        with CompileHelper(REFERENCE) as helper:
            first = helper.submit(Bundle(program=wrong, codes=(Code(),)))
            second = helper.submit(bundle())

            assert first.wait(LONG_S) == Refused(
                "the program has 1 problem:\n"
                "  entry[0].body[0] store to 'out': no name 'nowhere' here"
            )
            assert second.wait(LONG_S) == Ready((0,))

    @pytest.mark.skipif(os.name != "posix", reason="there is no niceness here")
    def test_it_gives_way_to_the_callers_kernels(self):
        """Its session is a group of its own to Linux, which counts before its niceness does."""
        with CompileHelper(REFERENCE) as helper:
            helper.submit(bundle()).wait(LONG_S)
            nice = os.getpriority(os.PRIO_PROCESS, helper._child.pid)
            group = Path(f"/proc/{helper._child.pid}/autogroup")
            first_to_go = Path(f"/proc/{helper._child.pid}/oom_score_adj")
            ends = [one.read_text() for one in [first_to_go] if one.exists()]
            weighed = group.read_text().split()[1:] if group.exists() else []

        assert nice == min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
        assert weighed in ([], ["nice", "10"])
        assert ends in ([], ["1000\n"])

    def test_it_starts_where_every_warning_is_an_error(self, monkeypatch):
        monkeypatch.setenv("PYTHONWARNINGS", "error")
        monkeypatch.setenv("PYTHONWARNDEFAULTENCODING", "1")

        with CompileHelper(REFERENCE) as helper:
            assert helper.submit(bundle()).wait(LONG_S) == Ready((0,))

    def test_what_a_compiler_prints_is_no_answer(self):
        noisy = """
            import os, sys
            from vyre.runtime.devices import compile_server

            quiet = compile_server.compile_bundle

            def compile_bundle(*given):
                os.write(1, b'{"id": 1, "ok": true, "max_threads": [666]}\\n')
                assert os.read(0, 1) == b""
                return quiet(*given)

            compile_server.compile_bundle = compile_bundle
            compile_server.main("reference")
        """
        with fake(textwrap.dedent(noisy)) as helper:
            assert helper.submit(bundle()).wait(LONG_S) == Ready((0,))

    def test_a_server_for_another_device_is_refused(self):
        with CompileHelper(REFERENCE, command=(sys.executable, "-c", FAKE, "other")) as helper:
            answer = helper.submit(bundle()).wait(LONG_S)

        assert answer == Refused("the compile helper compiles for something else than reference:0")

    @pytest.mark.parametrize(
        ("grid", "workgroup", "cut"),
        [
            ((3, 1, 1), (64, 1, 1), (1, 1, 1)),
            ((1 << 20, 1, 1), (64, 1, 1), (1, 1 << 16, 1)),
            ((1000, 900, 7), (64, 4, 1), (1, 16000, 1)),
            ((100, 1 << 30, 7), (64, 10, 1), (1, 6554, 1)),
            ((1, 1, 1 << 20), (8, 8, 2), (1, 1, 1 << 15)),
        ],
    )
    def test_a_warming_launch_is_as_wide_as_it_must_be_and_never_along_x(
        self, grid, workgroup, cut
    ):
        assert _cut(grid, workgroup) == cut

    @pytest.mark.parametrize("kernel", ["gelu", "nbody"])
    def test_the_caller_finds_all_of_it_in_the_folder_of_objects(self, kernel, tmp_path):
        pytest.importorskip("llvmlite")
        code = """
            from pathlib import Path
            import sys
            import vyre
            from vyre import kernels
            from vyre.model import Code
            from vyre.runtime.compile.bundle import Bundle
            from vyre.runtime.compile.helper import CompileHelper

            device, program = vyre.open("cpu"), getattr(kernels, sys.argv[2]).program
            codes = (Code(vector=32), Code(vector=8, rows=2, checked=False, order="blocked"))
            with CompileHelper(device) as helper:
                print(helper.submit(Bundle(program=program, codes=codes)).wait(60).max_threads)

            def kept():
                return set(Path(sys.argv[1], "cpu").iterdir())

            before = kept()
            device.binaries([(program, code) for code in codes])
            print(len(kept() - before))
            device.binary(program, Code(vector=16))
            print(len(kept() - before))
        """
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(code))

        done = subprocess.run(
            [sys.executable, str(path), str(tmp_path), kernel],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "VYRE_CACHE_DIR": str(tmp_path)},
        )

        assert done.stdout == "(0, 0)\n0\n1\n"

    def test_a_code_that_is_refused_takes_no_other_with_it(self, monkeypatch):
        good, bad = Code(), Code(items=2)
        monkeypatch.setattr(
            type(REFERENCE.backend),
            "compile_only",
            lambda _, jobs: [
                Unbuilt("no", "line 3")
                if job.code == bad
                else Compiled(64, "a" * 64, "k", (0,), (3,))
                for job in jobs
            ],
            raising=False,
        )

        answer = compile_bundle(REFERENCE, Bundle(program=SAXPY, codes=(bad, good)))

        assert answer["max_threads"] == [0, 64]
        assert answer["made"] == [
            {"reason": "no", "log": "line 3"},
            {"max_threads": 64, "name": "a" * 64, "entry": "k", "guarded": (0,), "words": (3,)},
        ]
        assert compile_bundle(REFERENCE, Bundle(program=SAXPY, codes=(bad,))) == {
            "ok": False,
            "reason": f"{bad}: no",
            "log": "line 3",
        }

    def test_a_program_is_spelt_once_for_bundles_in_a_row(self, monkeypatch):
        written = []

        def counting(program):
            written.append(program)
            return spelt(program)

        monkeypatch.setattr(helper_module, "spelt", counting)
        with CompileHelper(REFERENCE) as helper:
            asked = [SAXPY, SAXPY, kernels.gelu.program, SAXPY]
            pending = [helper.submit(Bundle(program=one, codes=(Code(),))) for one in asked]

            assert {one.wait(LONG_S) for one in pending} == {Ready((0,))}
        assert written == [SAXPY, kernels.gelu.program, SAXPY]

    @OPENCL
    @POSIX
    def test_the_caller_finds_all_of_it_in_the_drivers_cache(self, tmp_path):
        code = """
            from pathlib import Path
            import sys
            import numpy as np, vyre
            from vyre import kernels
            from vyre.model import Code, Schedule
            from vyre.runtime.compile.bundle import Bundle, Warm
            from vyre.runtime.compile.helper import CompileHelper

            device = vyre.open("opencl")
            codes = (Code(), Code(items=4, vector=4, checked=False))
            sizes = (64, 256)
            n = 1 << 18
            with CompileHelper(device, time_limit_s=600) as helper:  # it gives way to all others
                warm = tuple(
                    Warm(number, (size, 1, 1), (n // (size * code.items), 1, 1))
                    for number, code in enumerate(codes)
                    for size in sizes
                )
                wide = Warm(0, (1 << 16, 1, 1), (1, 1, 1))  # left out
                bundle = Bundle(program=kernels.gelu.program, codes=codes, warm=(*warm, wide))
                print(helper.submit(bundle).wait(600))

            def compiled():
                return {path for path in Path(sys.argv[1]).rglob("*.so")}

            before = compiled()
            device.binaries([(kernels.gelu.program, code) for code in codes])
            x = np.ones(n, np.float32)
            for code in codes:
                for size in sizes:
                    kernels.gelu(x, schedule=Schedule((size, 1, 1), code))
            print(len(before) >= 4, len(compiled() - before))
            kernels.gelu(x, schedule=Schedule((32, 1, 1)))
            print(len(compiled() - before))
        """
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(code))
        variables = {name: text for name, text in os.environ.items() if name != "POCL_CACHE_DIR"}

        done = subprocess.run(
            [sys.executable, str(path), str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            env={**variables, "VYRE_CACHE_DIR": str(tmp_path), "VYRE_DEVICE": "opencl"},
        )

        assert done.stdout.splitlines()[1:] == ["True 0", "1"]
        assert done.stdout.startswith("Ready(max_threads=(")


class TestAnswers:
    def test_it_tells_where_each_code_is_or_why_it_is_not(self):
        with fake() as helper:
            answer = helper.submit(bundle(14)).wait(LONG_S)

        assert answer.made == (Compiled(64, "a" * 64, "k", (0, 1), (2,)), Unbuilt("no", "line 3"))

    @pytest.mark.parametrize("items", [10, 11, 12, 13], ids=["path", "few", "part", "number"])
    def test_places_that_are_none_cannot_be_read(self, items):
        with fake() as helper:
            answer = helper.submit(bundle(items)).wait(LONG_S)

        assert answer.reason == "the compile helper gave an answer that cannot be read"


class TestFaults:
    @pytest.mark.parametrize(
        ("items", "answer"),
        [
            (2, Refused("the compile helper died with signal 11")),
            (3, Refused("the compiler took more than 2 s")),
            (4, Refused("the compile helper gave an answer that cannot be read", "ÿ not json")),
            (5, Refused("the compile helper closed its output")),
            (7, Refused("the compile helper ended with status 1", "the linker is missing")),
            (8, Refused("no", "line 3")),
        ],
        ids=["crash", "hang", "garbage", "closed output", "exit", "refusal"],
    )
    def test_a_fault_refuses_its_bundle_and_no_other(self, items, answer):
        with fake(time_limit_s=2.0) as helper:
            before, at_fault, after = (helper.submit(bundle(n)) for n in (1, items, 1))

            assert isinstance(before.wait(LONG_S), Ready)
            assert at_fault.wait(LONG_S) == answer
            assert isinstance(after.wait(LONG_S), Ready)

    @pytest.mark.parametrize("items", [6, 9], ids=["of another request", "no numbers"])
    def test_an_answer_that_is_not_ours_is_refused_and_its_server_not_asked_again(self, items):
        with fake() as helper:
            first, wrong, last = (helper.submit(bundle(n)) for n in (1, items, 1))

            assert wrong.wait(LONG_S).reason == (
                "the compile helper gave an answer that cannot be read"
            )
            assert first.wait(LONG_S).max_threads[0] != last.wait(LONG_S).max_threads[0]

    def test_a_process_that_hangs_is_gone_when_its_bundle_is_refused(self):
        with fake(time_limit_s=2.0) as helper:
            process = helper.submit(bundle()).wait(LONG_S).max_threads[0]

            assert isinstance(helper.submit(bundle(items=3)).wait(LONG_S), Refused)
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)

    @POSIX
    def test_what_a_process_has_forked_is_gone_with_it_and_holds_up_nobody(self):
        with fake(time_limit_s=LONG_S) as helper:
            answer = helper.submit(bundle(items=15)).wait(LONG_S / 2)
            after = helper.submit(bundle()).wait(LONG_S)

        assert answer.reason == "the compile helper ended with status 3"
        assert isinstance(after, Ready)
        wait_until_gone(int(answer.log))

    @POSIX
    def test_what_a_process_prints_without_end_fills_no_disk(self, monkeypatch):
        monkeypatch.setattr(child, "_MOST_PRINTED", 1 << 20)
        with fake() as helper:
            assert helper.submit(bundle(items=16)).wait(LONG_S).max_threads[1] < 1 << 20

    def test_a_server_that_does_not_read_holds_up_nobody(self):
        deaf = FAKE.partition("for count")[0] + "time.sleep(600)"
        statements = [ir.store("out", ir.u32(n), ir.f32(n)) for n in range(5000)]
        out = BufferDecl.output("out", 0, DataType.F32).with_count(64)
        large = Bundle(program=Program.wrapped([out], (64, 1, 1), statements), codes=(Code(),))
        with fake(deaf, time_limit_s=2.0) as helper:
            pending = helper.submit(large)

            assert pending.poll() is None
            assert pending.wait(LONG_S) == Refused("the compiler took more than 2 s")

    def test_a_server_that_cannot_be_started_is_tried_three_times(self):
        with CompileHelper(REFERENCE, command=("/nonexistent/python",)) as helper:
            answers = {helper.submit(bundle()).wait(LONG_S) for _ in range(5)}

        assert len(helper._failed_starts) == MAX_FAILED_STARTS == 3
        assert answers == {
            Refused(
                "the compile helper could not be started: "
                "[Errno 2] No such file or directory: '/nonexistent/python'"
            )
        }

    def test_a_server_that_ends_before_it_is_ready_says_what_it_printed(self):
        with fake("import sys; sys.exit('no such driver')") as helper:
            answer = helper.submit(bundle()).wait(LONG_S)

        assert answer == Refused(
            "the compile helper did not come up: the compile helper ended with status 1",
            "no such driver",
        )

    def test_a_program_without_a_wire_form_is_refused(self):
        twice = [BufferDecl.output("out", 0, DataType.F32)] * 2
        wrong = Bundle(program=Program.wrapped(twice, (64, 1, 1), []), codes=(Code(),))
        with fake() as helper:
            assert isinstance(helper.submit(wrong).wait(LONG_S), Refused)
            assert isinstance(helper.submit(bundle()).wait(LONG_S), Ready)

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_a_mistake_in_the_thread_leaves_nobody_waiting(self, monkeypatch):
        refused = Refused("the compile helper's thread ended by a mistake of Vyre's")
        with fake() as helper:
            assert isinstance(helper.submit(bundle()).wait(LONG_S), Ready)
            monkeypatch.setattr(helper_module, "to_request", lambda _: 1 // 0)

            pending = [helper.submit(bundle()) for _ in range(3)]

            assert [one.wait(LONG_S) for one in pending] == [refused] * 3
            assert helper.submit(bundle()).poll() == refused
            assert helper._child is None

    def test_a_frozen_program_is_not_run_again_as_its_own_helper(self, monkeypatch):
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        with CompileHelper(REFERENCE) as helper:
            answer = helper.submit(bundle()).wait(LONG_S)

        assert answer == Refused(
            "the compile helper needs a Python interpreter, and this program has none"
        )


class TestLife:
    def test_nothing_starts_before_the_first_bundle(self):
        with fake() as helper:
            assert (helper._thread, helper._child) == (None, None)

    def test_many_bundles_are_answered_in_order_by_one_process(self):
        with fake() as helper:
            pending = [helper.submit(bundle()) for _ in range(200)]
            answers = [one.wait(LONG_S) for one in pending]

        assert len({answer.max_threads[0] for answer in answers}) == 1
        assert [answer.max_threads[1] for answer in answers] == list(range(200))

    def test_what_was_cancelled_is_not_compiled(self):
        with fake(time_limit_s=1.0) as helper:
            first, second, third = (helper.submit(bundle(items)) for items in (3, 1, 1))
            second.cancel()
            last = third.wait(LONG_S)

        assert first.poll().reason.startswith("the compiler took more than 1")
        assert second.poll() == Refused("it was no longer wanted")
        assert last.max_threads[1] == 0  # the first that the new process was asked

    def test_two_threads_are_served_by_one_process_each_in_its_order(self):
        pending = {0: [], 1: []}
        with fake() as helper:

            def submit(number: int) -> None:
                pending[number] += [helper.submit(bundle()) for _ in range(50)]

            threads = [threading.Thread(target=submit, args=(number,)) for number in pending]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            mine, theirs = (
                [one.wait(LONG_S).max_threads for one in pending[number]] for number in pending
            )

        assert (mine, theirs) == (sorted(mine), sorted(theirs))
        assert sorted(count for _, count in mine + theirs) == list(range(100))
        assert len({process for process, _ in mine + theirs}) == 1

    def test_closing_refuses_what_is_under_way_and_what_waits(self):
        helper = fake()
        done = helper.submit(bundle())
        process = done.wait(LONG_S).max_threads[0]
        pending = [helper.submit(bundle(items=3)) for _ in range(3)]

        helper.close()

        closed = Refused("the compile helper is closed")
        assert [one.poll() for one in pending] == [closed] * 3
        assert helper.submit(bundle()).poll() == closed
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        helper.close()

    def test_a_process_that_dies_between_bundles_is_replaced(self):
        with fake() as helper:
            first = helper.submit(bundle()).wait(LONG_S).max_threads[0]
            os.kill(first, signal.SIGKILL)
            helper._child._process.wait()

            assert helper.submit(bundle()).wait(LONG_S).max_threads[0] != first

    def test_it_needs_neither_the_users_main_nor_the_folder_it_is_called_from(self, tmp_path):
        folder = tmp_path / "here"
        folder.mkdir()
        (folder / "json.py").write_text("raise SystemExit('not this one')")
        script = """
            import vyre
            from vyre import kernels
            from vyre.model import Code
            from vyre.runtime.compile.bundle import Bundle
            from vyre.runtime.compile.helper import CompileHelper

            print("once", flush=True)
            helper = CompileHelper(vyre.open("reference"))
            print(helper.submit(Bundle(program=kernels.saxpy.program, codes=(Code(),))).wait(60))
        """

        with run_script(tmp_path, script, cwd=folder) as running:
            said, _ = running.communicate(timeout=LONG_S)

        assert said == "once\nReady(max_threads=(0,))\n"
        assert running.returncode == 0

    STARTED = """
        import os, time
        import vyre
        from vyre import kernels
        from vyre.model import Code
        from vyre.runtime.compile.bundle import Bundle
        from vyre.runtime.compile.helper import CompileHelper

        helper = CompileHelper(vyre.open("reference"))
        bundle = Bundle(program=kernels.saxpy.program, codes=(Code(),))
        helper.submit(bundle).wait(60)
        print(helper._child.pid, flush=True)
    """

    @POSIX
    def test_it_ends_with_the_interpreter(self, tmp_path):
        with run_script(tmp_path, self.STARTED) as running:
            said, _ = running.communicate(timeout=LONG_S)

        wait_until_gone(int(said))

    @POSIX
    def test_it_ends_when_its_parent_is_killed(self, tmp_path):
        script = textwrap.dedent(self.STARTED) + "time.sleep(600)"
        with run_script(tmp_path, script) as running:
            pid = int(running.stdout.readline())
            running.kill()

        wait_until_gone(pid)

    @POSIX
    def test_a_forked_copy_of_the_parent_keeps_none_of_its_files_open(self, tmp_path):
        script = textwrap.dedent(self.STARTED) + textwrap.dedent("""
            child = helper._child
            copy = os.fork()
            if copy == 0:
                files = (child._input, child._output, child._errors)
                os._exit(sum(not file.closed for file in files))
            print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
        """)
        with run_script(tmp_path, script) as running:
            said, _ = running.communicate(timeout=LONG_S)

        assert said.split()[1] == "0"

    @POSIX
    def test_a_forked_copy_of_the_parent_neither_uses_it_nor_keeps_it_alive(self, tmp_path):
        script = textwrap.dedent(self.STARTED) + textwrap.dedent("""
            def say(text):  # in one write, because two processes share the pipe
                os.write(1, f"{text}\\n".encode())

            copy = os.fork()
            if copy == 0:
                say(helper.submit(bundle).poll().reason)
                helper.close()
                say("closed")
                time.sleep(600)
            say(copy)
            time.sleep(600)
        """)
        with run_script(tmp_path, script) as running:
            pid = int(running.stdout.readline())
            lines = {running.stdout.readline().strip() for _ in range(3)}
            os.kill(pid, 0)  # the copy's close left it alone
            running.kill()
            wait_until_gone(pid)
            (copy,) = (int(line) for line in lines if line.isdigit())
            os.kill(copy, signal.SIGKILL)

        assert lines == {
            "the compile helper was started before this process was forked",
            "closed",
            str(copy),
        }
