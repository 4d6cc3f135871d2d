"""A process that calls functions and kernels of which some configs go wrong, and tells what came.

    python -c "from vyre.testing.fault_calls import main; main()" '{"adapter": "tuned", ...}'

Times are from a table in which whatever goes wrong is fastest, so that it would serve. Nothing is
taken on trust of what it checks: each result is compared here with what it should be, and each
config that ran in this process is noted.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import vyre
from vyre import settings
from vyre.adapter import beside
from vyre.adapter import tuned as tuned_module
from vyre.adapter.calls import Calls
from vyre.adapter.kind import Job
from vyre.adapter.made import knobs_of
from vyre.adapter.template import variants
from vyre.learn.subject import Elapsed
from vyre.runtime.compile.worker import Refused
from vyre.testing import fault_cuda, faults
from vyre.testing.foreign import AT_ONCE, Bench, TablePlace, failures, learning

try:
    import resource
except ImportError:  # of Windows, where nothing like it is
    resource = None  # type: ignore[assignment]  # it is asked for

SMALL, LARGE = 64, 1024
_MEMORY = 16 << 30
_MOST_CALLS, _AFTERWARDS = 400, 12
_SLOW_NS, _RIGHT_NS, _WRONG_NS = 1_000_000, 400_000, 100_000
_HANGING_S, _PATIENT_S = 2.0, 120.0
RIGHT = ("first", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What one process does: an adapter, and configs of its function in order, by their names."""

    adapter: str
    ways: tuple[str, ...]
    seed: int = 0

    @property
    def wrong(self) -> tuple[str, ...]:
        return tuple(one for one in self.ways if one not in RIGHT)


@dataclass(slots=True)
class Came:
    """What came of it."""

    calls: int = 0
    wrong: list[str] = field(default_factory=list)  # results that are not what they should be
    served: list[str] = field(default_factory=list)  # configs that ran here and should not
    dropped: dict[str, str] = field(default_factory=dict)  # what was found, and why
    unreached: list[str] = field(default_factory=list)
    chosen: str = ""
    first_s: float = 0.0
    longest_s: float = 0.0  # of the calls that followed


_ran: list[tuple[str, int]] = []
"""The ways that ran in this process, and on how many elements."""


def _fast(way: str) -> int:
    return {"first": _SLOW_NS, "right": _RIGHT_NS}.get(way, _WRONG_NS)


def _shows(way: str, size: int) -> bool:
    """Whether what goes wrong does so on so many elements."""
    return way not in RIGHT and (size >= faults.LARGE or "large" not in way)


def function(x: Any, held: list[float], *, how: str) -> Any:
    """What is tuned: a config says by its name what goes wrong."""
    _ran.append((how, len(x)))
    return faults.work(x, held) if how in RIGHT else faults.FUNCTIONS[how](x, held)


@contextmanager
def _tuned(drawn: Drawn) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    place = TablePlace(lambda: _fast(_ran[-1][0]))
    made = vyre.tuned(function, space={"how": drawn.ways}, check=True)

    def call(size: int) -> str:
        x, held = np.arange(1.0, size + 1), [0.5]
        before = len(_ran)
        given = made(x, held)
        wanted_x, wanted_held = np.arange(1.0, size + 1), [0.5]
        wanted = faults.work(wanted_x, wanted_held)
        if len(_ran) != before + 1:
            return f"{len(_ran) - before} runs for a call"
        same = (
            _said(given) == _said(wanted)
            and _said((x, held)) == _said((wanted_x, wanted_held))
            and not np.shares_memory(x, given[0])
        )
        return "" if same else f"{given!r} of {x!r}, {held!r}"

    with mock.patch.object(tuned_module, "HOST", place):
        yield made._calls, call


def _said(value: Any) -> Any:
    """A value with its types, so that no equality of another kind is asked."""
    if type(value) is np.ndarray:
        return ("ndarray", value.dtype.str, value.shape, value.tobytes())
    if type(value) in (tuple, list):
        return (type(value).__name__, [_said(one) for one in value])
    if type(value) is dict:
        return ("dict", [(key, _said(one)) for key, one in value.items()])
    return (type(value).__name__, repr(value))


_BODY = "x[i] = 2 * i + 1;"


def _opencl_source(ways: Sequence[str], when: Callable[[int], str]) -> str:
    """A kernel that goes wrong in its own way under each config."""
    bodies = "\n".join(
        f"{when(n)} {{ {faults.KERNELS[way]} }}" for n, way in enumerate(ways) if way not in RIGHT
    )
    return (
        "__kernel void work(__global float *x, __global float *y, int n) {\n"
        f"    int i = get_global_id(0);\n    if (i < n) {{\n{_BODY}\n{bodies}\n    }}\n}}\n"
    )


