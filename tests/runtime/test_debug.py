"""Calls under `vyre.debug()`: what is found, at which line, and what is left alone."""

import linecache
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import In, Out, f32, i32, ir, u8, u32
from vyre.backend import reference
from vyre.backend.reference.watch import Doubt, Watch
from vyre.errors import DoubtFound
from vyre.ir.node import ReduceOp


def made(body: str, head: str, **options: object) -> vyre.Kernel:
    """A kernel whose lines are numbered from 1."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"def kernel({head}):\n    i = vyre.gid()\n{lines}"
    file = f"<debugged {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    types = {name: getattr(vyre, name) for name in vyre.__all__}
    space = {**types, "vyre": vyre, "TABLE": (0.5, 1.5, 2.5), "SQUARE": np.eye(2, dtype=np.float32)}
    exec(compile(source, file, "exec"), space)  # noqa: S102  # our own text
    return vyre.kernel(**options)(space["kernel"]) if options else vyre.kernel(space["kernel"])


def found(kernel: vyre.Kernel, *arrays: object, **named: object) -> list[tuple[object, ...]]:
    with vyre.debug(show=False) as report:
        kernel(*arrays, **named)
    assert all(len(line) <= 80 for line in str(report).splitlines())
    return [
        (one.kind, one.line, one.source[one.column : one.column + one.width], one.count)
        for one in report
    ]


X8 = np.arange(8, dtype=np.float32)


@vyre.kernel
def blur(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i - 1] + x[i] + x[i + 1]


def test_a_report_says_line_place_position_array_index_and_count(capsys):
    with vyre.debug() as report:
        out = blur(X8)
        blur(X8)

    assert out.tolist() == [1, 3, 6, 9, 12, 15, 18, 13]
    line = blur.__wrapped__.__code__.co_firstlineno + 3
    file = report.findings[0].file
    assert str(report) == capsys.readouterr().out.rstrip("\n")
    head, first, second = str(report).split("\n\n")
    assert head == "vyre.debug: 2 findings in 2 calls of blur"
    assert file == __file__
    for text, column, where in (
        (first, 9, "gid 0: x[4294967295] of 8, wrapped from -1"),
        (second, 27, "gid 7: x[8] of 8"),
    ):
        title, *rest = text.split("\n    out[i] = ", 1)
        title = title.replace("\n  ", " ")
        assert title.endswith(f":{line}: blur: a load out of bounds, which gives 0, 2 times")
        width = 8
        assert rest[0].splitlines() == [
            "x[i - 1] + x[i] + x[i + 1]",
            "    " + " " * column + "^" * width,
            f"    {where}",
            "    and 1 more",
            "Fix: test or clamp the index, or accept the zeros with",
            '  vyre.debug(accept="loads")',
        ]
    assert [one.positions for one in report] == [((0,),), ((7,),)]
    assert len(report) == 2
    assert report.calls == 2


def test_a_report_says_when_there_is_nothing():
    with vyre.debug(show=False) as report:
        assert str(report) == "vyre.debug: no kernel was called"
        blur(X8[:0])
    assert str(report) == "vyre.debug: nothing found in 1 call of blur"
    assert not report
    assert repr(report) == "<vyre.debug report: 0 findings in 1 calls>"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("out[i] = x[i - 1]", [("loads", 3, "x[i - 1]", 1)]),
        ("out[i + 1] = x[i]", [("stores", 3, "out[i + 1] = x[i]", 1)]),
        ("out[i] = x[i + 1] if i + 1 < len(x) else 0.0", []),
        ("out[i] = x[i + 1] if i + 2 < len(x) + 2 else 0.0", [("loads", 3, "x[i + 1]", 1)]),
        ("if i > 0 and x[i - 1] > 0:\n    out[i] = 1", []),
        ("if i == 0 or x[i - 1] > 0:\n    out[i] = 1", []),
        ("a = x[i - 1]\nout[i] = a if i > 0 else 0.0", []),
        ("a = x[i - 1]\nb = a * 2\nout[i] = b + 1 if i > 0 else 0.0", []),
        ("a = x[i - 1]\nb = a * 2\nout[i] = b + 1", [("loads", 3, "x[i - 1]", 1)]),
        (
            "s = 0.0\nfor k in range(3):\n    s += x[i + k]\nout[i] = s",
            [("loads", 5, "x[i + k]", 3)],
        ),
        (
            "t = vyre.local(f32, 5)\nt[i] = x[i]\nout[i] = t[0]",
            [("stores", 4, "t[i] = x[i]", 3)],
        ),
        (
            "t = vyre.local(f32, (2, 5))\nout[i] = t[1, i]",
            [("loads", 4, "t[1, i]", 3)],
        ),
        (
            "t = vyre.local(f32, 5)\nt[i] += x[i]",
            [("loads", 4, "t[i]", 3), ("stores", 4, "t[i] += x[i]", 3)],
        ),
        ("t = vyre.local(f32, 5)\nout[i] = t[i] if i < 5 else 0.0", []),
        ("t = vyre.local(f32, 5)\nif i < 5:\n    t[i] = x[i]", []),
        (
            "t = vyre.local(f32, 5)\nout[i] = sum(t[i + k] for k in range(2))",
            [("loads", 4, "t[i + k]", 7)],
        ),
        ("out[i] = TABLE[i]", [("loads", 3, "TABLE[i]", 5)]),
        ("out[i] = SQUARE[i, 0] + TABLE[i % 3]", [("loads", 3, "SQUARE[i, 0]", 6)]),
        ("out[i] = TABLE[i] if i < 3 else 0.0", []),
        ("out[i] = f32(u8(x[i] * 50))", [("casts", 3, "u8(x[i] * 50)", 2)]),
        ("out[i] = f32(u8(x[i] * 20))", []),
        ("out[i] = f32(u32(x[i] - 1))", [("casts", 3, "u32(x[i] - 1)", 1)]),
        ("out[i] = f32(i32(x[i] / 0 * 0))", [("casts", 3, "i32(x[i] / 0 * 0)", 8)]),
        ("out[i] = f32(u8(i * 40))", [("casts", 3, "u8(i * 40)", 1)]),
        ("out[i] = f32(i32(i - 2))", []),
        ("out[i] = f32(i32(i * 0x20000000))", [("casts", 3, "i32(i * 0x20000000)", 4)]),
        ("out[0] = x[i]", [("races", 3, "out[0] = x[i]", 7)]),
        ("out[0] = 1.0", []),
        ("out[i // 2] = f32(i // 2)", []),
        ("out[i // 2] = f32(i)", [("races", 3, "out[i // 2] = f32(i)", 4)]),
    ],
)
def test_what_is_seldom_meant_is_found_where_it_is_used(line, expected):
    assert found(made(line, "x: In[f32], out: Out[f32]"), X8) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x[i] += 1", []),
        ("x[i] = x[i + 1]", [("loads", 3, "x[i + 1]", 1), ("races", 3, "x[i] = x[i + 1]", 7)]),
        ("x[i] = 1\ny = x[7 - i]\nx[i] += y * 0", None),
        ("x[0] += 1", [("races", 3, "x[0] += 1", 8)]),
        ("vyre.atomic_add(x, 0, 1)", []),
        ("vyre.atomic_add(x, 0, 1)\nif i == 3:\n    x[0] = 5", [("races", 5, "x[0] = 5", 1)]),
        ("x[i] = vyre.atomic_add(x, 0, 1)", None),
        ("vyre.atomic_add(x, i + 1, 1)", [("stores", 3, "vyre.atomic_add(x, i + 1, 1)", 1)]),
    ],
)
def test_races_are_found_and_own_elements_and_atomics_are_none(line, expected):
    kernel = made(line, "x: InOut[u32]")

    result = found(kernel, np.zeros(8, np.uint32))

    if expected is None:
        assert {kind for kind, *_ in result} == {"races"}
    else:
        assert result == expected


GROUP = "tile = vyre.shared(f32, 8)\nlane = vyre.local_id()\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("tile[lane] = x[i]\nvyre.barrier()\nout[i] = tile[3 - lane]", []),
        ("tile[lane] = x[i]\nvyre.barrier()\nout[i] = tile[lane + 4]", "unwritten"),
        ("tile[lane] = x[i]\nout[i] = tile[u32(x[i]) * 0 + 3 - lane]", "races"),
        ("tile[lane] = x[i]\nvyre.barrier()\nout[i] = tile[lane + 5]", {"unwritten", "loads"}),
        (
            "tile[lane] = x[i]\nvyre.barrier()\ny = tile[3 - lane]\nvyre.barrier()\n"
            "tile[lane] = y\nvyre.barrier()\nout[i] = tile[lane]",
            [],
        ),
    ],
)
def test_workgroup_memory_is_watched_between_barriers(lines, expected):
    kernel = made(GROUP + lines, "x: In[f32], out: Out[f32]", workgroup=4)

    kinds = {kind for kind, *_ in found(kernel, np.arange(7, dtype=np.float32))}

    assert kinds == ({expected} if isinstance(expected, str) else set(expected))


def test_rounds_of_reductions_are_watched():
    f = ir.DataType.F32
    x = ir.BufferDecl.read("x", 0, f)
    out = ir.BufferDecl.write("out", 1, f)
    load = ir.load("x", ir.gid() + ir.var("k"))
    total = ir.reduce_("total", ReduceOp.SUM, f, "k", rounds=3, body=[ir.yield_(load)])
    program = ir.Program.wrapped(
        [x, out], (64, 1, 1), [total, ir.store("out", ir.gid(), ir.var("total"))]
    )
    watch = Watch(frozenset(Doubt))

    reference.run(program, {"x": X8, "out": np.zeros(8, np.float32)}, (8, 1, 1), watch=watch)

    (found,) = watch.found.values()
    assert (found.doubt, found.item, found.count) == (Doubt.LOADS, load, 3)
    assert [place for place, _ in found.places] == [(7, 0, 0), (6, 0, 0), (7, 0, 0)]


def test_elements_of_small_arrays_and_of_tables_are_named_with_their_place():
    kernel = made("t = vyre.local(f32, (2, 5))\nout[i] = t[1, i] + TABLE[i]", "out: Out[f32]")

    with vyre.debug(show=False) as report:
        kernel(shape=6)

    assert [one.details for one in report] == [
        ("gid 5: t[1, 5] of 2 x 5",),
        ("gid 3: table[3] of 3", "gid 4: table[4] of 3", "gid 5: table[5] of 3"),
    ]


def test_lanes_beyond_the_last_element_are_not_told_of_small_arrays():
    body = "t = vyre.local(f32, 5)\nt[i] = x[i]\nvyre.barrier()\nout[i] = t[i] + TABLE[i % 3]"
    kernel = made(body, "x: In[f32], out: Out[f32]", workgroup=8)

    assert found(kernel, np.ones(5, np.float32)) == []


@pytest.mark.parametrize("edge", ["clamp", "wrap"])
def test_arrays_that_go_on_beyond_their_edge_are_never_found(edge):
    for index in ("i + 1", "i32(i) - 3"):
        kernel = made(f"out[i] = x[{index}]", f"x: In[f32, 1, {edge!r}], out: Out[f32]")

        assert found(kernel, X8) == []


def test_elements_of_generators_are_watched():
    kernel = made("out[i] = sum(x[i + k] for k in range(3))", "x: In[f32], out: Out[f32]")

    assert found(kernel, X8) == [("loads", 3, "x[i + k]", 3)]


def test_strided_outputs_are_written_where_they_lie():
    out = np.zeros(16, np.float32)

    with vyre.debug(show=False, accept="loads") as report, pytest.warns(vyre.CopyWarning):
        blur(X8, out=out[::2])

    assert out[::2].tolist() == [1, 3, 6, 9, 12, 15, 18, 13]
    assert not report


def test_functions_name_both_lines():
    @vyre.kernel
    def outer(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = _shifted(x, i)

    with vyre.debug(show=False) as report:
        outer(X8)
    (one,) = report

    assert one.source == "return x[at + 3]"
    assert f"{outer.__wrapped__.__code__.co_firstlineno + 3}" in one.called_from


@vyre.function
def _shifted(x, at):
    return x[at + 3]


@pytest.mark.parametrize("accept", ["loads", ("loads",), ["loads", "casts"]])
def test_what_is_meant_is_accepted(accept):
    with vyre.debug(accept=accept, show=False) as report:
        blur(X8)
    assert not report


def test_the_first_finding_may_stop_a_call():
    out = np.full(8, -1, np.float32)

    with pytest.raises(DoubtFound) as caught, vyre.debug(stop=True, show=False):
        blur(X8, out=out)

    assert caught.value.problem.endswith(
        "    out[i] = x[i - 1] + x[i] + x[i + 1]\n             ^^^^^^^^\n"
        "    gid 0: x[4294967295] of 8, wrapped from -1"
    )
    assert caught.value.fix == (
        'test or clamp the index, or accept the zeros with vyre.debug(accept="loads"); '
        "what was stored before is as it is"
    )
    assert blur(X8, out=out).tolist() == [1, 3, 6, 9, 12, 15, 18, 13]


def test_positions_and_indices_have_an_axis_each():
    kernel = made("j = vyre.gid(1)\nout[i, j] = x[i + 1, j]", "x: In[f32, 2], out: Out[f32, 2]")

    with vyre.debug(show=False) as report:
        kernel(np.ones((2, 3), np.float32))
    (one,) = report

    assert one.positions == ((1, 0), (1, 1), (1, 2))
    assert one.details[1] == "gid (1, 1): x[2, 1] of 2 x 3"


def test_long_lines_and_many_kernels_fit_eighty_columns():
    terms = " + ".join(f"x[i] * {n}" for n in range(20))
    kernel = made(f"out[i] = {terms} + x[i + 1] + {terms}", "x: In[f32], out: Out[f32]")

    with vyre.debug(show=False) as report:
        kernel(X8)
    text = str(report).splitlines()

    assert max(map(len, text)) <= 80
    (line,) = (number for number, one in enumerate(text) if one.strip(" ^") == "" and "^" in one)
    start = text[line].index("^")
    assert text[line - 1][start : start + 8] == "x[i + 1]"
    assert text[line - 1].startswith("    ...")
    assert text[line - 1].endswith("...")


@pytest.mark.parametrize("device", ["reference", "cpu", "opencl"])
def test_arrays_of_every_device_are_watched_and_changed(device, capsys):
    try:
        where = vyre.open(device)
    except vyre.VyreError:
        pytest.skip("no such device")
    kernel = made("print(x[i])\nassert x[i] < 3\nx[i] += 1", "x: InOut[f32]")
    x = where.array(np.arange(3, dtype=np.float32))

    with vyre.debug(show=False) as report:
        assert kernel(x) is None

    assert np.asarray(x).tolist() == [1, 2, 3]
    assert capsys.readouterr().out == "0.0\n1.0\n2.0\n"
    assert not report
    with pytest.raises(vyre.AssertionFailed, match="at gid 2"), vyre.debug(show=False):
        kernel(x)
    assert np.asarray(x).tolist() == [2, 3, 3]


def test_inputs_that_overlap_outputs_are_read_first():
    kernel = made("out[i] = x[i] + y[i]", "x: In[f32], y: In[f32], out: Out[f32]")
    memory = np.arange(9, dtype=np.float32)
    expected = (memory[:8] + memory[1:]).tolist()

    with vyre.debug(show=False) as report:
        kernel(memory[:8], memory[1:], out=memory[1:])

    assert memory[1:].tolist() == expected
    assert not report


def test_bools_and_narrow_types_go_through():
    kernel = made("out[i] = u8(flags[i] != 0)", "flags: In[u8], out: Out[u8]")

    with vyre.debug(show=False) as report:
        assert kernel(np.array([True, False])).tolist() == [1, 0]
    assert not report


def test_a_block_is_of_its_thread_and_what_is_decided_in_it_is_watched_too():
    seen: list[int] = []

    with vyre.debug(show=False) as report:
        with vyre.mode("off"), vyre.policy("fixed"):
            blur(X8)
        elsewhere = threading.Thread(target=lambda: seen.append(int(blur(X8)[0])))
        elsewhere.start()
        elsewhere.join()

    assert report.calls == 1
    assert seen == [1]
    blur(X8)
    assert report.calls == 1


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=33),
    st.lists(st.integers(0, 9), min_size=33, max_size=33),
)
def test_races_of_stores_are_those_of_a_plain_model(places, values):
    """Positions that store something else than the one before them did, at one element."""
    at = np.array(places, np.uint32)
    given = np.array(values[: len(places)], np.uint32)
    last: dict[int, int] = {}
    expected = 0
    for place, value in zip(places, given.tolist(), strict=True):
        if place in last and last[place] != value:
            expected += 1
        last[place] = value

    with vyre.debug(show=False) as report:
        scatter(at, given, out=np.zeros(10, np.uint32), shape=len(places))

    assert sum(one.count for one in report) == expected


@vyre.kernel
def scatter(at: In[u32], values: In[u32], out: Out[u32]):
    i = vyre.gid()
    out[at[i]] = values[i]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20))
def test_casts_are_those_that_python_says_change_a_number(numbers):
    x = np.array(numbers, np.int32)

    with vyre.debug(show=False) as report:
        narrowed(x)

    expected = sum(not 0 <= number < 256 for number in numbers)
    assert sum(one.count for one in report) == expected


@vyre.kernel
def narrowed(x: In[i32], out: Out[u8]):
    i = vyre.gid()
    out[i] = u8(x[i])


REFUSED = {
    "stop=1": (lambda: vyre.debug(stop=1), "stop= of vyre.debug is 1", "pass True or False"),
    "show=None": (
        lambda: vyre.debug(show=None),
        "show= of vyre.debug is None",
        "pass True or False",
    ),
    "accept=3": (
        lambda: vyre.debug(accept=3),
        "accept= of vyre.debug is 3",
        'pass one or several of "loads", "stores", "unwritten", "casts", "races"',
    ),
    "accept='bounds'": (
        lambda: vyre.debug(accept="bounds"),
        "accept= of vyre.debug names 'bounds'",
        'pass one or several of "loads", "stores", "unwritten", "casts", "races"',
    ),
    "accept=zeros": (
        lambda: vyre.debug(accept=np.zeros((1, 2))),
        "accept= of vyre.debug names array([0., 0.])",
        'pass one or several of "loads", "stores", "unwritten", "casts", "races"',
    ),
    "accept=[1]": (
        lambda: vyre.debug(accept=[1]),
        "accept= of vyre.debug names 1",
        'pass one or several of "loads", "stores", "unwritten", "casts", "races"',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_wish_is_refused(case):
    act, problem, fix = REFUSED[case]

    with pytest.raises(vyre.InvalidInput) as caught:
        act()
    assert (caught.value.problem, caught.value.fix) == (problem, fix)


def test_a_process_without_output_is_watched_as_well(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)

    with vyre.debug() as report:
        made("print(x[i])", "x: InOut[f32]")(np.zeros(3, np.float32))
    assert not report
