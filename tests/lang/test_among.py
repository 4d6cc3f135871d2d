"""Workgroups that an author names, and workgroup memory of several axes: what is refused."""

import linecache
from itertools import count

import numpy as np
import pytest

import vyre
from vyre.errors import InvalidInput, LanguageError

NUMBER = count()
HEAD = "def k(x: In[f32], out: Out[f32]):\n    i, t = vyre.gid(), vyre.local_id()\n"
NAMES = {"SHAPE": (4, 8), "FLAT": (), "DEEP": (2, 2, 2, 2), "N": 7, "HALVES": 1.5}


def told(body: str, workgroup: object, head: str = HEAD) -> str:
    """The message for a kernel of these lines, without its file and the lines shown."""
    text = head + "".join(f"    {line}\n" for line in body.splitlines())
    file = f"<among {next(NUMBER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {**vars(vyre), **NAMES, "vyre": vyre, "__name__": "told"}
    exec(compile(text, file, "exec"), space)  # noqa: S102  # our own text
    with pytest.raises((LanguageError, InvalidInput)) as caught:
        vyre.kernel(workgroup=workgroup)(space["k"])
    first, *_, last = str(caught.value).splitlines()
    return f"{first.removeprefix(file + ':')}\n{last}"


@pytest.mark.parametrize(
    ("sizes", "problem", "fix"),
    [
        (
            (),
            "among() names no workgroup",
            "name those that compute the same, for example vyre.among(64, 128, 256)",
        ),
        *(
            (
                (64, wrong),
                f"among() names {wrong!r}, which is not 1 to 3 whole numbers from 1",
                "name workgroups, for example vyre.among(64, 128) or vyre.among((8, 8), (16, 16))",
            )
            for wrong in (0, -64, 1.5, None, "64", True, (8, 0), (), (1, 2, 3, 4), (8, None))
        ),
        ((64, 128, 64), "among() names 64 twice", "name each workgroup once"),
        ((64, (1, 64)), "among() names (1, 64) twice", "name each workgroup once"),
        (
            tuple(range(1, 34)),
            "among() names 33 workgroups; 32 allowed",
            "name those that are worth a try",
        ),
    ],
)
def test_names_that_are_none_are_refused(sizes, problem, fix):
    with pytest.raises(InvalidInput) as caught:
        vyre.among(*sizes)

    assert str(caught.value) == f"{problem}\nFix: {fix}"


def test_a_list_of_among_is_no_workgroup_of_its_own():
    with pytest.raises(InvalidInput) as caught:
        vyre.among(vyre.among(64), 128)
    assert "which is not 1 to 3 whole numbers from 1" in str(caught.value)


@pytest.mark.parametrize(
    ("extents", "problem", "fix"),
    [
        (
            "FLAT",
            "workgroup memory of 0 axes; 1 to 3 allowed",
            "write vyre.shared(f32, 256) or vyre.shared(f32, (16, 16))",
        ),
        (
            "DEEP",
            "workgroup memory of 4 axes; 1 to 3 allowed",
            "write vyre.shared(f32, 256) or vyre.shared(f32, (16, 16))",
        ),
        (
            "(2, 2, 2, 2)",
            "workgroup memory of 4 axes; 1 to 3 allowed",
            "write vyre.shared(f32, 256) or vyre.shared(f32, (16, 16))",
        ),
        *(
            (
                written.format(wrong),
                f"the count {wrong} is not a constant whole number from 1",
                "write a number, a name from outside the kernel, or vyre.workgroup_size()",
            )
            for written in ("{}", "(4, {})")
            for wrong in ("0", "1.5", "True", "i", "len(x)", "i + vyre.workgroup_size()", "x[0]")
        ),
        (
            "HALVES",
            "the count HALVES, which is 1.5, is not a constant whole number from 1",
            "write a number, a name from outside the kernel, or vyre.workgroup_size()",
        ),
        (
            "(4, HALVES - 2)",
            "the count HALVES - 2, which is -0.5, is not a constant whole number from 1",
            "write a number, a name from outside the kernel, or vyre.workgroup_size()",
        ),
        (
            "(4, *SHAPE)",
            "the count *SHAPE is not a constant whole number from 1",
            "write a number, a name from outside the kernel, or vyre.workgroup_size()",
        ),
        (
            "vyre.workgroup_size() - 64",
            "the count vyre.workgroup_size() - 64 is below 1 in workgroup 64",
            "write what is at least 1 in every workgroup",
        ),
        (
            "(4, vyre.workgroup_size() - 65)",
            "the count vyre.workgroup_size() - 65 is below 1 in workgroup 64",
            "write what is at least 1 in every workgroup",
        ),
        (
            "(4096, 64 * vyre.workgroup_size())",
            "33,554,432 elements of workgroup memory in workgroup 128; 16,777,216 allowed",
            "use an array of the kernel for what does not fit a workgroup's memory",
        ),
    ],
)
def test_extents_that_are_none_are_refused(extents, problem, fix):
    body = f"tile = vyre.shared(f32, {extents})\nout[i] = x[i]"

    assert told(body, vyre.among(64, 128)) == f"3: {problem}\nFix: {fix}"


