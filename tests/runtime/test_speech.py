"""What kernels say while they run: where, in which order, how often, and with which error."""

# ruff: noqa: T201  # kernels print

import traceback
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre import In, InOut, Out, bool_, f32, f64, i8, i16, i32, i64, ir, u8, u16, u32, u64
from vyre.backend.base import Job
from vyre.emit import spoken
from vyre.errors import AssertionFailed, UnsupportedFeature

SPEAKING = ("reference", "cpu")


@pytest.fixture(params=SPEAKING)
def device(request):
    return vyre.open(request.param)


@vyre.kernel
def loud(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    if x[i] > 2:
        print("at", i, f"{x[i]:.2f}", x[i] > 4, sep="|")
    print(i, end=";\n")
    out[i] = x[i]


@pytest.mark.parametrize("size", [1, 31, 33, 1023, 1025])
def test_lines_are_whole_and_in_the_order_of_positions(device, capsys, size):
    x = np.arange(size, dtype=np.float32)

    result = loud(device.array(x))

    expected = []
    for i in range(size):
        if i > 2:
            expected.append(f"at|{i}|{i:.2f}|{i > 4}")
        expected.append(f"{i};")
    assert capsys.readouterr().out.splitlines() == expected
    assert np.asarray(result).tolist() == x.tolist()


def test_nothing_to_cover_says_nothing(device, capsys):
    loud(device.array(np.zeros(0, np.float32)))

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("mode", ["natural", "on", "off"])
def test_a_call_is_said_once_in_every_mode(device, capsys, mode):
    x, out = device.array(np.zeros(3, np.float32)), device.array(np.zeros(3, np.float32))

    with vyre.mode(mode):
        for _ in range(5):
            loud(x, out=out)
            assert capsys.readouterr().out == "0;\n1;\n2;\n"


def test_what_is_prepared_is_said_at_each_launch_alone(device, capsys):
    launch = loud.prepare(device.array(np.zeros(2, np.float32)))

    assert capsys.readouterr().out == ""
    for _ in range(3):
        launch()
        assert capsys.readouterr().out == "0;\n1;\n"


def test_nothing_is_tried_out_of_what_speaks(device, capsys):
    x = device.array(np.zeros(8, np.float32))

    decision = loud.tune(x, budget_s=0.5)

    assert capsys.readouterr().out == ""
    assert decision.reason is vyre.Reason.NOT_FREE
    assert decision.detail == "what it prints or asserts would be said once for each trial"


def test_numpy_arrays_are_heard_as_well(capsys):
    loud(np.zeros(1, np.float32))

    assert capsys.readouterr().out == "0;\n"


@vyre.kernel
def every_type(
    a: u8, b: u16, c: u32, d: u64, e: i8, f: i16, g: i32, h: i64, s: f32, t: f64, y: bool_,
    out: Out[u32],
):  # fmt: skip
    out[vyre.gid()] = 0
    print(a, b, c, d, e, f, g, h, s, t, y)


@given(
    st.integers(0, 2**64 - 1),
    st.floats(width=32),
    st.floats(),
    st.booleans(),
)
def test_every_type_is_shown_by_its_own_digits(bits, single, double, flag):
    def low(width: int, *, signed: bool) -> int:
        value = bits % 2**width
        return value - 2**width if signed and value >= 2 ** (width - 1) else value

    scalars = {
        **{n: low(w, signed=False) for n, w in zip("abcd", (8, 16, 32, 64), strict=True)},
        **{n: low(w, signed=True) for n, w in zip("efgh", (8, 16, 32, 64), strict=True)},
        "s": np.float32(single),
        "t": np.float64(double),
        "y": flag,
    }
    expected = " ".join(str(value) for value in scalars.values()) + "\n"
    for name in SPEAKING:
        out = vyre.open(name).array(np.ones(1, np.uint32))
        with pytest.MonkeyPatch.context() as patch:
            said: list[str] = []
            patch.setattr("sys.stdout.write", said.append)
            every_type(out=out, **scalars)
        assert said == [expected], name


@vyre.kernel
def checked(x: In[f32], out: Out[f32], most: f32):
    i = vyre.gid()
    v = x[i]
    assert v <= most, "too large"
    assert v >= 0
    out[i] = v


def test_an_assertion_that_holds_changes_nothing(device):
    x = np.arange(100, dtype=np.float32)

    assert np.asarray(checked(device.array(x), most=99.0)).tolist() == x.tolist()


@pytest.mark.parametrize("size", [50, 1025, 70_000])
def test_an_assertion_that_fails_is_an_error_at_its_line(device, size):
    x = np.arange(size, dtype=np.float32)
    x[40] = -1
    given, out = device.array(x), device.array(np.zeros(size, np.float32))

    for _ in range(3):  # the long way and the short ones
        with pytest.raises(AssertionFailed) as caught:
            checked(given, out=out, most=43.0)
        file, line, rest = str(caught.value).split(":", 2)
        assert file == __file__
        assert "assert v >= 0" in _line(int(line))
        assert rest == (
            " assertion failed in checked at gid 40: v >= 0\n"
            "    assert v >= 0\n"
            "           ^^^^^^\n"
            "Fix: look at what the kernel was given there, or correct the assertion; what was "
            "stored before is as it is"
        )
    assert np.asarray(out)[:40].tolist() == x[:40].tolist()
    assert np.asarray(out)[40] == 0
    with pytest.raises(AssertionFailed, match="at gid 20: too large"):
        checked(given, out=out, most=19.0)


def _line(number: int) -> str:
    return Path(__file__).read_text(encoding="utf-8").splitlines()[number - 1]


def test_a_prepared_launch_fails_at_its_line_too(device):
    launch = checked.prepare(device.array(np.full(5, 9, np.float32)), most=1.0)

    for _ in range(2):
        with pytest.raises(AssertionFailed, match="in checked at gid 0: too large"):
            launch()


def test_a_label_stands_before_a_failure(device):
    with pytest.raises(AssertionFailed, match=r"^step 3: .*py:\d+: assertion failed in checked"):
        checked(
            device.array(np.full(5, 9, np.float32)),
            most=1.0,
            config=vyre.DispatchConfig(label="step 3"),
        )


@vyre.kernel
def deep(x: In[f32, 3], out: Out[f32, 3]):
    i, j, k = vyre.gid(0), vyre.gid(1), vyre.gid(2)
    total = 0.0
    for step in range(k):
        if step == 3:
            print(i, j, k)
        assert step < 4
        total += x[i, j, step]
    out[i, j, k] = total


def test_positions_are_numpys(device, capsys):
    x = device.array(np.zeros((2, 3, 6), np.float32))

    with pytest.raises(AssertionFailed, match=r"in deep at gid \(0, 0, 5\): step < 4"):
        deep(x)
    assert capsys.readouterr().out.splitlines() == [
        f"{i} {j} {k}" for i in range(2) for j in range(3) for k in (4, 5)
    ]


@vyre.kernel(workgroup=4)
def grouped(x: In[f32], out: Out[f32]):
    tile = vyre.shared(f32, 4)
    lane, i = vyre.local_id(), vyre.gid()
    tile[lane] = x[i]
    print("lane", i)
    assert x[i] != 0, "a zero"
    vyre.barrier()
    out[i] = tile[3 - lane]


def test_lanes_beyond_the_end_say_nothing_and_barriers_are_kept(device, capsys):
    x = np.arange(1, 7, dtype=np.float32)

    assert np.asarray(grouped(device.array(x))).tolist() == [4, 3, 2, 1, 0, 0]
    assert capsys.readouterr().out == "".join(f"lane {i}\n" for i in range(6))

    x[4] = 0
    with pytest.raises(AssertionFailed, match="at gid 4: a zero"):
        grouped(device.array(x))


@vyre.kernel(workgroup=vyre.among(8, 4))
def named(x: In[f32], out: Out[f32]):
    tile = vyre.shared(f32, vyre.workgroup_size())
    lane, i = vyre.local_id(), vyre.gid()
    tile[lane] = x[i]
    vyre.barrier()
    if i == 1:
        print(tile[lane])
    assert tile[lane] == x[i]
    out[i] = tile[lane]


def test_of_workgroups_that_are_named_the_first_runs_and_none_is_tried(device, capsys):
    x = device.array(np.arange(9, dtype=np.float32))

    for _ in range(4):
        assert np.asarray(named(x)).tolist() == list(range(9))
        assert capsys.readouterr().out == "1.0\n"
    checked = named.check(x)
    assert capsys.readouterr().out == ""
    assert [what for what, _ in checked.left_out] == ["4"]
    with vyre.debug() as report:
        named(x)
    assert capsys.readouterr().out == "1.0\nvyre.debug: nothing found in 1 call of named\n"
    assert not report


@vyre.kernel
def hostile(log: InOut[u32], failed: In[u32], said: u32):
    at, unread, so_far = vyre.gid(), said, failed[vyre.gid()]
    log[at] += so_far
    print(log[at], unread, so_far)
    assert so_far < 9, 'it\'s {so_far} "quoted"'


def test_names_that_the_log_would_like_are_the_authors(device, capsys):
    log = device.array(np.array([1, 2], np.uint32))

    hostile(log, device.array(np.array([3, 4], np.uint32)), said=7)

    assert capsys.readouterr().out == "4 7 3\n6 7 4\n"
    with pytest.raises(AssertionFailed, match=r"it.s \{so_far\} .quoted."):
        hostile(log, device.array(np.array([3, 9], np.uint32)), said=7)


def test_what_has_no_room_is_counted(monkeypatch, capsys):
    monkeypatch.setattr(spoken, "LOG_WORDS", 2 + 4 * 10 + 3)
    x = np.zeros(64, np.float32)

    @vyre.kernel
    def much(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        print(i)
        out[i] = x[i]

    much(vyre.open("cpu").array(x))

    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert all(0 <= int(line) < 64 for line in lines)
    assert last == "(54 more lines of this call had no room and are lost)"


def test_a_program_built_by_hand_speaks_too(device, capsys):
    out = ir.BufferDecl.write("out", 0, ir.DataType.U32)
    body = [
        ir.print_("me ", (ir.gid(), ir.DataType.U32), "\n"),
        ir.if_(ir.binary(ir.BinaryOp.GE, ir.gid(), ir.u32(3)), [ir.trap("far")]),
        ir.store("out", ir.gid(), 1),
    ]
    program = ir.Program.wrapped([out.with_count(5)], (64, 1, 1), body)

    with pytest.raises(AssertionFailed) as caught:
        device.dispatch(program, [])
    assert str(caught.value) == (
        "an assertion failed at (x, y, z) = (3, 0, 0): far\n"
        "Fix: look at what the kernel was given there, or correct the assertion; what was stored "
        "before is as it is"
    )
    assert capsys.readouterr().out == "".join(f"me {n}\n" for n in range(5))


@pytest.mark.parametrize(
    ("kernel", "what", "line"), [(loud, "prints", "print("), (checked, "asserts", "assert v")]
)
def test_where_nobody_would_hear_it_a_kernel_is_refused_at_its_line(kernel, what, line):
    devices = [device for device in vyre.devices() if device.info.backend == "opencl"]
    if not devices:
        pytest.skip("no OpenCL device")
    named = {"most": 1.0} if kernel is checked else {}

    with pytest.raises(UnsupportedFeature) as caught:
        kernel(devices[0].array(np.zeros(3, np.float32)), **named)
    assert f": {kernel.name} {what} here, and {devices[0].name} cannot say so\n    {line}" in str(
        caught.value
    )
    assert caught.value.fix == (
        'call it under vyre.debug(), on arrays of vyre.open("cpu"), or with VYRE_DEVICE=cpu'
    )


def test_a_kernel_that_says_nothing_is_compiled_as_ever():
    @vyre.kernel
    def quiet(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid()]

    backend = vyre.open("cpu").backend
    built = backend.build([Job(quiet.program, vyre.Code(), quiet.facts)])

    assert built[0].spoken is None


# -- where errors end


def frames(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_an_error_of_a_call_shows_the_call_and_one_frame_of_ours(device):
    with pytest.raises(vyre.InvalidInput) as caught:
        checked(device.array(np.zeros(3, np.float32)))

    mine, ours = frames(caught.value)
    assert mine == __file__
    assert ours.endswith("kernel.py")


@pytest.mark.parametrize("brackets", [False, True])
def test_an_error_of_a_kernel_shows_the_decorator_alone(brackets):
    def wrong(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x

    with pytest.raises(vyre.LanguageError) as caught:
        vyre.kernel()(wrong) if brackets else vyre.kernel(wrong)

    assert [name == __file__ for name in frames(caught.value)] == [True, False]


def test_a_callback_of_the_users_stays_in_sight():
    def progress(_: object) -> None:
        raise vyre.InvalidInput("mine", "none")

    @vyre.kernel
    def quiet(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid()]

    with pytest.raises(vyre.InvalidInput, match="mine") as caught:
        quiet.tune(vyre.open("cpu").array(np.zeros(99, np.float32)), progress=progress)

    assert frames(caught.value).count(__file__) == 2


def test_a_notebook_shows_the_users_line_last(monkeypatch):
    with pytest.raises(vyre.InvalidInput) as caught:
        checked(np.zeros(3, np.float32))

    plain = caught.value._render_traceback_()
    assert plain[-2].splitlines()[1].strip() == "checked(np.zeros(3, np.float32))"
    assert plain[-1] == f"vyre.errors.InvalidInput: {caught.value}\n"

    class Formatter:
        def structured_traceback(self, kind, _, shown):
            return [frame.line for frame in traceback.extract_tb(shown)] + [kind.__name__]

    class Shell:
        InteractiveTB = Formatter()

    class IPython:
        get_ipython = staticmethod(Shell)

    monkeypatch.setitem(vyre.errors.sys.modules, "IPython", IPython)
    assert caught.value._render_traceback_() == [
        "checked(np.zeros(3, np.float32))",
        "InvalidInput",
    ]