@contextmanager
def _opencl(drawn: Drawn) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    import pyopencl as cl

    adapter: Any = import_module("vyre.adapter.opencl")  # it loads the library
    locals_ = {1 << n: way for n, way in enumerate(drawn.ways)}
    source = _opencl_source(drawn.ways, lambda n: f"if (get_local_size(0) == {1 << n})")
    context = cl.create_some_context(interactive=False)
    timed = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=timed)
    kernel = cl.Kernel(cl.Program(context, source).build(), "work")
    kernel.set_scalar_arg_dtypes([None, None, np.int32])
    made = adapter.tuned(kernel, local=tuple(locals_), check=True)
    make = adapter._Locals.make

    def making(self: Any, config: Any) -> Any:
        start = make(self, config)

        def starting(arguments: Any, stream: int) -> Any:
            _ran.append((locals_[config["local"]], self.size[0]))
            return start(arguments, stream)

        return starting

    def call(size: int) -> str:
        x, y = np.zeros(size, "f4"), np.zeros(size, "f4")
        flags = cl.mem_flags.COPY_HOST_PTR
        held = [cl.Buffer(context, flags, hostbuf=one) for one in (x, y)]
        made(queue, (size,), (1,), *held, size)
        for one, buffer in zip((x, y), held, strict=True):
            cl.enqueue_copy(queue, one, buffer)
        return faults.left_wrong(x, y)

    with (
        mock.patch.object(adapter._Locals, "make", making),
        mock.patch.object(adapter.Queues, "time", _time),
        mock.patch.object(adapter.Queues, "pace", AT_ONCE),
    ):
        yield made._calls, call


def _time(_: Any, __: int, launch: Callable[[], object]) -> Elapsed:
    launch()
    return Elapsed(_fast(_ran[-1][0]))