def test_too_much_memory_of_one_workgroup_is_refused():
    body = "tile = vyre.shared(f32, (4096, 4097))\nout[i] = x[i]"

    assert told(body, 64) == (
        "3: 16,781,312 elements of workgroup memory; 16,777,216 allowed\n"
        "Fix: use an array of the kernel for what does not fit a workgroup's memory"
    )


@pytest.mark.parametrize(
    ("body", "problem", "fix"),
    [
        ("tile[0] = 1", "'tile' has 2 axes and is indexed with 1", "write tile[i, j]"),
        (
            "tile[0, 8] = 1",
            "index 8 of 'tile' is out of bounds; it has 8",
            "use an index from 0 to 7",
        ),
        (
            "tile[4, 0] = 1",
            "index 4 of 'tile' is out of bounds; it has 4",
            "use an index from 0 to 3",
        ),
        (
            "tile[-1, 0] = 1",
            "index -1 of 'tile' is negative",
            "count from the start: len(tile) - 1",
        ),
        ("out[i] = tile.shape[2]", "axis 2 of 'tile', which has 2 axes", "use 0 to 1"),
    ],
)
def test_memory_of_two_axes_is_indexed_by_both(body, problem, fix):
    assert told(f"tile = vyre.shared(f32, SHAPE)\n{body}", 64) == f"4: {problem}\nFix: {fix}"


RESULT = (
    "out is indexed by workgroup_id(), so that its shape depends on the workgroup, and this kernel "
    "names several\nFix: index it by vyre.gid(), add up with an atomic, or declare one workgroup "
    "alone: workgroup=64"
)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("out[vyre.workgroup_id()] = x[i]", 3),
        ("g = vyre.workgroup_id()\nout[g] = x[i]", 4),
        ("g = vyre.workgroup_id()\nif t == 0:\n    out[g * 2 + 1] = x[i]", 5),
        ("out[vyre.workgroup_id() * 128 + t] = x[i]", 3),
        ("n = vyre.workgroup_size()\nn = 64\nout[vyre.workgroup_id() * n + t] = x[i]", 5),
        ("out[vyre.workgroup_id() * t] = x[i]", 3),
        ("out[u32(x[vyre.workgroup_id()])] = x[i]", 3),
        ("for k in range(vyre.workgroup_id()):\n    out[k] = x[i]", 4),
        ("g = u32(0)\nfor k in range(3):\n    out[g] = x[i]\n    g = vyre.workgroup_id()", 5),
        ("g = vyre.workgroup_id() // vyre.workgroup_size()\nout[g] = x[i]", 4),
        ("out[3 * vyre.workgroup_size() * (vyre.workgroup_id() // 2)] = x[i]\n"
         "out[vyre.workgroup_id() + 1] = x[i]", 4),
    ],
)  # fmt: skip
def test_a_result_of_each_workgroup_is_refused_at_its_line(body, line):
    assert told(body, vyre.among(64, 128)) == f"{line}: {RESULT}"


