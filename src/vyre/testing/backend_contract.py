"""What every backend must do: a test class to inherit from, with the backend's own maker.

class TestMine(BackendContract):
    def make(self, folder):
        return Mine(folder)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend import reference
from vyre.backend.base import (
    Array,
    Backend,
    Compiled,
    CompilesAhead,
    Fixed,
    Job,
    Loads,
    Memory,
    Ticket,
    Unbuilt,
)
from vyre.emit import WordLayout
from vyre.errors import DeviceFailed
from vyre.ir.build import gid, load, store
from vyre.ir.declare import BufferDecl, Dim3
from vyre.ir.program import Program
from vyre.ir.storage import STORAGE
from vyre.ir.types import DataType
from vyre.model import Clocks, Code, DeviceInfo, Schedule
from vyre.plan.geometry import tile_grid
from vyre.runtime.devices.launcher import words_of
from vyre.testing.compare import apart
from vyre.testing.values import array

F32 = DataType.F32
TYPES = (
    *(F32, DataType.F64, DataType.U32, DataType.I32, DataType.U64, DataType.I64),
    *(DataType.U8, DataType.I8, DataType.U16, DataType.I16),
)
SIZES = (1, 7, 64, 1000)
LINE = (16, 1, 1)


@cache
def adding(dtype: DataType) -> Program:
    """`out[i] = x[i] + a`, of one type."""
    x, out = BufferDecl.read("x", 0, dtype), BufferDecl.write("out", 1, dtype)
    a = BufferDecl.uniform("a", 2, dtype).with_count(1)
    sum_ = load("x", gid()) + load("a", 0)
    return Program.wrapped([x, out, a], LINE, [store("out", gid(), sum_)])


def job(program: Program, code: Code | None = None) -> Job:
    """A program to compile, plainly unless `code` says otherwise."""
    return Job(program, code or Code(), analyse(program))


@dataclass(frozen=True, slots=True)
class Ready:
    """A launch of which only the memory is missing."""

    binary: Any
    program: Program
    grid: Dim3
    workgroup: Dim3
    words: bytes
    arrays: Mapping[str, Array]
    extent: Dim3

    def expected(self) -> Mapping[str, Array]:
        """What the arrays hold after a launch, as the reference has it."""
        copies = {name: values.copy() for name, values in self.arrays.items()}
        reference.run(self.program, copies, self.extent)
        return copies


def ready(
    binary: Any, program: Program, arrays: Mapping[str, Array], extent: Dim3, workgroup: Dim3 = LINE
) -> Ready:
    """A launch over `extent`."""
    shapes = {name: values.shape for name, values in arrays.items()}
    grid = tile_grid(extent, Schedule(workgroup))
    words = words_of(binary.layout, extent, shapes)
    return Ready(binary, program, grid, workgroup, words, arrays, extent)


def values_for(dtype: DataType, count: int, *, seed: int = 0, beyond: int = 0) -> dict[str, Array]:
    """Arrays for `adding`; the output is longer than the input by `beyond`."""
    rng, storage = Random(seed), STORAGE[dtype]
    return {
        "x": array(rng, dtype, count),
        "out": np.full(count + beyond, 77, storage),
        "a": np.array([3], storage),
    }


def repeated(start: Fixed, many: int) -> None:
    """Launch so many times on the default stream."""
    for _ in range(many):
        start(0)


class BackendContract:
    """Holds for any backend that `make` opens.

    Where it is one that stands in for a driver, `computes` is False: launches are made and times
    are told, but nobody looks at results or asks for more memory than there is.
    """

    computes: ClassVar[bool] = True

    def make(self, folder: Path) -> Backend:
        """Make the backend under test; the folder is for what it keeps."""
        raise NotImplementedError

    def refused(self, monkeypatch: pytest.MonkeyPatch) -> Job | None:  # noqa: ARG002  # of those who override it
        """A job that the backend's compiler refuses; None where nothing is compiled."""
        return None

    def capture(self, backend: Backend) -> AbstractContextManager[int] | None:  # noqa: ARG002  # of those who override it
        """Something to use in `with` that gives a capturing stream; None where none can."""
        return None

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        """The backend under test."""
        return self.make(tmp_path)

    # -- what the tests do with it

    def built(self, backend: Backend, program: Program) -> Any:
        """A program, compiled."""
        (binary,) = backend.build([job(program)])
        assert not isinstance(binary, Unbuilt), binary
        return binary

    def added(self, backend: Backend, count: int = 1000, seed: int = 0) -> Ready:
        """A launch of `adding` for f32."""
        program = adding(F32)
        arrays = values_for(F32, count, seed=seed)
        return ready(self.built(backend, program), program, arrays, (count, 1, 1))

    def sent(self, backend: Backend, launch: Ready) -> tuple[dict[str, Memory], list[Any]]:
        """The arrays of a launch on the device, and its arguments."""
        memory: dict[str, Memory] = {}
        arguments: list[Any] = []
        for name in launch.binary.arguments:
            values = launch.arrays[name]
            if launch.program.buffer(name).is_scalar_argument:
                arguments.append(values[0])
                continue
            memory[name] = backend.alloc(values.nbytes)
            backend.upload(memory[name], values)
            arguments.append(backend.typed(memory[name], values.dtype))
        return memory, arguments

    def start(
        self, backend: Backend, launch: Ready, arguments: Sequence[Any], *, timed: bool = False
    ) -> Ticket:
        """Launch on the default stream."""
        return backend.launch(
            launch.binary, launch.grid, launch.workgroup, arguments, launch.words, timed=timed
        )

    def check(self, backend: Backend, launch: Ready, memory: Mapping[str, Memory]) -> None:
        """The memory holds what the reference computes."""
        expected = launch.expected()
        for name, held in memory.items():
            found = np.empty_like(launch.arrays[name])
            backend.download(held, found)
            element = launch.program.buffer(name).element
            if self.computes:
                wrong = apart(element, expected[name], found)
                assert not wrong.size, f"{name}[{wrong[0]}] of {element}"

    def empty_out(self, backend: Backend, launch: Ready, memory: Mapping[str, Memory]) -> None:
        """Put the output back to what it was before a launch."""
        backend.upload(memory["out"], launch.arrays["out"])

    # -- what it says of itself

    def test_it_says_what_it_is(self, backend: Backend) -> None:
        """The same each time, because choices are remembered by it."""
        info, limits = backend.info, backend.info.limits

        assert isinstance(info, DeviceInfo)
        assert info.backend
        assert info.model
        assert info.identity == backend.info.identity
        assert limits.max_threads >= 1
        assert min(*limits.max_block, *limits.max_grid) >= 1
        assert min(limits.max_threads_per_unit, limits.max_buffer_bytes, info.memory_bytes) >= 0
        assert info.compute_units >= 1

    def test_it_says_what_it_can_do(self, backend: Backend) -> None:
        """Code asks for these and never for its name."""
        assert isinstance(backend.compiles, bool)
        assert isinstance(backend.compiles_per_workgroup, bool)
        assert isinstance(backend.uses_host_memory, bool)
        assert isinstance(backend.strayed, bool)
        for number in (backend.unfelt_ns, backend.shortest_ns, backend.every_threads):
            assert isinstance(number, int)
            assert number >= 0
        assert backend.loads_together >= 1
        assert backend.builds_first >= 1
        if backend.streams is None:
            assert not backend.strayed

    def test_memory_that_is_shared_is_known_by_its_address(self, backend: Backend) -> None:
        """Or arrays of other libraries could not be told apart from its own."""
        memory = backend.alloc(64)
        argument = backend.typed(memory, np.dtype("f4"))

        if backend.sharing is not None:
            assert isinstance(argument, int)
            assert isinstance(backend.sharing.dlpack_type, int)

    def test_memory_remembers_its_stream_where_there_are_several(self, backend: Backend) -> None:
        """It begins on the default one, and stays there."""
        memory = backend.alloc(64)

        if backend.streams is not None:
            assert memory.stream == 0
            backend.streams.use_on(memory, 0)
            assert memory.stream == 0
            assert not backend.strayed

    def test_free_memory_is_a_number_of_bytes_or_not_known(self, backend: Backend) -> None:
        """Tuning asks before it copies."""
        free = backend.free_bytes()

        assert free is None or free >= 0

    def test_clocks_are_told_or_not_and_asking_never_fails(self, backend: Backend) -> None:
        """However often."""
        for _ in range(100):
            told = backend.clocks()
            assert told is None or isinstance(told, Clocks)

    # -- building

    def test_a_build_gives_a_binary_for_each_job_in_order(self, backend: Backend) -> None:
        """Each tells how it is to be launched."""
        programs = [adding(dtype) for dtype in TYPES[:3]]
        binaries = backend.build([job(program) for program in programs])

        assert len(binaries) == len(programs)
        for program, binary in zip(programs, binaries, strict=True):
            assert not isinstance(binary, Unbuilt), binary
            assert binary.arguments == ("x", "out", "a")
            assert binary.layout == WordLayout.of(program)
            assert 0 in binary.guarded
            assert set(binary.guarded) <= {0, 1, 2}
            assert binary.max_threads >= 0
            assert isinstance(backend.keep(binary), Compiled)

    def test_what_was_compiled_is_loaded_as_it_would_be_built(self, backend: Backend) -> None:
        """Whether another process has compiled it, or nobody has, or it is gone."""
        if not isinstance(backend, Loads):
            return
        launch = self.added(backend)
        wanted = [job(launch.program)]
        made = [*self.compiled(backend, wanted), Compiled(), Compiled(name="0" * 64)]
        for one in made:
            (loaded,) = backend.load(wanted, [one])

            assert not isinstance(loaded, Unbuilt), loaded
            assert loaded.layout == launch.binary.layout
            assert loaded.arguments == launch.binary.arguments
            assert loaded.guarded == launch.binary.guarded
            assert loaded.max_threads == launch.binary.max_threads
            again = replace(launch, binary=loaded)
            memory, arguments = self.sent(backend, again)
            self.start(backend, again, arguments).wait()
            self.check(backend, again, memory)

    def compiled(self, backend: Backend, wanted: Sequence[Job]) -> list[Compiled]:
        """These, where any process finds them."""
        if isinstance(backend, CompilesAhead):
            made = backend.compile_only(wanted)
        else:
            made = [backend.keep(one) for one in backend.build(wanted)]
        return [one for one in made if isinstance(one, Compiled)]

    def test_a_device_with_nothing_to_do_comes_to_be_calm(self, backend: Backend) -> None:
        """Or nothing would ever be loaded."""
        launch = self.added(backend)
        _, arguments = self.sent(backend, launch)
        self.start(backend, launch, arguments, timed=True).wait()
        backend.synchronize()

        assert backend.is_calm() is True

    def test_a_source_is_a_text_to_read(self, backend: Backend) -> None:
        """The same each time, and another for another program."""
        one, other = (job(adding(dtype)) for dtype in TYPES[:2])
        text = backend.source(one)

        assert text.strip()
        assert text == backend.source(one)
        assert text != backend.source(other)

    def test_what_the_compiler_refuses_is_a_value(
        self, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It says why, and nothing else of the same build is lost."""
        refused, good = self.refused(monkeypatch), job(adding(F32))
        if refused is None:
            assert not backend.compiles, "say in `refused` what this compiler refuses"
            return

        first, second, third = backend.build([good, refused, good])

        assert isinstance(second, Unbuilt)
        assert second.reason
        assert isinstance(second.log, str)
        assert not isinstance(first, Unbuilt)
        assert not isinstance(third, Unbuilt)

    # -- launching

    @pytest.mark.parametrize("count", SIZES)
    def test_a_launch_computes_what_the_reference_does(self, backend: Backend, count: int) -> None:
        """For every type, whatever the size, and nothing is written beyond the extent."""
        binaries = backend.build([job(adding(dtype)) for dtype in TYPES])
        for dtype, binary in zip(TYPES, binaries, strict=True):
            arrays = values_for(dtype, count, seed=count, beyond=3)
            launch = ready(binary, adding(dtype), arrays, (count, 1, 1))
            memory, arguments = self.sent(backend, launch)
            self.start(backend, launch, arguments).wait()
            self.check(backend, launch, memory)

    @pytest.mark.parametrize("workgroup", [(8, 2, 1), (1, 4, 1), (3, 5, 1)])
    def test_a_launch_covers_a_plane(self, backend: Backend, workgroup: Dim3) -> None:
        """Of sizes that no workgroup divides, by any workgroup."""
        program = kernels.stencil5.program
        shape = (7, 13)
        x = np.arange(91, dtype=np.float32).reshape(shape)
        arrays = {"x": x, "out": np.zeros(shape, np.float32)}
        binary = self.built(backend, program)
        launch = ready(binary, program, arrays, (13, 7, 1), workgroup)
        memory, arguments = self.sent(backend, launch)
        self.start(backend, launch, arguments).wait()
        self.check(backend, launch, memory)

    def test_scalars_are_those_of_each_launch(self, backend: Backend) -> None:
        """Launches that are still under way keep their own."""
        launch = self.added(backend)
        x, others = launch.arrays["x"], []
        for number in range(8):
            memory, arguments = self.sent(backend, launch)
            arguments[2] = np.float32(number)
            self.start(backend, launch, arguments)
            others.append((number, memory))
        backend.synchronize()

        for number, memory in others:
            found = np.empty_like(launch.arrays["out"])
            backend.download(memory["out"], found)
            if self.computes:
                assert not apart(F32, x + np.float32(number), found).size

    def test_threads_launch_at_once(self, backend: Backend) -> None:
        """Each gets its own results."""
        launches = [self.added(backend, 500 + number, number) for number in range(4)]
        failed: list[BaseException] = []

        def work(launch: Ready) -> None:
            try:
                memory, arguments = self.sent(backend, launch)
                for _ in range(10):
                    self.empty_out(backend, launch, memory)
                    self.start(backend, launch, arguments).wait()
                    self.check(backend, launch, memory)
            except BaseException as error:  # noqa: BLE001  # told where it is seen
                failed.append(error)

        threads = [Thread(target=work, args=(launch,)) for launch in launches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failed == []

    def test_bind_launches_the_same(self, backend: Backend) -> None:
        """Again and again, with other arguments each time."""
        launch = self.added(backend)
        start = backend.bind(launch.binary, launch.grid, launch.workgroup, launch.words)
        for _ in range(3):
            memory, arguments = self.sent(backend, launch)
            start(arguments, 0)
            backend.synchronize()
            self.check(backend, launch, memory)

    def test_fix_launches_the_same(self, backend: Backend) -> None:
        """Again and again, with nothing but a stream to say."""
        launch = self.added(backend)
        memory, arguments = self.sent(backend, launch)
        start = backend.fix(
            launch.binary, launch.grid, launch.workgroup, launch.words, tuple(arguments)
        )
        for _ in range(3):
            self.empty_out(backend, launch, memory)
            start(0)
            backend.synchronize()
            self.check(backend, launch, memory)

    def test_host_arrays_are_used_where_they_are_if_it_says_so(self, backend: Backend) -> None:
        """By address, and what is written is there when a launch returns."""
        if not backend.uses_host_memory:
            return
        launch = self.added(backend)
        arrays, geometry = launch.arrays, (launch.binary, launch.grid, launch.workgroup)
        arguments = [
            arrays[name][0] if name == "a" else int(arrays[name].__array_interface__["data"][0])
            for name in launch.binary.arguments
        ]
        expected = launch.expected()
        ways = (
            partial(backend.launch, *geometry, arguments, launch.words),
            partial(backend.bind(*geometry, launch.words), arguments, 0),
            partial(backend.fix(*geometry, launch.words, arguments), 0),
        )
        for start in ways:
            arrays["out"][...] = 77
            start()
            if self.computes:
                assert not apart(F32, expected["out"], arrays["out"]).size

    def test_what_was_bound_or_fixed_keeps_what_it_was_given(self, backend: Backend) -> None:
        """Launches of the same binary in between change nothing."""
        one, other = self.added(backend, 1000, 1), self.added(backend, 300, 2)
        memory, arguments = self.sent(backend, one)
        _, between = self.sent(backend, other)
        fixed = backend.fix(one.binary, one.grid, one.workgroup, one.words, arguments)
        bound = backend.bind(one.binary, one.grid, one.workgroup, one.words)
        for start in (fixed, lambda stream: bound(arguments, stream)):
            self.empty_out(backend, one, memory)
            backend.launch(one.binary, other.grid, other.workgroup, between, other.words)
            start(0)
            backend.synchronize()
            self.check(backend, one, memory)

    # -- times

    def test_a_timed_launch_comes_to_know_its_time(self, backend: Backend) -> None:
        """At the latest when it has been waited for, and it stays the same."""
        launch = self.added(backend)
        _, arguments = self.sent(backend, launch)
        ticket = self.start(backend, launch, arguments, timed=True)
        early = ticket.elapsed_ns()
        ticket.wait()
        known = ticket.elapsed_ns()

        assert isinstance(ticket.rough, bool)
        assert isinstance(known, int)
        assert known >= 0
        assert early in (None, known)
        assert ticket.elapsed_ns() == known

    def test_a_ticket_of_an_untimed_launch_can_be_asked(self, backend: Backend) -> None:
        """It need not know, but it answers."""
        launch = self.added(backend)
        _, arguments = self.sent(backend, launch)
        ticket = self.start(backend, launch, arguments)
        ticket.wait()
        known = ticket.elapsed_ns()

        assert isinstance(ticket.rough, bool)
        assert known is None or known >= 0

    def test_a_launch_that_is_not_ours_is_timed(self, backend: Backend) -> None:
        """It is made once, and its ticket comes to know a time that covers it."""
        launch = self.added(backend)
        memory, arguments = self.sent(backend, launch)
        tickets: list[Ticket] = []
        ticket = backend.time(
            0, lambda: tickets.append(self.start(backend, launch, arguments, timed=True))
        )

        assert len(tickets) == 1
        assert ticket is not None
        ticket.wait()
        tickets[0].wait()
        around, within = ticket.elapsed_ns(), tickets[0].elapsed_ns()
        assert isinstance(ticket.rough, bool)
        assert isinstance(around, int)
        assert around >= (within or 0)
        self.check(backend, launch, memory)

    def test_what_is_timed_may_launch_nothing(self, backend: Backend) -> None:
        """Or many times."""
        launch = self.added(backend)
        _, arguments = self.sent(backend, launch)
        start = backend.fix(
            launch.binary, launch.grid, launch.workgroup, launch.words, tuple(arguments)
        )
        for many in (0, 5):
            ticket = backend.time(0, partial(repeated, start, many))
            assert ticket is not None
            ticket.wait()
            known = ticket.elapsed_ns()
            assert isinstance(known, int)
            assert known >= 0

    @pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
    def test_what_a_timed_launch_raises_passes_through(
        self, backend: Backend, error: BaseException
    ) -> None:
        """And the next one is timed as ever."""

        def fail() -> None:
            raise error

        with pytest.raises(type(error)) as caught:
            backend.time(0, fail)
        assert caught.value is error
        self.test_a_launch_that_is_not_ours_is_timed(backend)

    def test_a_stream_that_captures_is_left_alone(self, backend: Backend) -> None:
        """What is timed there is launched, and has no time."""
        assert backend.is_capturing() is False
        assert backend.is_capturing(0) is False
        captured = self.capture(backend)
        if captured is None:
            return

        calls: list[int] = []
        with captured as stream:
            assert backend.is_capturing(stream) is True
            assert backend.time(stream, lambda: calls.append(stream)) is None
        assert calls == [stream]

    # -- memory

    @pytest.mark.parametrize("count", [0, 1, 7, 4099])
    @pytest.mark.parametrize("dtype", ["u1", "f2", "i4", "f8"])
    def test_what_is_sent_comes_back(self, backend: Backend, count: int, dtype: str) -> None:
        """Of any type, and also nothing."""
        values = np.arange(count).astype(dtype)
        memory = backend.alloc(values.nbytes)
        backend.upload(memory, values)
        kept = values.copy()
        values[...] = 0  # it may be changed as soon as it was sent
        found = np.empty_like(values)
        backend.download(memory, found)

        assert np.array_equal(found, kept)

    def test_a_copy_is_of_so_many_bytes(self, backend: Backend) -> None:
        """And what lies behind them stays."""
        source, target = backend.alloc(64), backend.alloc(64)
        backend.upload(source, np.arange(64, dtype=np.uint8))
        backend.upload(target, np.full(64, 200, np.uint8))
        backend.copy(source, target, 37)
        found = np.empty(64, np.uint8)
        backend.download(target, found)

        assert found.tolist() == [*range(37), *[200] * 27]

    def test_clearing_is_of_so_many_bytes(self, backend: Backend) -> None:
        """And what lies behind them stays."""
        memory = backend.alloc(64)
        backend.upload(memory, np.full(64, 200, np.uint8))
        backend.clear(memory, 37)
        backend.clear(memory, 0)
        found = np.empty(64, np.uint8)
        backend.download(memory, found)

        assert found.tolist() == [*[0] * 37, *[200] * 27]

    def test_memory_that_cannot_be_had_is_an_error_that_says_so(self, backend: Backend) -> None:
        """With what to do about it, and the backend goes on."""
        if self.computes:
            with pytest.raises(DeviceFailed) as caught:
                backend.alloc(1 << 60)
            assert f"{1 << 60:,}" in caught.value.problem
        self.test_clearing_is_of_so_many_bytes(backend)

    def test_a_borrowed_array_is_read_and_written(self, backend: Backend) -> None:
        """What was written is in the array once it is returned; what is read may be read-only."""
        launch = self.added(backend)
        x, out = launch.arrays["x"].copy(), launch.arrays["out"].copy()
        x.flags.writeable = False
        finish = backend.finisher()
        lent, target = backend.borrow(x, read=True), backend.borrow(out, read=True)
        self.start(backend, launch, [lent, target, launch.arrays["a"][0]])
        backend.return_to(target, out)
        finish()

        if self.computes:
            assert not apart(F32, launch.expected()["out"], out).size

    def test_an_empty_array_can_be_borrowed(self, backend: Backend) -> None:
        """A call on nothing is no error."""
        nothing = np.empty(0, np.float32)

        backend.return_to(backend.borrow(nothing, read=True), nothing)

    def test_finishing_waits_for_what_was_launched(self, backend: Backend) -> None:
        """And may be asked for when nothing was."""
        backend.finisher()()
        launch = self.added(backend)
        memory, arguments = self.sent(backend, launch)
        self.start(backend, launch, arguments)
        backend.finisher()()
        backend.synchronize()
        self.check(backend, launch, memory)