@contextmanager
def _template(drawn: Drawn) -> Iterator[tuple[Calls, Callable[[int], str]]]:
    source = _opencl_source(drawn.ways, lambda n: f"if (HOW == {n})")
    made = vyre.template(
        source,
        "work",
        params={"block_size_x": [16], "HOW": list(range(len(drawn.ways)))},
        language="opencl",
        check=True,
    )
    device = vyre.open("opencl")
    make = variants.Compiled.make

    def making(self: Any, config: Any) -> Any:
        start = make(self, config)

        def starting(arguments: Any, stream: int) -> Any:
            _ran.append((drawn.ways[config["HOW"]], 0))
            return start(arguments, stream)

        return starting

    def call(size: int) -> str:
        x, y = device.zeros(size, np.float32), device.zeros(size, np.float32)
        before = len(_ran)
        made(x, y, size, size=size)
        _ran[before:] = [(way, size) for way, _ in _ran[before:]]
        return faults.left_wrong(np.asarray(x), np.asarray(y))

    with (
        mock.patch.object(variants.Compiled, "make", making),
        mock.patch.object(variants.OnTexts, "time", _time),
        mock.patch.object(variants.OnTexts, "pace", AT_ONCE),
    ):
        yield made._calls, call


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Where configs go wrong.

    Args:
        begin: makes what is called, for a while.
        faults: what can go wrong there, by name.
        says: the setting of a config that says which way it goes.
        way: the way, by that setting and all ways; without it the setting is the way.
        at_once: faults of one process; of sizes of a block there are no more.
    """

    begin: Callable[[Drawn], AbstractContextManager[tuple[Calls, Callable[[int], str]]]]
    faults: Mapping[str, object]
    says: str
    way: Callable[[str, Sequence[str]], str] = lambda said, _: said
    at_once: int = 5

    def way_of(self, drawn: Drawn, config: str) -> str:
        """The way of a config, by its text or as JSON."""
        pattern = rf"""\b{self.says}"?(?:=|: )["']?([^"',}}]*)"""
        said = re.search(pattern, config)
        assert said is not None, f"{config} says no {self.says}"
        return self.way(said[1], drawn.ways)


def _by_number(said: str, ways: Sequence[str]) -> str:
    return ways[int(said)]


def _by_power(said: str, ways: Sequence[str]) -> str:
    return ways[int(said).bit_length() - 1]


def _on_cuda(name: str) -> Callable[[Drawn], Any]:
    """Kernels on a CUDA device, whose libraries are loaded where they are asked for."""

    def begin(drawn: Drawn) -> Any:
        return getattr(fault_cuda, name)(
            drawn.ways, RIGHT, lambda way, size: _ran.append((way, size)), _time
        )

    return begin


_NEVER_BUILT = ("is no CUDA", "has no room")  # whatever the block is: it is one text for all

ADAPTERS = {
    "tuned": Adapter(begin=_tuned, faults=faults.FUNCTIONS, says="how", at_once=8),
    "opencl": Adapter(begin=_opencl, faults=faults.KERNELS, says="local", way=_by_power),
    "template": Adapter(begin=_template, faults=faults.KERNELS, says="HOW", way=_by_number),
}
ON_CUDA = {
    "cuda-template": Adapter(
        begin=_on_cuda("template"), faults=fault_cuda.KERNELS, says="HOW", way=_by_number
    ),
    "cupy": Adapter(
        begin=_on_cuda("cupy"),
        faults={name: one for name, one in fault_cuda.KERNELS.items() if name not in _NEVER_BUILT},
        says="block",
        way=_by_power,
    ),
    "triton": Adapter(
        begin=_on_cuda("triton"),
        faults=dict.fromkeys(one for one in fault_cuda.OF_TRITON if one not in RIGHT),
        says="HOW",
        way=lambda said, _: fault_cuda.OF_TRITON[int(said)],
    ),
}
"""What needs a CUDA device, and the libraries by whose names they go."""

ALL = {**ADAPTERS, **ON_CUDA}


def _limit(drawn: Drawn) -> Callable[[Any, Job], float]:
    """What hangs is given two seconds, and what does not as long as a busy machine takes."""
    hanging = {*faults.HANGING, *faults.KERNEL_HANGING}

    def is_hanging(job: Job) -> bool:
        config = job.given.get("config")
        if drawn.adapter == "template" and config is None:  # it is compiled, and partly launched
            said = re.findall(r"#define HOW (\d+)", json.dumps(job.given))
            return any(drawn.ways[int(one)] in hanging for one in said)
        if config is None:
            return False
        return ALL[drawn.adapter].way_of(drawn, json.dumps(config)) in hanging

    return lambda _, job: _HANGING_S if is_hanging(job) else _PATIENT_S


def _all_tried() -> None:
    beside.compiling().submit(Job(entry="vyre.adapter.none:none")).wait(_PATIENT_S)
    beside.trying().submit(Job(entry="vyre.adapter.none:none")).wait(_PATIENT_S)


def _dropped(calls: Calls, drawn: Drawn) -> dict[str, str]:
    """The ways that were dropped, by any kind of the calls."""
    found = {}
    for entry in calls.entries:
        fell = {one.text: why for one, why in entry.made.admitted.fell.items()}
        for text, why in {**fell, **failures(entry)}.items():
            found[ALL[drawn.adapter].way_of(drawn, text)] = why[:300]
    return found


def _tried_directly(calls: Calls, drawn: Drawn, known: Container[str]) -> dict[str, str]:
    """What is found of the ways that the learner, which has enough, did not ask for."""
    found = {}
    entry = calls.entries[-1]
    admitted = entry.made.admitted
    assert admitted.trials is not None
    for config in map(knobs_of, entry.call.subject.question().candidates):
        way = ALL[drawn.adapter].way_of(drawn, config.text)
        if way in drawn.wrong and way not in known and config not in admitted:
            answer = admitted.trials.submit(admitted.default, config).wait(_PATIENT_S)
            if isinstance(answer, Refused):
                found[way] = answer.reason[:300]
    return found


def calling(drawn: Drawn) -> Came:
    """Call until each fault was found or nothing more is asked for, and then go on calling."""
    came, bench = Came(), Bench()
    sizes = (SMALL, LARGE) if any("large" in one for one in drawn.ways) else (SMALL,)
    before: Any = None
    with ExitStack() as stack:
        stack.enter_context(learning(bench))
        stack.enter_context(mock.patch.object(beside.Jobs, "limit_s", _limit(drawn)))
        calls, call = stack.enter_context(ALL[drawn.adapter].begin(drawn))
        left = _AFTERWARDS
        for number in range(_MOST_CALLS):
            began = time.monotonic()
            problem = call(sizes[number % len(sizes)])
            took_s = time.monotonic() - began
            came.calls += 1
            before = before or _process()  # what libraries set when they are loaded is in it
            came.wrong += [problem] if problem else []
            if number < len(sizes):
                came.first_s = max(came.first_s, took_s)
            else:
                came.longest_s = max(came.longest_s, took_s)
            assert bench.deciders.desk.drained(_PATIENT_S)
            _all_tried()
            left -= {*drawn.wrong} <= {*_dropped(calls, drawn)}
            if left <= 0:
                break
        came.dropped = _dropped(calls, drawn)
        came.dropped |= _tried_directly(calls, drawn, came.dropped)
        came.chosen = calls.entries[-1].chosen.text
    came.unreached = [one for one in drawn.wrong if one not in came.dropped]
    came.served = sorted({way for way, size in _ran if _shows(way, size)})
    came.wrong += [] if _process() == before else ["the process is another"]
    return came


def _process() -> Any:
    return Path.cwd(), settings.environment(), signal.getsignal(signal.SIGTERM), np.geterr()


def main() -> None:
    """Do what the one argument says, and print what came of it as the last line."""
    said = json.loads(sys.argv[1])
    # What allocates without end comes to one, and so do its like; CUDA itself takes more addresses.
    if said["adapter"] not in ON_CUDA and resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.RLIM_INFINITY))
    came = calling(Drawn(adapter=said["adapter"], ways=tuple(said["ways"])))
    sys.stdout.write(json.dumps(asdict(came)) + "\n")