def test_an_atomic_on_what_each_workgroup_has_is_refused_as_well():
    head = "def k(x: In[f32], into: InOut[u32]):\n    i, t = vyre.gid(), vyre.local_id()\n"

    said = told("vyre.atomic_add(into, vyre.workgroup_id(), 1)", vyre.among(64, 128), head)

    assert said == f"3: {RESULT.replace('out is', 'into is')}"


@pytest.mark.parametrize(
    "body",
    [
        "out[vyre.workgroup_id() * vyre.workgroup_size() + t] = x[i]",
        "n = vyre.workgroup_size()\nout[t + n * vyre.workgroup_id()] = x[i]",
        "tile = vyre.shared(f32, 2 * vyre.workgroup_size())\n"
        "out[vyre.workgroup_id() * len(tile) + t] = x[i]",
        "tile = vyre.shared(f32, (2, vyre.workgroup_size()))\n"
        "out[tile.shape[1] * (vyre.workgroup_id() + 1)] = x[i]",
        "tile = vyre.shared(f32, 9)\nif t == 0:\n    tile[vyre.workgroup_id()] = x[i]\n"
        "out[i] = x[i]",
        "out[i] = x[vyre.workgroup_id()]",
        "if vyre.workgroup_id() == 0:\n    out[i] = x[i]",
        "g = 0\nwhile g < 3:\n    g += 1\nout[i] = x[i]",
    ],
)
def test_positions_and_reads_by_workgroup_are_not(body):
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        told(body, vyre.among(64, 128))


def test_a_barrier_that_is_missing_in_one_workgroup_is_said_of_that_one():
    body = "tile = vyre.shared(f32, (2, 64))\ntile[0, t % 64] = x[i]\nout[i] = tile[0, t]"

    assert told(body, vyre.among(64, 128)) == (
        "4: lane 0 writes tile[0, 0] here and lane 64 writes it here too, and nothing says which "
        "of them is last (in workgroup 128)\n"
        "Fix: let one lane write it, under an if, or use an atomic"
    )


def test_each_workgroup_that_is_named_has_as_many_axes_as_the_kernel():
    assert told("out[i] = x[i]", vyre.among(64, (2, 32))) == (
        "workgroup (2, 32) has 2 axes, and k uses gid of 1\n"
        "Fix: give 1 of them, or use vyre.gid(1) in the kernel"
    )


def test_one_that_is_named_alone_is_declared():
    @vyre.kernel(workgroup=vyre.among(32))
    def alone(x: vyre.In[vyre.f32], out: vyre.Out[vyre.f32]):
        tile = vyre.shared(vyre.f32, (1, vyre.workgroup_size(), 2))
        tile[0, vyre.local_id(), 1] = x[vyre.gid()]
        out[vyre.gid()] = tile[0, vyre.local_id(), 1] + vyre.f32(tile.size)

    assert not alone.program.options.among
    assert alone.program.buffer("tile").shape == (1, 32, 2)


@pytest.mark.parametrize("device", ["reference", "cpu", "opencl"])
def test_beyond_an_axis_of_workgroup_memory_there_is_0_and_nothing_is_stored(device):
    @vyre.kernel(workgroup=8)
    def edges(x: vyre.In[vyre.f32], out: vyre.Out[vyre.f32]):
        self = vyre.shared(vyre.f32, (2, 4))
        range_ = vyre.local_id()
        if range_ < 8:
            self[range_ // 4, range_ % 4] = x[vyre.gid()]
        vyre.barrier()
        if range_ == 0:
            self[0, range_ + 4] = 99  # not the first element of the next row
            self[range_ + 2, 0] = 99
        vyre.barrier()
        out[vyre.gid()] = self[0, range_] + 10 * self[1, range_] + 100 * self[range_, 1]

    x = np.arange(1, 9, dtype=np.float32)
    place = vyre.open(device)
    tile = np.zeros((9, 9), np.float32)
    tile[:2, :4] = x.reshape(2, 4)
    wanted = tile[0, :8] + 10 * tile[1, :8] + 100 * tile[:8, 1]

    assert np.asarray(edges(place.array(x))).tolist() == wanted.tolist()
